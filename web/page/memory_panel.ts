// SPDX-License-Identifier: Apache-2.0
// The memory of one place as a picture, one cell per slot: all of it, or one page where there are too many.
import { CAUSES, causeColour, placeColours, slotColours, type Theme } from './colours';
import type { Core, Fault, Json } from './core';
import { fill, h, list, number } from './dom';
import { showCauses } from './facts';
import { Grid } from './grid';
import { MOST_SAMPLES, type Part, type Picture } from './picture';
import { elementsIn, numberOf, type Content, type Shown, type Tensor } from './tensor';

interface Actions {
  hover(slot: number | null, content: Content | null): void;
  pick(slot: number): void;
  turned(): void;
  fault(fault: Fault): void;
}
/** Every `step`th slot of a place. */
interface Contents { list: Content[]; step: number }

export class MemoryPanel {
  readonly canvas = h('canvas', { id: 'memory-canvas' });
  readonly note = h('span', { class: 'note' });
  readonly range = h('span', { class: 'row' });
  readonly legend = h('ul', { class: 'legend' });
  readonly grid: Grid;
  place: number[] = [];
  private tensor: Tensor | null = null;
  private first = 0;
  private width = 32;
  private contents: Contents = { list: [], step: 1 };
  private theme: Theme = 'light';

  constructor(private readonly core: Core, private readonly actions: Actions) {
    this.grid = new Grid(this.canvas, {
      label: 'Memory of the place', paint: (part) => this.paint(part),
      hover: (cell) => {
        const k = cell && this.numberAt(cell);
        if (k === null) actions.hover(null, null);
        else actions.hover(this.slotOf(k), this.contents.list[k] as Content);
      },
      pick: (cell) => {
        const k = this.numberAt(cell);
        if (k !== null) actions.pick(this.slotOf(k));
      },
    });
  }

  /** Another tensor, of which nothing is loaded yet. */
  open(tensor: Tensor): void {
    this.tensor = tensor;
    this.first = 0;
    this.contents = { list: [], step: 1 };
    this.width = rowWidth(tensor.shown);
    this.showLegend();
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    this.grid.forget();
    this.showLegend();
  }

  /** Shows a place from its first slot. */
  async openPlace(place: number[]): Promise<void> {
    this.place = place;
    this.first = 0;
    await this.load();
  }

  /** Shows the page that has a slot. */
  async showSlot(slot: number): Promise<void> {
    if (this.slots > MOST_SAMPLES) this.first = Math.floor(slot / MOST_SAMPLES) * MOST_SAMPLES;
    await this.load();
    this.grid.reveal(...this.cellOf(slot));
  }

  async load(): Promise<void> {
    const contents = await this.contentsOf(this.place, this.first, 'memory');
    if (!contents || !this.tensor) return;
    this.contents = contents;
    this.grid.reset(Math.ceil(contents.list.length / this.width), this.width);
    this.note.textContent = `place ${this.place.length > 0 ? list(this.place) : 'alone'}${
      contents.step > 1 ? `, every ${contents.step}th slot` : this.first > 0 ? `, from slot ${number(this.first)}` : ''}`;
    this.showRange();
  }

  /** What slots of a place hold: those of one page, or for the first page samples of all. */
  async contentsOf(place: number[], first: number, lane: string): Promise<Contents | null> {
    const { tensor } = this;
    const left = this.slots - first;
    if (!tensor || left <= 0) return { list: [], step: 1 };
    const step = Math.ceil(left / MOST_SAMPLES);
    const all = first > 0 ? Math.min(left, MOST_SAMPLES) : Math.ceil(left / step);
    const reply = await this.core.ask<{ contents: Content[] } & Json>('locate', {
      tensor: tensor.text, place, slot: first, count: all, step: first > 0 ? 1 : step }, lane);
    if (reply.fault && reply.fault.code !== 'cancelled') this.actions.fault(reply.fault);
    return reply.fault || tensor !== this.tensor ? null : { list: reply.value.contents, step: first > 0 ? 1 : step };
  }

  /** Marks a slot, if it is shown. */
  mark(slot: number | null): void {
    const k = slot === null ? -1 : Math.floor((slot - this.first) / this.contents.step);
    const isShown = k >= 0 && k < this.contents.list.length;
    const [row, col] = this.cellOf(slot ?? 0);
    this.grid.mark(null, isShown ? [{ row, col, rows: 1, cols: 1, strong: true }] : []);
  }

  private get slots(): number { return this.tensor?.shown.slots ?? 0; }

  private cellOf(slot: number): [number, number] {
    const k = Math.floor((slot - this.first) / this.contents.step);
    return [Math.floor(k / this.width), k % this.width];
  }

  private numberAt(cell: [number, number]): number | null {
    const k = cell[0] * this.width + cell[1];
    return k < this.contents.list.length ? k : null;
  }

  private slotOf(k: number): number { return this.first + k * this.contents.step; }

  private showLegend(): void { showCauses(this.legend, this.tensor?.shown ?? null, this.theme); }

  private showRange(): void {
    const pages = Math.ceil(this.slots / MOST_SAMPLES);
    const go = (first: number): void => { this.first = first; void this.load().then(() => this.actions.turned()); };
    fill(this.range, ...(pages <= 1 ? [] : [
      h('button', { class: 'small', onclick: () => go(0) }, 'All'),
      h('button', { class: 'small', 'aria-label': 'Earlier slots', onclick: () => go(Math.max(0, this.first - MOST_SAMPLES)) }, '←'),
      h('button', { class: 'small', 'aria-label': 'Later slots',
        onclick: () => go(Math.min((pages - 1) * MOST_SAMPLES, this.first + MOST_SAMPLES)) }, '→'),
    ]));
  }

  private paint(part: Part): Picture | null {
    if (!this.tensor) return null;
    const { mesh, places } = this.tensor.shown;
    const data = places === 1 ? slotColours(this.slots, this.theme) : null;
    const own = placeColours(mesh, this.theme)(numberOf(mesh, this.place));
    const colours = new Uint32Array(part.rows * part.cols);
    const cell = (k: number): Content | undefined =>
      this.contents.list[(part.row + Math.floor(k / part.cols) * part.stepRow) * this.width + part.col + (k % part.cols) * part.stepCol];
    const causes = new Map<string, number>();
    for (let k = 0; k < colours.length; ++k) {
      const content = cell(k);
      if (content === undefined) continue;
      if (typeof content === 'string') {
        let c = causes.get(content);
        if (c === undefined) causes.set(content, c = causeColour(content, this.theme));
        colours[k] = c;
      } else {
        colours[k] = data ? data(this.slotOf(part.row * this.width + k)) : own;
      }
    }
    return {
      colours, stroke: (k) => typeof cell(k) === 'string',
      text: (k) => {
        const content = cell(k);
        if (content === undefined) return '';
        if (typeof content === 'string') return CAUSES[content]?.letter ?? '?';
        return (elementsIn(content)[0] ?? []).join(',');
      },
    };
  }
}

/** As many slots in a row of the picture as a row of a tile, a stick or a shard has. */
function rowWidth(shown: Shown): number {
  if (shown.tile) return shown.tile[1] as number;
  const last = shown.atoms_shape.at(-1) ?? 1;
  if (last >= 4 && last <= 128) return last;
  return Math.max(1, Math.min(64, shown.slots));
}
