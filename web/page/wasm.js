// SPDX-License-Identifier: Apache-2.0
// The module tessera.wasm: a verb, a request and a text for standard input in, a line of JSON out. Plain
// JavaScript, so that node runs it as it is (tests/answers.mjs).

/**
 * @typedef {object} Exports
 * @property {WebAssembly.Memory} memory
 * @property {() => void} _initialize
 * @property {(bytes: number) => number} tessera_reserve
 * @property {(block: number) => void} tessera_release
 * @property {(verb: number, verbBytes: number, request: number, requestBytes: number, input: number,
 *   inputBytes: number) => number} tessera_answer
 * @property {() => number} tessera_answer_text
 */

/** @typedef {(verb: string, request: string, input: string) => string} Answer */

/**
 * What the C library asks of its host: a clock, and otherwise nothing.
 * @param {() => WebAssembly.Memory} memory
 * @returns {Record<string, (...args: any[]) => number>}
 */
function host(memory) {
  return {
    clock_time_get: (_clock, _precision, at) => {
      new DataView(memory().buffer).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      const view = new DataView(memory().buffer);
      view.setUint32(count, 0, true);
      view.setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    proc_exit: () => {
      throw new Error('the module ended itself');
    },
  };
}

/** The error number of a call on a descriptor that is not open: there are no files. */
const badDescriptor = () => 8;

/**
 * Starts an instance. `answer` returns what `tessera VERB --batch` prints, without the line's end.
 * @param {WebAssembly.Module} module
 * @returns {Promise<Answer>}
 */
export async function start(module) {
  /** @type {Exports | null} */
  let exports = null;
  const calls = host(() => /** @type {Exports} */ (exports).memory);
  /** @type {WebAssembly.Imports} */
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = calls[name] ?? badDescriptor;
  }
  const instance = await WebAssembly.instantiate(module, imports);
  const core = /** @type {Exports} */ (/** @type {unknown} */ (instance.exports));
  exports = core;
  core._initialize();
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  /** @param {string} text @returns {[number, number]} */
  const put = (text) => {
    const bytes = encoder.encode(text);
    const at = core.tessera_reserve(bytes.length);
    if (at === 0) throw new Error('out of memory');
    new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
    return [at, bytes.length];
  };
  return (verb, request, input) => {
    const v = put(verb);
    const r = put(request);
    const i = put(input);
    const length = core.tessera_answer(...v, ...r, ...i);
    for (const [at] of [v, r, i]) core.tessera_release(at);
    const from = core.tessera_answer_text();
    return decoder.decode(new Uint8Array(core.memory.buffer, from, length)).trimEnd();
  };
}
