// SPDX-License-Identifier: Apache-2.0
// The worker: it compiles the module once, hands it back for the worker that may follow it, and
// answers one question after the other.
import { start } from './wasm.js';

type Answer = Awaited<ReturnType<typeof start>>;

interface Start { packed?: ArrayBuffer; module?: WebAssembly.Module }
interface Question { id: number; verb: string; request: string; input: string }

let answer: Answer | null = null;

async function begin(message: Start): Promise<void> {
  let module = message.module;
  if (!module) {
    const bytes = message.packed as ArrayBuffer;
    const isPacked = new Uint8Array(bytes)[0] === 0x1f;
    const stream = (): ReadableStream => new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
    module = await WebAssembly.compile(isPacked ? await new Response(stream()).arrayBuffer() : bytes);
  }
  answer = await start(module);
  postMessage({ module });
}

self.onmessage = (event: MessageEvent<Start | Question>): void => {
  const message = event.data;
  if (!('id' in message)) {
    begin(message).catch((error: unknown) => postMessage({ failed: String(error) }));
    return;
  }
  const from = performance.now();
  try {
    const text = (answer as Answer)(message.verb, message.request, message.input);
    postMessage({ id: message.id, text, ms: performance.now() - from });
  } catch (error) {
    postMessage({ id: message.id, died: String(error) });
  }
};
