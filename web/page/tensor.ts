// SPDX-License-Identifier: Apache-2.0
// One tensor: what the module answers about it, and how its places are numbered.
import { list } from './dom';

export interface Shown {
  shape: number[]; dtype: string; storage_dtype: string; notation: string; mesh: number[]; places: number; slots: number;
  folded_shape: number[]; shard_shape: number[]; tile: number[] | null; atoms_shape: number[];
  shard_bytes: number; logical_bytes: number; allocated_bytes: number; padding_elements: number | null;
  padding: Record<string, number> | null; memory_space: string | null; native: string;
  fill: { axis: number; kind: string; count: number; reduction?: string }[];
  warnings: { code: string; message: string }[];
}
/** A text, and the answer that describes it. */
export interface Tensor { text: string; shown: Shown }
export interface Located { index: number[]; places: (number[] | { from: number[]; to: number[] })[]; slot: number; byte: number | null }
/** What a slot holds: the cause of its padding, an element, or elements that share it. */
export type Content = string | number[] | number[][];
export interface Classes { slots: number; classes: { places: number; elements: number; needed_slots: number; sets: { first: number[]; loops: { axis: number; count: number; stride: number }[] }[] }[] }

/** The elements that a slot holds; none for padding. */
export function elementsIn(content: Content): number[][] {
  if (typeof content === 'string') return [];
  return Array.isArray(content[0]) ? content as number[][] : [content as number[]];
}

/** The row-major number of a place. */
export const numberOf = (mesh: number[], place: number[]): number =>
  place.reduce((n, p, axis) => n * (mesh[axis] ?? 1) + p, 0);
export function placeOf(mesh: number[], at: number): number[] {
  const place: number[] = [];
  for (let axis = mesh.length - 1; axis >= 0; --axis) {
    place.unshift(at % (mesh[axis] as number));
    at = Math.floor(at / (mesh[axis] as number));
  }
  return place;
}
/** Rows and columns that show a mesh of any rank: the last axis across, but long lines wrap. */
export function meshGrid(mesh: number[]): [number, number] {
  const count = mesh.reduce((n, m) => n * m, 1);
  let cols = mesh.at(-1) ?? 1;
  if (mesh.length === 1 && cols > 16) cols = Math.ceil(Math.sqrt(cols));
  return [Math.ceil(count / Math.max(1, cols)), Math.max(1, cols)];
}

/** "element [40, 33] is on place [2, 1], slot 129, byte 516". */
export function wordsOf(found: Located): string {
  const places = found.places.slice(0, 4).map((p) => (Array.isArray(p) ? list(p) : `${list(p.from)}..${list(p.to)}`));
  const more = found.places.length > 4 ? ` and ${found.places.length - 4} more` : '';
  return `element ${list(found.index)} is on place ${places.join(' ')}${more}, slot ${found.slot}, ${
    found.byte === null ? 'inside a block of floats' : `byte ${found.byte}`}`;
}
