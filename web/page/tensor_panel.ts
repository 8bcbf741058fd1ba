// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor: two of its dims as a picture, the others fixed at an index.
import { placeColours, slotColours, type Theme } from './colours';
import type { Core, Json } from './core';
import { fill, h } from './dom';
import { Grid } from './grid';
import type { Box, Part, Picture } from './picture';
import { elementsIn, type Content, type Tensor } from './tensor';

interface Actions {
  hover(index: number[] | null): void;
  pick(index: number[]): void;
  sliced(): void;
}

export class TensorPanel {
  readonly canvas = h('canvas', { id: 'tensor-canvas' });
  readonly note = h('span', { class: 'note' });
  readonly slices = h('span', { class: 'row' });
  readonly grid: Grid;
  private tensor: Tensor | null = null;
  private fixed: number[] = [];
  /** The part that is drawn. */
  private part: Part | null = null;
  private theme: Theme = 'light';

  constructor(private readonly core: Core, private readonly actions: Actions) {
    this.grid = new Grid(this.canvas, {
      label: 'Elements of the tensor', paint: (part) => this.paint(part),
      hover: (cell) => actions.hover(cell && this.indexAt(...cell)),
      pick: (cell) => actions.pick(this.indexAt(...cell)),
    });
  }

  open(tensor: Tensor): void {
    const { shape } = tensor.shown;
    this.tensor = tensor;
    this.fixed = shape.map(() => 0);
    this.part = null;
    this.showSlices(shape);
    this.grid.mark(null, []);
    this.grid.reset(...this.plane());
    this.note.textContent = shape.length === 0 ? 'a scalar' : shape.join(' × ');
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    this.grid.forget();
  }

  /** Shows the slice of an element. */
  slice(index: number[]): void {
    this.fixed = this.fixed.map((v, dim) => (dim < index.length - 2 ? (index[dim] as number) : v));
  }

  reveal(index: number[]): void { this.grid.reveal(index.at(-2) ?? 0, index.at(-1) ?? 0); }

  /** Marks elements, those of other slices excepted. */
  mark(indices: number[][]): void {
    const boxes: Box[] = indices.slice(0, 64).filter((index) => this.isShown(index))
      .map((index) => ({ row: index.at(-2) ?? 0, col: index.at(-1) ?? 0, rows: 1, cols: 1, strong: true }));
    this.grid.mark(null, boxes);
  }

  /** Marks the elements that slots hold, and veils the others. */
  markContents(contents: Content[]): void {
    const { part } = this;
    const set = new Set<number>();
    const cols = this.plane()[1];
    for (const index of contents.flatMap(elementsIn)) {
      if (!this.isShown(index)) continue;
      let row = index.at(-2) ?? 0;
      let col = index.at(-1) ?? 0;
      if (part) {
        row -= row % part.stepRow;
        col -= col % part.stepCol;
      }
      set.add(row * cols + col);
    }
    this.grid.mark((row, col) => set.has(row * cols + col), []);
  }

  private isShown(index: number[]): boolean {
    return index.slice(0, -2).every((v, dim) => v === this.fixed[dim]);
  }

  private plane(): [number, number] {
    const shape = this.tensor?.shown.shape ?? [];
    return [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  }

  private indexAt(row: number, col: number): number[] {
    const index = [...this.fixed];
    const rank = index.length;
    if (rank >= 2) index[rank - 2] = row;
    if (rank >= 1) index[rank - 1] = col;
    return index;
  }

  private showSlices(shape: number[]): void {
    fill(this.slices, ...shape.slice(0, -2).map((extent, dim) => {
      const input = h('input', { type: 'number', min: 0, max: extent - 1, value: 0, 'aria-label': `Index of dim ${dim}` });
      input.addEventListener('change', () => {
        this.fixed[dim] = Math.max(0, Math.min(extent - 1, Number(input.value) | 0));
        this.part = null;
        this.grid.forget();
        this.actions.sliced();
      });
      return h('label', {}, `d${dim} `, input);
    }));
  }

  private async paint(part: Part): Promise<Picture | null> {
    const { tensor } = this;
    if (!tensor || tensor.shown.shape.some((extent) => extent === 0)) return null;
    const { shown } = tensor;
    const rank = shown.shape.length;
    const from = this.indexAt(part.row, part.col);
    const counts = from.map((_, dim) => (dim === rank - 1 ? part.cols : dim === rank - 2 ? part.rows : 1));
    const steps = from.map((_, dim) => (dim === rank - 1 ? part.stepCol : dim === rank - 2 ? part.stepRow : 1));
    const reply = await this.core.ask<{ places: number[]; slots: number[] } & Json>(
      'locate', { tensor: tensor.text, from, counts, steps }, 'elements');
    if (reply.fault || tensor !== this.tensor) return null;
    const { places, slots } = reply.value;
    this.part = part;
    const one = shown.places === 1;
    const colour = one ? slotColours(shown.slots, this.theme) : placeColours(shown.mesh, this.theme);
    const key = one ? slots : places;
    const colours = new Uint32Array(places.length);
    const cache = new Map<number, number>();
    for (let k = 0; k < colours.length; ++k) {
      const of = key[k] as number;
      let c = cache.get(of);
      if (c === undefined) cache.set(of, c = colour(of));
      colours[k] = c;
    }
    return { colours, groups: one ? undefined : places, text: (k) => String(slots[k]) };
  }
}
