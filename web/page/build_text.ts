// SPDX-License-Identifier: Apache-2.0
// The texts that choices stand for. They are only texts: what they mean, and whether they are right, the
// module says.

export interface Choices {
  shape: number[]; dtype: string; mesh: number[];
  /** Sizes of a tile of the last two dims; empty for none. */
  tile: number[];
  /** For each dim the mesh axis that divides it, or what else is there: "0", "-", "sum". */
  axes: string[];
  /** What the extents of a place are rounded up to, for each dim. */
  align: number[];
  shard: number[];
  /** Where TTNN puts the shards: interleaved, height_sharded, width_sharded or block_sharded. */
  mode: string;
  space: string;
  /** Dims that tt-mlir collapses into one: [from, to) pairs. */
  intervals: [number, number][];
}

const ceil = (a: number, b: number): number => Math.ceil(a / Math.max(1, b));
const up = (a: number, b: number): number => ceil(a, b) * Math.max(1, b);
const product = (list: number[]): number => list.reduce((n, m) => n * m, 1);
const from = (list: number[], at: number, none: number): number => list[at] ?? none;
/** How many slots or elements lie between neighbours of each dim, row-major. */
const strides = (extents: number[]): number[] => extents.map((_, dim) => product(extents.slice(dim + 1)));
const dims = (rank: number): string => `(${Array.from({ length: rank }, (_, d) => `d${d}`).join(', ')})`;

/** A choice for each dim, given for the last ones. */
const ofLast = (list: number[], rank: number, none: number): number[] =>
  Array.from({ length: rank }, (_, dim) => from(list, dim - rank + list.length, none));

function cutDims({ shape, mesh, axes, tile, align }: Choices): string {
  const rank = shape.length;
  const axisOf = shape.map((_, dim) => (/^\d+$/.test(axes[dim] ?? '') && Number(axes[dim]) < mesh.length ? Number(axes[dim]) : null));
  const edges = ofLast(tile, rank, 1);
  const rooms = ofLast(align, rank, 1);
  // Of each dim: what one place has of it, and how many tiles that takes.
  const pieces = shape.map((extent, dim) => {
    const axis = axisOf[dim];
    return axis === null || axis === undefined ? extent : ceil(extent, mesh[axis] as number);
  });
  const counts = pieces.map((piece, dim) => ceil(up(piece, rooms[dim] as number), edges[dim] as number));
  const inside = strides(edges);
  const between = strides(counts).map((stride) => stride * product(edges));
  const folds = shape.map((_, dim) => {
    const [piece, edge, axis] = [pieces[dim] as number, edges[dim] as number, axisOf[dim]];
    const cuts = axis === null || axis === undefined ? [] : [`${piece} -> m${axis}`];
    if (edge > 1) cuts.push(`${edge}#${counts[dim]} -> mem*${between[dim]}`, `1#${edge} -> mem*${inside[dim]}!tile`);
    else cuts.push(`1#${counts[dim]} -> mem*${between[dim]}`);
    return `{d${dim}} / (${cuts.join(', ')})`;
  });
  const free = mesh.map((_, axis) => axis).filter((axis) => !axisOf.includes(axis));
  return `native<mesh=[${mesh.join(', ')}], ${[...folds, ...free.map((axis) => `replicate(m${axis})`)].join(', ')}>`;
}

function ttnn({ shape, dtype, mesh, tile, mode, space }: Choices): string {
  const rank = shape.length;
  const [high = 1, wide = 1] = ofLast(tile, 2, 1);
  const padded = shape.map((extent, dim) => (dim === rank - 1 ? up(extent, wide) : dim === rank - 2 ? up(extent, high) : extent));
  const cols = padded.at(-1) ?? 1;
  const rows = product(padded.slice(0, -1));
  const lines = strides(padded.slice(0, -1));
  const line = lines.map((stride, dim) => (stride === 1 ? `d${dim}` : `d${dim} * ${stride}`)).join(' + ') || '0';
  const isOne = space === 'system' || (mode === 'interleaved' && space !== 'l1');
  const grid = isOne ? [1, 1] : [from(mesh, 0, 1), from(mesh, 1, 1)];
  const cores = product(grid);
  const shard = isOne ? [rows, cols] : mode === 'block_sharded' ? [ceil(rows, grid[0] as number), ceil(cols, grid[1] as number)] :
    mode === 'height_sharded' ? [ceil(rows, cores), cols] : [rows, ceil(cols, cores)];
  const isSpread = mode === 'interleaved' && !isOne;
  const memref = isSpread ? [1, ceil(ceil(rows, high) * ceil(cols, wide), cores)] :
    [ceil(shard[0] as number, high), ceil(shard[1] as number, wide)];
  const atom = tile.length > 0 ? `!ttcore.tile<${high}x${wide}, ${dtype}>` : dtype;
  const buffer = space === 'system' ? '#ttnn.buffer_type<system_memory>' : `#ttnn.buffer_type<${space}>`;
  const ranges = isOne || mode === 'interleaved' ? '' :
    `, core_ranges = <[#ttnn.core_range<(0, 0), (${(grid[1] as number) - 1}, ${(grid[0] as number) - 1})>]>`;
  return `#ttnn.ttnn_layout<${dims(rank)} -> (${line}, d${rank - 1}), <${grid.join('x')}>, memref<${memref.join('x')}x${atom}, ${buffer}>${
    space === 'system' ? '' : `, <${mode}>`}${ranges}>`;
}

