// SPDX-License-Identifier: Apache-2.0
// web_requests 2000 500 | node answers.mjs tessera.wasm
// Asks the module what the command was asked, and compares the answers byte for byte.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { start } from '../page/wasm.js';

const wasm = process.argv[2];
const answer = await start(await WebAssembly.compile(readFileSync(wasm)));
let asked = 0;
let different = 0;
let slowest = 0;
const times = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [verb, request, expected, input] = line.split('\t');
  const from = performance.now();
  const found = answer(verb, request, input ?? '');
  const took = performance.now() - from;
  times.push(took);
  slowest = Math.max(slowest, took);
  asked++;
  if (found === expected) continue;
  if (different++ < 5) console.error(`${verb} ${request}\n  command: ${expected.slice(0, 400)}\n  module:  ${found.slice(0, 400)}`);
}
times.sort((a, b) => a - b);
const median = times[times.length >> 1] ?? 0;
console.log(`${asked} answers, ${different} differ; median ${median.toFixed(3)} ms, 99 % within ${
  (times[Math.floor(times.length * 0.99)] ?? 0).toFixed(2)} ms, slowest ${slowest.toFixed(1)} ms`);
process.exit(asked > 0 && different === 0 ? 0 : 1);
