// SPDX-License-Identifier: Apache-2.0
// A tensor by choices instead of text. The choices become a text, which the module reads like any other.
import { h } from './dom';

const KINDS: Record<string, { words: string; fields: string[] }> = {
  rows: { words: 'one place, row-major', fields: [] },
  tiles: { words: 'one place, in tiles', fields: ['tile'] },
  grid: { words: 'blocks on a grid of places', fields: ['mesh'] },
  devices: { words: 'dims over numbered devices', fields: ['mesh', 'axes'] },
  shards: { words: 'shards, padded to tiles (TTNN)', fields: ['shard', 'tile'] },
};

const pair = (text: string): number[] => text.split(/[x,\s]+/).filter(Boolean).map((n) => Math.max(1, Number(n) | 0));

function textOf(kind: string, values: Record<string, string>): string {
  const shape = pair(values.shape as string);
  const head = `tensor<${shape.join('x')}x${values.dtype}, `;
  const strides = shape.map((_, dim) => shape.slice(dim + 1).reduce((n, m) => n * m, 1));
  const mesh = pair(values.mesh as string);
  const [rows = 1, cols = 1] = pair(values.tile as string);
  const last = shape.length - 1;
  switch (kind) {
    case 'tiles': {
      const whole = shape.map((_, dim) => `(${dim}, Dynamic)`);
      const packed = last > 0 ? [`(${last - 1}, Packed(${rows}))`, `(${last}, Packed(${cols}))`] : [`(0, Packed(${cols}))`];
      return `${head}morello[${[...whole, ...packed].join(', ')}]>`;
    }
    case 'grid':
      return `${head}pyflame.Grid(${mesh.join(', ')})>`;
    case 'devices': {
      const axes = (values.axes as string).split(/[,\s]+/).filter(Boolean);
      const words = mesh.map((_, axis) => (/^\d+$/.test(axes[axis] ?? '') ? `Shard(${axes[axis]})` :
        axes[axis] === 'sum' ? 'Partial(sum)' : 'Replicate()'));
      return `${head}dtensor<mesh=[${mesh.join(', ')}], [${words.join(', ')}]>>`;
    }
    case 'shards': {
      const volume = shape.reduce((n, m) => n * m, 1);
      return `${head}ttnn<stride=[${[volume, ...strides].join(', ')}], shard_shape=[${pair(values.shard as string).join(', ')}], tile_shape=[${rows}, ${cols}]>>`;
    }
    default:
      return `${head}strided<[${strides.join(', ')}]>>`;
  }
}

export function builder(open: (text: string) => void): HTMLElement {
  const field = (name: string, value: string): HTMLInputElement => h('input', { name, value, id: `build-${name}` });
  const inputs: Record<string, HTMLInputElement | HTMLSelectElement> = {
    shape: field('shape', '53x63'), mesh: field('mesh', '3x2'), tile: field('tile', '32x32'),
    shard: field('shard', '18x32'), axes: field('axes', '0, 1'),
    dtype: h('select', { id: 'build-dtype' }, ...['f32', 'f16', 'bf16', 'i8', 'i32'].map((t) => h('option', {}, t))),
  };
  const kind = h('select', { id: 'build-kind' },
    ...Object.entries(KINDS).map(([value, { words }]) => h('option', { value }, words)));
  const rows = Object.fromEntries(Object.entries({
    shape: 'shape', dtype: 'element type', mesh: 'mesh', axes: 'dim on each axis', shard: 'shard', tile: 'tile',
  }).map(([name, words]) => [name, [h('label', { for: `build-${name}` }, words), inputs[name] as HTMLElement]]));
  const change = (): void => {
    const used = ['shape', 'dtype', ...(KINDS[kind.value]?.fields ?? [])];
    for (const [name, cells] of Object.entries(rows)) {
      for (const cell of cells as HTMLElement[]) cell.hidden = !used.includes(name);
    }
    const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
    open(textOf(kind.value, values));
  };
  const form = h('div', { class: 'form' }, h('label', { for: 'build-kind' }, 'layout'), kind, ...Object.values(rows).flat());
  form.addEventListener('change', change);
  const details = h('details', { class: 'build' }, h('summary', {}, 'Build one'), form);
  details.addEventListener('toggle', () => { if (details.open) change(); });
  return details;
}