/** tt-mlir's form of today, whose tensor has the shape of the grid and of a shard. */
function metal({ shape, dtype, mesh, tile, intervals, space }: Choices): string {
  const rank = shape.length;
  // Lines: the dims of an interval, and each other dim by itself.
  const lines: number[][] = [];
  for (let dim = 0; dim < rank;) {
    const interval = intervals.find(([begin, end]) => begin === dim && end > begin && end <= rank);
    const end = interval ? interval[1] : dim + 1;
    lines.push(Array.from({ length: end - dim }, (_, i) => dim + i));
    dim = end;
  }
  const grid = ofLast(mesh, lines.length, 1);
  // Tiles cut the last two lines, so one line has none.
  const hasTiles = tile.length > 0 && lines.length > 1;
  const edges = ofLast(hasTiles ? tile : [], lines.length, 1);
  // The outermost dim of a line is aligned so that the grid and the tiles divide the line.
  const alignments = shape.map(() => 1);
  const shard = lines.map((line, at) => {
    const unit = (grid[at] as number) * (edges[at] as number);
    alignments[line[0] as number] = unit;
    return up(product(line.map((dim) => shape[dim] as number)), unit) / (grid[at] as number) / (edges[at] as number);
  });
  const atom = hasTiles ? `!ttcore.tile<${ofLast(tile, 2, 1).join('x')}, ${dtype}>` : dtype;
  const collapsed = intervals.length > 0 ? intervals : [[0, 1]];
  return `tensor<${[...grid, ...shard].join('x')}x${atom}, #ttcore.metal_layout<logical_shape = ${shape.join('x')}, dim_alignments = ${
    alignments.join('x')}, collapsed_intervals = dense<[${collapsed.map(([a, b]) => `[${a}, ${b}]`).join(', ')}]> : tensor<${
    collapsed.length}x2xi64>, ${space === 'dram' ? 'dram' : 'l1'}, sharded>>`;
}

/** The text of a tensor of a kind of layout. */
export function textOf(kind: string, choices: Choices): string {
  const { shape, dtype, mesh, tile, axes } = choices;
  const whole = (layout: string): string => `tensor<${[...shape, dtype].join('x')}, ${layout}>`;
  const rank = shape.length;
  switch (kind) {
    case 'tiles': {
      const edges = ofLast(tile, rank, 1);
      const packed = edges.flatMap((edge, dim) => (edge > 1 ? [`(${dim}, Packed(${edge}))`] : []));
      return whole(`morello[${[...shape.map((_, dim) => `(${dim}, Dynamic)`), ...packed].join(', ')}]`);
    }
    case 'grid': return whole(`pyflame.Grid(${mesh.join(', ')})`);
    case 'devices': return whole(`dtensor<mesh=[${mesh.join(', ')}], [${mesh.map((_, axis) => (/^\d+$/.test(axes[axis] ?? '') ?
      `Shard(${axes[axis]})` : axes[axis] === 'sum' ? 'Partial(sum)' : 'Replicate()')).join(', ')}]>`);
    case 'cuts': return whole(cutDims(choices));
    case 'ttnn': return whole(ttnn(choices));
    case 'shards': return whole(`ttnn<stride=[${[product(shape), ...strides(shape)].join(', ')}], shard_shape=[${choices.shard.join(', ')}]${
      tile.length > 0 ? `, tile_shape=[${tile.join(', ')}]` : ''}>`);
    case 'metal': return metal(choices);
    default: return whole(`strided<[${strides(shape).join(', ')}]>`);
  }
}
