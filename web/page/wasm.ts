// SPDX-License-Identifier: Apache-2.0
// The module tessera.wasm: a verb, a request and a text for standard input in, a line of JSON out.

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  tessera_reserve(bytes: number): number;
  tessera_release(block: number): void;
  tessera_answer(v: number, vn: number, r: number, rn: number, i: number, iN: number): number;
  tessera_answer_text(): number;
}

/** What the C library asks of its host: a clock, and otherwise nothing. */
function host(memory: () => WebAssembly.Memory): WebAssembly.ModuleImports {
  const badDescriptor = (): number => 8;
  const nothing = (): number => 0;
  const calls: Record<string, (...args: never[]) => number> = {
    clock_time_get: ((_id: number, _precision: bigint, at: number): number => {
      new DataView(memory().buffer).setBigUint64(
        at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    }) as (...args: never[]) => number,
    environ_sizes_get: ((count: number, bytes: number): number => {
      const view = new DataView(memory().buffer);
      view.setUint32(count, 0, true);
      view.setUint32(bytes, 0, true);
      return 0;
    }) as (...args: never[]) => number,
    environ_get: nothing,
    proc_exit: ((): number => {
      throw new Error('the module ended itself');
    }) as (...args: never[]) => number,
  };
  return new Proxy(calls, {
    get: (known, name: string) => known[name] ?? badDescriptor,
    has: () => true,
  }) as unknown as WebAssembly.ModuleImports;
}

export type Answer = (verb: string, request: string, input: string) => string;

/** Starts an instance. `answer` returns what `tessera VERB --batch` prints, without the line's end. */
export async function start(module: WebAssembly.Module): Promise<Answer> {
  let exports: Exports | null = null;
  const wasi = host(() => (exports as Exports).memory);
  const imports: WebAssembly.Imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = wasi[name] as WebAssembly.ImportValue;
  }
  const instance = await WebAssembly.instantiate(module, imports);
  exports = instance.exports as unknown as Exports;
  const core = exports;
  core._initialize();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const put = (text: string): [number, number] => {
    const bytes = encoder.encode(text);
    const at = core.tessera_reserve(bytes.length);
    if (at === 0) throw new Error('out of memory');
    new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  };
  return (verb, request, input) => {
    const texts = [put(verb), put(request), put(input)] as const;
    const [v, r, i] = texts;
    const length = core.tessera_answer(v[0], v[1], r[0], r[1], i[0], i[1]);
    for (const [at] of texts) core.tessera_release(at);
    const from = core.tessera_answer_text();
    return decoder.decode(new Uint8Array(core.memory.buffer, from, length)).trimEnd();
  };
}
