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
    const stream = new Blob([message.packed as ArrayBuffer]).stream()
      .pipeThrough(new DecompressionStream('gzip'));
    module = await WebAssembly.compile(await new Response(stream).arrayBuffer());
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
