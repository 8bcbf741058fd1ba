// SPDX-License-Identifier: Apache-2.0
// A second opinion about runs: ONNX models that Tessera writes, by ONNX Runtime and by `tessera run`.
//   node scripts/onnxruntime_opinion.mjs MODULE TESSERA [TARGET [--full]]
// MODULE is the folder of onnxruntime-node (npm install --ignore-scripts onnxruntime-node), or empty
// for the one that ONNXRUNTIME_NODE names; TESSERA is the command. Exit status 0 if all outputs
// agree, 1 if not, 77 where ONNX Runtime is missing.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const kAllowed = 1e-3; // relative to 1 + |number|, as run --check allows for f32
const kMissing = 77;

const [named = '', tessera = 'tessera', target = 'spyre', size = ''] = process.argv.slice(2);
const moduleFolder = named || process.env.ONNXRUNTIME_NODE || '';
if (!existsSync(join(moduleFolder, 'package.json'))) {
  console.log(`skipped: no onnxruntime-node in '${moduleFolder}'`);
  process.exit(kMissing);
}
const require = createRequire(import.meta.url);
let runtime;
try {
  runtime = require(resolve(moduleFolder));
} catch (error) {
  console.log(`skipped: onnxruntime-node cannot be loaded: ${error.message}`);
  process.exit(kMissing);
}

const narrow = ['--hidden', '64', '--heads', '4', '--vocabulary', '128'];
const models = [
  ['mlp'],
  ['bert-base', '--layers', '2', '--sequence', '16', ...narrow],
  ['llama', '--layers', '4', '--kv-heads', '2', '--sequence', '6', '--past', '0', ...narrow],
  ['llama', '--layers', '4', '--kv-heads', '2', '--past', '6', ...narrow],
];
if (size === '--full') models.push(['resnet50', '--image', '64'], ['bert-base', '--layers', '2']);

const dtypes = {
  f32: { name: 'float32', descr: '<f4', array: Float32Array },
  i64: { name: 'int64', descr: '<i8', array: BigInt64Array },
};

/// Numbers in [-1, 1), words of a small vocabulary, and masks: the same in every run.
function elements(value) {
  const count = value.shape.reduce((a, b) => a * b, 1);
  let state = 12345 + value.name.length;
  const next = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  if (value.dtype === 'f32') return Float32Array.from({ length: count }, () => 2 * next() - 1);
  const below = value.name === 'ids' ? 128 : 2;
  return BigInt64Array.from({ length: count }, () => BigInt(Math.floor(next() * below)));
}

function writeNpy(file, value, data) {
  const shape = value.shape.map((extent) => `${extent},`).join(' ');
  const text = `{'descr': '${dtypes[value.dtype].descr}', 'fortran_order': False, 'shape': (${shape}), }`;
  const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  writeFileSync(file, Buffer.concat([start, Buffer.from(header, 'latin1'), Buffer.from(data.buffer)]));
}

function readNpy(file) {
  const bytes = readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const descr = /'descr': '([^']*)'/.exec(bytes.toString('latin1', 10, 10 + length))[1];
  const type = Object.values(dtypes).find((each) => each.descr === descr);
  if (!type) throw new Error(`${file} has elements ${descr}`);
  return new type.array(new Uint8Array(bytes.subarray(10 + length)).buffer);
}

function largestDifference(ours, theirs) {
  if (ours.length !== theirs.length) return Infinity;
  let most = 0;
  for (let i = 0; i < ours.length; i++) {
    const a = Number(ours[i]);
    const b = Number(theirs[i]);
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
    const apart = Math.abs(a - b) / (1 + Math.abs(b));
    most = Math.max(most, Number.isNaN(apart) ? Infinity : apart);
  }
  return most;
}

const run = (...args) => execFileSync(tessera, args, { encoding: 'utf8', maxBuffer: 1 << 30 });

async function judge(folder, [name, ...options]) {
  const file = join(folder, 'model.onnx');
  const description = join(folder, 'model.json');
  run('graph', '--make', name, ...options, '--seed', '1', '--out', file);
  run('graph', '--make', name, ...options, '--out', description);
  const inputs = JSON.parse(readFileSync(description, 'utf8')).values.filter((v) => v.kind === 'input');
  const session = await runtime.InferenceSession.create(file);
  const feeds = {};
  const given = [];
  for (const input of inputs) {
    const data = elements(input);
    feeds[input.name] = new runtime.Tensor(dtypes[input.dtype].name, data, input.shape);
    writeNpy(join(folder, `${input.name}.npy`), input, data);
    given.push('--in', `${input.name}=${join(folder, `${input.name}.npy`)}`);
  }
  const theirs = await session.run(feeds);
  const answer = JSON.parse(run('run', file, '--target', target, ...given, '--out', folder, '--json'));
  let most = 0;
  for (const output of answer.outputs) {
    if (!(output.name in theirs)) throw new Error(`ONNX Runtime has no output ${output.name}`);
    most = Math.max(most, largestDifference(readNpy(output.file), theirs[output.name].data));
  }
  console.log(`${[name, ...options].join(' ')}: ${answer.outputs.length} outputs, largest difference ${most.toExponential(1)}`);
  return most <= kAllowed;
}

const version = JSON.parse(readFileSync(join(moduleFolder, 'package.json'), 'utf8')).version;
console.log(`onnxruntime-node ${version}, tessera run --target ${target}`);
let agree = true;
for (const model of models) {
  const folder = mkdtempSync(join(tmpdir(), 'opinion-'));
  try {
    agree = (await judge(folder, model)) && agree;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
process.exit(agree ? 0 : 1);
