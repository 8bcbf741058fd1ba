// SPDX-License-Identifier: Apache-2.0
// A tensor by choices instead of text. The choices become a text, which the module reads like any other.
import { textOf } from './build_text';
import { h } from './dom';

/** The fields of each kind of layout, besides the shape and the element type. */
const KINDS: Record<string, { words: string; fields: string[] }> = {
  rows: { words: 'one place, row-major', fields: [] },
  tiles: { words: 'one place, in tiles (Morello)', fields: ['tile'] },
  cuts: { words: 'dims cut over a mesh, tiled, padded', fields: ['mesh', 'axes', 'tile', 'align'] },
  grid: { words: 'blocks on a grid (PyFlame)', fields: ['mesh'] },
  devices: { words: 'dims over devices (DTensor)', fields: ['mesh', 'placements'] },
  ttnn: { words: 'TTNN: memory layout, grid, buffer', fields: ['mode', 'space', 'mesh', 'tile'] },
  shards: { words: 'TTNN: shards, padded to tiles', fields: ['shard', 'tile'] },
  metal: { words: 'tt-mlir: collapsed dims on a grid', fields: ['intervals', 'mesh', 'tile', 'space'] },
};
const WORDS: Record<string, string> = {
  shape: 'shape', dtype: 'element type', mesh: 'mesh or grid', axes: 'mesh axis of each dim', placements: 'dim on each axis',
  mode: 'memory layout', space: 'buffer type', shard: 'shard', tile: 'tile', align: 'round up to', intervals: 'collapse dims',
};
const HINTS: Record<string, string> = {
  axes: 'for each dim 0, 1 or - for none', placements: 'for each mesh axis a dim, - for copies, sum for shares',
  align: 'what a place has of each dim is rounded up to this', intervals: 'as 0:2, 2:3: dims 0 and 1 become one',
  tile: 'rows x columns; empty for none',
};
const MOST_RANK = 16;

/** "53x63" or "53, 63" as numbers from 1 on; nothing is an empty list. */
const numbersOf = (text: string): number[] => text.split(/[x,×\s]+/).filter(Boolean).slice(0, MOST_RANK)
  .map((n) => Math.max(1, Math.min(2 ** 40, Math.trunc(Number(n)) || 1)));
const wordsOf = (text: string): string[] => text.split(/[,\s]+/).filter(Boolean).slice(0, MOST_RANK);
const intervalsOf = (text: string): [number, number][] => [...text.matchAll(/(\d{1,2})\s*:\s*(\d{1,2})/g)].slice(0, MOST_RANK)
  .map((found) => [Number(found[1]), Number(found[2])]);

export function builder(open: (text: string) => void): HTMLElement {
  const field = (name: string, value: string): HTMLInputElement =>
    h('input', { name, value, id: `build-${name}`, title: HINTS[name], spellcheck: 'false', autocomplete: 'off' });
  const choice = (name: string, options: string[]): HTMLSelectElement =>
    h('select', { id: `build-${name}` }, ...options.map((value) => h('option', { value }, value.replace('_', ' '))));
  const inputs: Record<string, HTMLInputElement | HTMLSelectElement> = {
    shape: field('shape', '53x63'), dtype: choice('dtype', ['f32', 'f16', 'bf16', 'i8', 'i32']), mode:
    choice('mode', ['interleaved', 'height_sharded', 'width_sharded', 'block_sharded']), space: choice('space', ['dram', 'l1', 'system']),
    intervals: field('intervals', '0:1, 1:2'), mesh: field('mesh', '3x2'), axes: field('axes', '0, 1'),
    placements: field('placements', '0, 1'), shard: field('shard', '18x32'), tile: field('tile', '32x32'), align: field('align', '1, 1'),
  };
  const kind = h('select', { id: 'build-kind' },
    ...Object.entries(KINDS).map(([value, { words }]) => h('option', { value }, words)));
  const rows = Object.fromEntries(Object.entries(inputs).map(([name, input]) =>
    [name, [h('label', { for: `build-${name}`, title: HINTS[name] }, WORDS[name] ?? name), input]]));
  const value = (name: string): string => inputs[name]?.value ?? '';
  const change = (): void => {
    const used = ['shape', 'dtype', ...(KINDS[kind.value]?.fields ?? [])];
    for (const [name, cells] of Object.entries(rows)) {
      for (const cell of cells) cell.hidden = !used.includes(name);
    }
    const shape = numbersOf(value('shape'));
    open(textOf(kind.value, {
      shape: shape.length > 0 ? shape : [1], dtype: value('dtype'), mesh: numbersOf(value('mesh')), tile: numbersOf(value('tile')),
      axes: wordsOf(value(kind.value === 'devices' ? 'placements' : 'axes')), align: numbersOf(value('align')),
      shard: numbersOf(value('shard')), mode: value('mode'), space: value('space'), intervals: intervalsOf(value('intervals')),
    }));
  };
  const form = h('div', { class: 'form' }, h('label', { for: 'build-kind' }, 'layout'), kind, ...Object.values(rows).flat());
  form.addEventListener('change', change);
  const details = h('details', { class: 'build' }, h('summary', {}, 'Build one'), form);
  details.addEventListener('toggle', () => { if (details.open) change(); });
  return details;
}
