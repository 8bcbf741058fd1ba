// SPDX-License-Identifier: Apache-2.0
// Explorer: one tensor as three linked pictures (its elements, its mesh, the memory of one place), with
// its numbers and its text in every other notation.
import { CAUSES, causeColour, css, placeColours, slotColours, type Theme } from './colours';
import type { Core, Fault, Json } from './core';
import { bytes, fill, h, list, number, numbers } from './dom';
import { Editor } from './editor';
import { EXAMPLES } from './examples';
import { Grid, MOST_SAMPLES, type Box, type Part, type Picture } from './grid';
import { builder } from './builder';
import type { Answers, State, View } from './view';

export interface Shown {
  shape: number[]; dtype: string; storage_dtype: string; notation: string; mesh: number[]; places: number; slots: number;
  folded_shape: number[]; shard_shape: number[]; tile: number[] | null; atoms_shape: number[];
  shard_bytes: number; logical_bytes: number; allocated_bytes: number; padding_elements: number | null;
  padding: Record<string, number> | null; memory_space: string | null; native: string;
  fill: { axis: number; kind: string; count: number; reduction?: string }[];
  warnings: { code: string; message: string }[];
}
interface Located { index: number[]; places: (number[] | { from: number[]; to: number[] })[]; slot: number; byte: number | null }
type Content = string | number[] | number[][];
interface Classes { slots: number; classes: { places: number; elements: number; needed_slots: number; sets: { first: number[]; loops: { axis: number; count: number; stride: number }[] }[] }[] }

export const NOTATIONS = ['native', 'strided', 'pyflame', 'spyre', 'metal', 'metal-today', 'ttnn', 'morello',
  'xla', 'onednn', 'cute', 'gspmd', 'dtensor'];

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

export class Explorer implements View {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly facts = h('section', { class: 'card', 'aria-label': 'Numbers' });
  private readonly others = h('ul', { class: 'notations' });
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private readonly tensorNote = h('span', { class: 'note' });
  private readonly meshNote = h('span', { class: 'note' });
  private readonly memoryNote = h('span', { class: 'note' });
  private readonly legend = h('ul', { class: 'legend' });
  private readonly slices = h('span', { class: 'row' });
  private readonly range = h('span', { class: 'row' });
  private readonly tensorGrid: Grid;
  private readonly meshGridView: Grid;
  private readonly memoryGrid: Grid;
  private readonly indexField = h('input', { 'aria-label': 'Index', id: 'index' });
  private readonly placeField = h('input', { 'aria-label': 'Place', id: 'place' });
  private readonly slotField = h('input', { 'aria-label': 'Slot', id: 'slot' });
  private readonly byteOut = h('output', { id: 'byte' });

  private text = '';
  private shown: Shown | null = null;
  private slots = 0;
  private perPlace: Map<number, number> | null = null;
  private fixed: number[] = [];
  private index: number[] | null = null;
  private place: number[] = [];
  private slot: number | null = null;
  private holders: Located['places'] = [];
  private first = 0;
  private width = 32;
  private contents: Content[] = [];
  private contentStep = 1;
  private elements: { places: number[]; slots: number[]; part: Part } | null = null;
  private theme: Theme = 'light';
  private convertRun = 0;
  answers: Answers = {};

  constructor(private readonly core: Core, private readonly changed: () => void) {
    this.editor = new Editor('tensor-text', 'Tensor and its layout, in any notation', (text) => {
      void this.open(text);
    });
    const canvas = (id: string): HTMLCanvasElement => h('canvas', { id });
    const tensor = canvas('tensor-canvas');
    const mesh = canvas('mesh-canvas');
    const memory = canvas('memory-canvas');
    this.tensorGrid = new Grid(tensor, {
      label: 'Elements of the tensor', paint: (part) => this.paintTensor(part),
      hover: (cell) => void this.hoverElement(cell), pick: (cell) => void this.select(this.indexAt(...cell)),
    });
    this.meshGridView = new Grid(mesh, {
      label: 'Places of the mesh', paint: (part) => this.paintMesh(part),
      hover: (cell) => void this.hoverPlace(cell), pick: (cell) => void this.pickPlace(cell),
    });
    this.memoryGrid = new Grid(memory, {
      label: 'Memory of the place', paint: (part) => this.paintMemory(part),
      hover: (cell) => this.hoverSlot(cell), pick: (cell) => this.pickSlot(cell),
    });
    const enter = (act: () => void) => (event: Event): void => {
      if ((event as KeyboardEvent).key === 'Enter') act();
    };
    this.indexField.addEventListener('keydown', enter(() => {
      const index = numbers(this.indexField.value);
      if (index) void this.select(index);
    }));
    const bySlot = enter(() => {
      const place = numbers(this.placeField.value);
      const slot = numbers(this.slotField.value);
      if (place && slot?.length === 1) void this.selectSlot(place, slot[0] as number);
      else if (place) void this.openPlace(place);
    });
    this.placeField.addEventListener('keydown', bySlot);
    this.slotField.addEventListener('keydown', bySlot);

    const examples = h('select', { id: 'examples', 'aria-label': 'Examples',
      onchange: () => { this.set(examples.value); examples.selectedIndex = 0; } },
    h('option', { value: '' }, 'Examples ..'));
    for (const { owner, items } of EXAMPLES) {
      const group = h('optgroup', { label: owner });
      for (const [name, text] of items) group.append(h('option', { value: text }, name));
      examples.append(group);
    }
    const panel = (title: string, picture: HTMLElement, more: HTMLElement[], tall = false): HTMLElement =>
      h('section', { class: `card panel${tall ? ' tall' : ''}`, 'aria-label': title },
        h('div', { class: 'row spread' }, h('h2', {}, title), ...more), picture);
    const field = (label: string, input: HTMLElement): HTMLElement => h('label', {}, label, input);
    const arrow = (): HTMLElement => h('span', { class: 'arrow', 'aria-hidden': 'true' }, '↔');
    this.element = h('div', { class: 'columns' },
      h('div', { class: 'side' },
        h('section', { class: 'card', 'aria-label': 'Text of the tensor' }, this.editor.element,
          h('div', { class: 'row' }, examples, builder((text) => this.set(text)))),
        this.facts,
        h('section', { class: 'card late', 'aria-label': 'Other notations' }, h('h2', {}, 'In every notation'), this.others)),
      h('div', { class: 'views' },
        h('section', { class: 'card readout', 'aria-label': 'Place of an element' },
          field('Index', this.indexField), arrow(), field('Place', this.placeField), arrow(),
          field('Slot', this.slotField), arrow(), h('label', {}, 'Byte', this.byteOut), this.tip),
        panel('Tensor', tensor, [this.slices, this.tensorNote], true),
        panel('Mesh', mesh, [this.meshNote]),
        panel('Memory', memory, [this.range, this.memoryNote])));
    memory.after(this.legend);
  }

  set(text: string): void {
    this.editor.set(text);
    this.index = null;
    void this.open(text);
  }

  state(): State {
    return { t: this.text, i: this.index?.join(','), p: this.place.join(',') || undefined };
  }

  async restore(state: State): Promise<void> {
    if (state.t === undefined && this.editor.text !== '') return;
    const text = state.t ?? 'tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>';
    if (text === this.text) return;
    this.editor.set(text);
    this.place = numbers(state.p ?? '') ?? [];
    await this.open(text, true);
    const index = state.i === undefined ? null : numbers(state.i);
    if (index) await this.select(index);
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    for (const grid of [this.tensorGrid, this.meshGridView, this.memoryGrid]) grid.forget();
    this.showLegend();
    if (this.shown) this.showFacts(this.shown);
  }

  pictures(): { title: string; canvas: HTMLCanvasElement }[] {
    return [
      { title: 'Tensor', canvas: this.tensorGrid.snapshot() },
      { title: 'Mesh', canvas: this.meshGridView.snapshot() },
      { title: 'Memory', canvas: this.memoryGrid.snapshot() },
    ];
  }

  title(): string { return this.text; }

  private async open(text: string, keepPlace = false): Promise<void> {
    this.text = text;
    if (text === '') {
      this.editor.report(null);
      return;
    }
    const reply = await this.core.ask<Shown & Json>('show', { tensor: text }, 'show');
    if (text !== this.text) return;
    if (reply.fault) {
      if (reply.fault.code !== 'cancelled') this.editor.report(reply.fault);
      this.changed();
      return;
    }
    this.editor.report(null);
    const shown = reply.value;
    this.answers = { show: shown };
    this.shown = shown;
    const valid = keepPlace && this.place.length === shown.mesh.length &&
      this.place.every((p, axis) => p < (shown.mesh[axis] as number));
    if (!valid) this.place = shown.mesh.map(() => 0);
    if (this.index?.length !== shown.shape.length) this.index = null;
    this.fixed = shown.shape.map(() => 0);
    this.first = 0;
    this.slot = null;
    this.perPlace = null;
    this.holders = [];
    this.elements = null;
    this.contents = [];
    this.slots = shown.slots;
    this.width = rowWidth(shown, this.slots);
    this.showFacts(shown);
    this.showSlices(shown);
    const [rows, cols] = this.plane();
    this.tensorGrid.mark(null, []);
    this.tensorGrid.reset(rows, cols);
    this.meshGridView.reset(...meshGrid(shown.mesh));
    this.tensorNote.textContent = shown.shape.length === 0 ? 'a scalar' : shown.shape.join(' × ');
    this.meshNote.textContent = shown.mesh.length === 0 ? 'one place' :
      `${shown.mesh.join(' × ')} = ${number(shown.places)} places`;
    this.showReadout(null);
    this.tip.textContent = 'Point at an element, a place or a slot; click to keep it.';
    this.changed();
    void this.askClasses();
    await this.loadMemory();
    this.mark();
    void this.convertAll(text);
  }

  // The numbers.

  private showFacts(shown: Shown): void {
    const all = shown.allocated_bytes;
    const slots = this.slots * shown.places;
    const parts: [string, number, string][] = [];
    const padding = shown.padding ?? {};
    const sum = Object.values(padding).reduce((a, b) => a + b, 0);
    parts.push(['data', slots - sum, 'data']);
    for (const [cause, count] of Object.entries(padding)) parts.push([cause, count, CAUSES[cause]?.words ?? '']);
    const share = (n: number): string => `${((100 * n) / Math.max(1, slots)).toPrecision(3)} %`;
    const colour = (name: string): string => (name === 'data' ? 'var(--accent)' : css(causeColour(name, this.theme)));
    fill(this.facts,
      h('div', { class: 'row spread' }, h('h2', {}, `${shown.shape.join('×') || 'scalar'} of ${shown.dtype}`),
        h('span', { class: 'note mono' }, shown.notation)),
      h('div', { class: 'bar', role: 'img', 'aria-label': `padding: ${share(sum)}` },
        ...parts.map(([name, n]) => h('span', { colour: colour(name), 'width%': (100 * n) / Math.max(1, slots), title: `${name}: ${number(n)}` }))),
      h('ul', { class: 'legend' }, ...parts.map(([name, n, words]) => h('li', { title: words },
        swatch(colour(name), CAUSES[name]?.letter ?? ''), `${name} ${number(n)} `, h('span', { class: 'help' }, share(n))))),
      h('dl', {},
        ...fact('per place', `${number(this.slots)} slots, ${bytes(shown.shard_bytes)}`),
        ...fact('all places', bytes(all)),
        ...fact('data alone', bytes(shown.logical_bytes)),
        ...(shown.tile ? fact('tile', `${shown.tile.join('×')} of ${shown.storage_dtype}`) :
          shown.storage_dtype === shown.dtype ? [] : fact('stored as', shown.storage_dtype)),
        ...fact('shard', shown.shard_shape.join('×') || '1'),
        ...(shown.memory_space ? fact('memory', shown.memory_space) : []),
        ...shown.fill.filter((f) => f.kind !== 'fixed' && f.count > 1).flatMap((f) =>
          fact(f.kind === 'partial' ? 'partial' : 'copies', `${f.count} along mesh axis ${f.axis}${f.reduction ? ` (${f.reduction})` : ''}`))),
      ...shown.warnings.map((w) => h('p', { class: 'warn' }, `${w.code.replaceAll('_', ' ')}: ${w.message}`)));
    this.showLegend();
  }

  private showLegend(): void {
    const causes = Object.keys(this.shown?.padding ?? {});
    fill(this.legend, ...causes.map((cause) => h('li', {},
      swatch(css(causeColour(cause, this.theme)), CAUSES[cause]?.letter ?? ''), cause)));
    this.legend.hidden = causes.length === 0;
  }

  private async convertAll(text: string): Promise<void> {
    const run = ++this.convertRun;
    const rows = NOTATIONS.map((to) => {
      const code = h('code', { class: 'no' }, '..');
      return { to, code, row: h('li', {}, h('span', {}, to), code) };
    });
    fill(this.others, ...rows.map((r) => r.row));
    const converted: Record<string, unknown> = {};
    for (const { to, code, row } of rows) {
      const reply = await this.core.ask<{ text: string; without?: string[] } & Json>('convert', { tensor: text, to });
      if (run !== this.convertRun || reply.fault?.code === 'cancelled') return;
      if (reply.fault) {
        code.textContent = reply.fault.message;
        converted[to] = { error: reply.fault };
      } else {
        const result = reply.value.text;
        converted[to] = reply.value;
        code.textContent = result;
        code.className = '';
        row.append(h('button', { class: 'small', onclick: () => this.set(result), 'aria-label': `Open as ${to}` }, 'Open'));
      }
    }
    this.answers.convert = converted;
  }

  // The tensor: two of its dims, the others fixed.

  private plane(): [number, number] {
    const shape = this.shown?.shape ?? [];
    return [shape.at(-2) ?? 1, shape.at(-1) ?? 1];
  }

  private indexAt(row: number, col: number): number[] {
    const index = [...this.fixed];
    const rank = index.length;
    if (rank >= 2) index[rank - 2] = row;
    if (rank >= 1) index[rank - 1] = col;
    return index;
  }

  private showSlices(shown: Shown): void {
    const outer = shown.shape.slice(0, -2);
    fill(this.slices, ...outer.map((extent, dim) => {
      const input = h('input', { type: 'number', min: 0, max: extent - 1, value: 0, 'aria-label': `Index of dim ${dim}` });
      input.addEventListener('change', () => {
        this.fixed[dim] = Math.max(0, Math.min(extent - 1, Number(input.value) | 0));
        this.elements = null;
        this.tensorGrid.forget();
        this.mark();
      });
      return h('label', {}, `d${dim} `, input);
    }));
  }

  private async paintTensor(part: Part): Promise<Picture | null> {
    const shown = this.shown;
    if (!shown || shown.shape.some((extent) => extent === 0)) return null;
    const rank = shown.shape.length;
    const from = this.indexAt(part.row, part.col);
    const counts = from.map((_, dim) => (dim === rank - 1 ? part.cols : dim === rank - 2 ? part.rows : 1));
    const steps = from.map((_, dim) => (dim === rank - 1 ? part.stepCol : dim === rank - 2 ? part.stepRow : 1));
    const text = this.text;
    const reply = await this.core.ask<{ places: number[]; slots: number[] } & Json>(
      'locate', { tensor: text, from, counts, steps }, 'elements');
    if (reply.fault || text !== this.text) return null;
    const { places, slots } = reply.value;
    this.elements = { places, slots, part };
    const one = shown.places === 1;
    const colour = one ? slotColours(this.slots, this.theme) : placeColours(shown.mesh, this.theme);
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

  private async hoverElement(cell: [number, number] | null): Promise<void> {
    if (!this.shown) return;
    if (!cell) {
      this.mark();
      return;
    }
    const index = this.indexAt(...cell);
    const found = await this.locate(index, 'hover');
    if (!found) return;
    this.tip.textContent = wordsOf(found);
    this.mark(found);
  }

  private async locate(index: number[], lane = ''): Promise<Located | null> {
    const text = this.text;
    const reply = await this.core.ask<Located & Json>('locate', { tensor: text, index }, lane);
    if (reply.fault && reply.fault.code !== 'cancelled') this.say(reply.fault);
    return reply.fault || text !== this.text ? null : reply.value;
  }

  /** Selects an element: its place opens, and the fields say where it is. */
  async select(index: number[]): Promise<void> {
    const found = await this.locate(index);
    if (!found || !this.shown) return;
    this.index = index;
    this.holders = found.places;
    const places = found.places.map((p) => (Array.isArray(p) ? p : p.from));
    const held = places.some((p) => p.join() === this.place.join());
    if (!held) this.place = places[0] ?? [];
    this.slot = found.slot;
    this.fixed = this.fixed.map((v, dim) => (dim < index.length - 2 ? (index[dim] as number) : v));
    this.showReadout(found);
    this.tip.textContent = wordsOf(found);
    this.answers.locate = found;
    await this.showSlot();
    this.tensorGrid.reveal(index.at(-2) ?? 0, index.at(-1) ?? 0);
    this.mark();
    this.changed();
  }

  private async selectSlot(place: number[], slot: number): Promise<void> {
    const reply = await this.core.ask<{ index?: number[]; indices?: number[][]; padding?: string } & Json>(
      'locate', { tensor: this.text, place, slot });
    if (reply.fault) {
      this.say(reply.fault);
      return;
    }
    this.place = place;
    const index = reply.value.index ?? reply.value.indices?.[0];
    if (index) {
      await this.select(index);
      return;
    }
    this.index = null;
    this.holders = [];
    this.slot = slot;
    this.indexField.value = '';
    this.placeField.value = place.join(', ');
    this.slotField.value = String(slot);
    const cause = reply.value.padding ?? '';
    this.byteOut.textContent = 'padding';
    this.tip.textContent = `slot ${slot} of place ${list(place)} is padding: ${cause}, ${CAUSES[cause]?.words ?? ''}`;
    await this.showSlot();
    this.mark();
    this.changed();
  }

  private showReadout(found: Located | null): void {
    const place = found?.places[0];
    this.indexField.value = found ? found.index.join(', ') : '';
    this.placeField.value = !found ? this.place.join(', ') : place === undefined ? '' : this.place.join(', ');
    this.slotField.value = found ? String(found.slot) : '';
    this.byteOut.textContent = !found ? '–' : found.byte === null ? 'in a block' : number(found.byte);
  }

  private say(fault: Fault): void {
    this.tip.textContent = `${fault.code.replaceAll('_', ' ')}: ${fault.message}`;
  }

  // The mesh.

  private async askClasses(): Promise<void> {
    const { text, shown } = this;
    if (!shown || shown.places > 1_000_000) return;
    const reply = await this.core.ask<Classes & Json>('locate', { tensor: text, classes: true });
    if (reply.fault || text !== this.text) return;
    this.answers.classes = reply.value;
    const held = new Map<number, number>();
    for (const one of reply.value.classes) {
      if (one.elements > 0) continue;
      for (const set of one.sets) {
        let places = [numberOf(shown.mesh, set.first)];
        for (const loop of set.loops) {
          const stride = loop.stride * shown.mesh.slice(loop.axis + 1).reduce((n, m) => n * m, 1);
          places = places.flatMap((p) => Array.from({ length: loop.count }, (_, i) => p + i * stride));
        }
        for (const p of places) held.set(p, 0);
      }
    }
    this.perPlace = held;
    this.meshGridView.forget();
  }

  private meshCell(row: number, col: number): number | null {
    const shown = this.shown;
    if (!shown) return null;
    const at = row * meshGrid(shown.mesh)[1] + col;
    return at < shown.places ? at : null;
  }

  private paintMesh(part: Part): Picture | null {
    const shown = this.shown;
    if (!shown) return null;
    const colour = placeColours(shown.mesh, this.theme);
    const colours = new Uint32Array(part.rows * part.cols);
    const at = new Int32Array(colours.length);
    for (let r = 0, k = 0; r < part.rows; ++r) {
      for (let c = 0; c < part.cols; ++c, ++k) {
        const place = this.meshCell(part.row + r * part.stepRow, part.col + c * part.stepCol) ?? -1;
        at[k] = place;
        colours[k] = place < 0 || this.perPlace?.get(place) === 0 ? 0 : colour(place);
      }
    }
    const { mesh } = shown;
    return {
      colours, groups: shown.places <= 4096 ? at : undefined,
      stroke: (k) => this.perPlace?.get(at[k] as number) === 0,
      text: (k) => ((at[k] as number) < 0 ? '' : mesh.length === 2 ? placeOf(mesh, at[k] as number).join(',') : String(at[k])),
    };
  }

  private async hoverPlace(cell: [number, number] | null): Promise<void> {
    const shown = this.shown;
    const at = cell && this.meshCell(...cell);
    if (!shown || at === null) {
      this.mark();
      return;
    }
    const place = placeOf(shown.mesh, at);
    const contents = await this.contentsOf(place, 0, 'place');
    if (!contents) return;
    const held = contents.list.filter((c) => typeof c !== 'string').length;
    const words = contents.step > 1 ? `about ${Math.round((100 * held) / contents.list.length)} % data` :
      `${number(held)} of ${number(this.slots)} slots hold data`;
    this.tip.textContent = `place ${list(place)}: ${words}`;
    this.markElements(contents.list, [{ ...this.boxOf(at), strong: true }]);
  }

  private boxOf(at: number): Box {
    const cols = meshGrid(this.shown?.mesh ?? [])[1];
    return { row: Math.floor(at / cols), col: at % cols, rows: 1, cols: 1 };
  }

  private async pickPlace(cell: [number, number]): Promise<void> {
    const at = this.meshCell(...cell);
    if (at === null || !this.shown) return;
    await this.openPlace(placeOf(this.shown.mesh, at));
  }

  private async openPlace(place: number[]): Promise<void> {
    this.place = place;
    this.first = 0;
    this.placeField.value = place.join(', ');
    if (!this.holds(place)) {
      this.index = null;
      this.slot = null;
      this.holders = [];
      this.indexField.value = '';
      this.slotField.value = '';
      this.byteOut.textContent = '–';
    }
    await this.loadMemory();
    this.mark();
    this.changed();
  }

  private holds(place: number[]): boolean {
    return this.holders.some((p) => (Array.isArray(p) ? p.join() === place.join() :
      place.every((v, axis) => v >= (p.from[axis] as number) && v <= (p.to[axis] as number))));
  }

  // The memory of one place.

  private async contentsOf(place: number[], first: number, lane: string): Promise<{ list: Content[]; step: number } | null> {
    const left = this.slots - first;
    if (left <= 0) return { list: [], step: 1 };
    const step = Math.ceil(left / MOST_SAMPLES);
    const all = first > 0 ? Math.min(left, MOST_SAMPLES) : Math.ceil(left / step);
    const text = this.text;
    const reply = await this.core.ask<{ contents: Content[] } & Json>('locate', {
      tensor: text, place, slot: first, count: all, step: first > 0 ? 1 : step }, lane);
    if (reply.fault && reply.fault.code !== 'cancelled') this.say(reply.fault);
    return reply.fault || text !== this.text ? null : { list: reply.value.contents, step: first > 0 ? 1 : step };
  }

  private async loadMemory(): Promise<void> {
    const contents = await this.contentsOf(this.place, this.first, 'memory');
    if (!contents || !this.shown) return;
    this.contents = contents.list;
    this.contentStep = contents.step;
    this.memoryGrid.reset(Math.ceil(this.contents.length / this.width), this.width);
    this.memoryNote.textContent = `place ${this.place.length > 0 ? list(this.place) : 'alone'}${
      contents.step > 1 ? `, every ${contents.step}th slot` : this.first > 0 ? `, from slot ${number(this.first)}` : ''}`;
    this.showRange();
  }

  private showRange(): void {
    const pages = Math.ceil(this.slots / MOST_SAMPLES);
    const go = (first: number): void => { this.first = first; void this.loadMemory().then(() => this.mark()); };
    fill(this.range, ...(pages <= 1 ? [] : [
      h('button', { class: 'small', onclick: () => go(0) }, 'All'),
      h('button', { class: 'small', 'aria-label': 'Earlier slots', onclick: () => go(Math.max(0, this.first - MOST_SAMPLES)) }, '←'),
      h('button', { class: 'small', 'aria-label': 'Later slots',
        onclick: () => go(Math.min((pages - 1) * MOST_SAMPLES, this.first + MOST_SAMPLES)) }, '→'),
    ]));
  }

  /** Opens the memory at the selected slot. */
  private async showSlot(): Promise<void> {
    const slot = this.slot ?? 0;
    if (this.slots > MOST_SAMPLES) this.first = Math.floor(slot / MOST_SAMPLES) * MOST_SAMPLES;
    await this.loadMemory();
    const k = Math.floor((slot - this.first) / this.contentStep);
    this.memoryGrid.reveal(Math.floor(k / this.width), k % this.width);
  }

  private paintMemory(part: Part): Picture | null {
    const shown = this.shown;
    if (!shown) return null;
    const data = shown.places === 1 ? slotColours(this.slots, this.theme) : null;
    const own = placeColours(shown.mesh, this.theme)(numberOf(shown.mesh, this.place));
    const colours = new Uint32Array(part.rows * part.cols);
    const cell = (k: number): Content | undefined =>
      this.contents[(part.row + Math.floor(k / part.cols) * part.stepRow) * this.width + part.col + (k % part.cols) * part.stepCol];
    const causes = new Map<string, number>();
    for (let k = 0; k < colours.length; ++k) {
      const content = cell(k);
      if (content === undefined) continue;
      if (typeof content === 'string') {
        let c = causes.get(content);
        if (c === undefined) causes.set(content, c = causeColour(content, this.theme));
        colours[k] = c;
      } else {
        colours[k] = data ? data(this.first + (part.row * this.width + k) * this.contentStep) : own;
      }
    }
    return {
      colours, stroke: (k) => typeof cell(k) === 'string',
      text: (k) => {
        const content = cell(k);
        if (content === undefined) return '';
        if (typeof content === 'string') return CAUSES[content]?.letter ?? '?';
        return (Array.isArray(content[0]) ? content[0] : content as number[]).join(',');
      },
    };
  }

  private slotAt(cell: [number, number]): number | null {
    const k = cell[0] * this.width + cell[1];
    return k < this.contents.length ? k : null;
  }

  private hoverSlot(cell: [number, number] | null): void {
    const k = cell && this.slotAt(cell);
    if (k === null || !cell) {
      this.mark();
      return;
    }
    const content = this.contents[k] as Content;
    const slot = this.first + k * this.contentStep;
    this.tip.textContent = typeof content === 'string' ?
      `slot ${slot} of place ${list(this.place)}: padding (${content}, ${CAUSES[content]?.words ?? ''})` :
      `slot ${slot} of place ${list(this.place)}: element ${Array.isArray(content[0]) ? content.map((c) => list(c as number[])).join(' ') : list(content as number[])}`;
    const box = { row: cell[0], col: cell[1], rows: 1, cols: 1, strong: true };
    this.memoryGrid.mark(null, [box]);
    if (typeof content === 'string') this.tensorGrid.mark(null, []);
    else this.tensorGrid.mark(null, this.elementBoxes(Array.isArray(content[0]) ? content as number[][] : [content as number[]]));
  }

  private pickSlot(cell: [number, number]): void {
    const k = this.slotAt(cell);
    if (k !== null) void this.selectSlot(this.place, this.first + k * this.contentStep);
  }

  // What stands out.

  private elementBoxes(indices: number[][]): Box[] {
    return indices.slice(0, 64).filter((index) => index.slice(0, -2).every((v, dim) => v === this.fixed[dim]))
      .map((index) => ({ row: index.at(-2) ?? 0, col: index.at(-1) ?? 0, rows: 1, cols: 1, strong: true }));
  }

  /** Marks the elements that a place holds. */
  private markElements(contents: Content[], meshBoxes: Box[]): void {
    const part = this.elements?.part;
    const set = new Set<number>();
    const cols = this.plane()[1];
    for (const content of contents) {
      if (typeof content === 'string') continue;
      for (const index of Array.isArray(content[0]) ? content as number[][] : [content as number[]]) {
        if (!index.slice(0, -2).every((v, dim) => v === this.fixed[dim])) continue;
        let row = index.at(-2) ?? 0;
        let col = index.at(-1) ?? 0;
        if (part) {
          row -= row % part.stepRow;
          col -= col % part.stepCol;
        }
        set.add(row * cols + col);
      }
    }
    this.tensorGrid.mark((row, col) => set.has(row * cols + col), []);
    this.meshGridView.mark(null, meshBoxes);
  }

  /** Marks an element and where it is: the one under the pointer, or else the selected one. */
  private mark(hovered?: Located): void {
    const shown = this.shown;
    if (!shown) return;
    const index = hovered?.index ?? this.index;
    const places = hovered?.places ?? this.holders;
    const slot = hovered?.slot ?? this.slot;
    this.tensorGrid.mark(null, index ? this.elementBoxes([index]) : []);
    const boxes: Box[] = places.flatMap((p) => {
      if (Array.isArray(p)) return [{ ...this.boxOf(numberOf(shown.mesh, p)), strong: true }];
      if (shown.mesh.length !== 2) return [];
      return [{ row: p.from[0] as number, col: p.from[1] as number, strong: true,
        rows: (p.to[0] as number) - (p.from[0] as number) + 1, cols: (p.to[1] as number) - (p.from[1] as number) + 1 }];
    });
    const open = { ...this.boxOf(numberOf(shown.mesh, this.place)), strong: false };
    this.meshGridView.mark(null, shown.places > 1 ? [open, ...boxes] : boxes);
    const here = places.some((p) => (Array.isArray(p) ? p.join() === this.place.join() : false)) || this.holds(this.place) ||
      (!hovered && !index);
    const k = slot === null || slot === undefined ? -1 : Math.floor((slot - this.first) / this.contentStep);
    const inside = k >= 0 && k < this.contents.length && here;
    this.memoryGrid.mark(null, inside ? [{ row: Math.floor(k / this.width), col: k % this.width, rows: 1, cols: 1, strong: true }] : []);
  }
}

/** As many slots in a row of the picture as a row of a tile, a stick or a shard has. */
function rowWidth(shown: Shown, slots: number): number {
  if (shown.tile) return shown.tile[1] as number;
  const last = shown.atoms_shape.at(-1) ?? 1;
  if (last >= 4 && last <= 128) return last;
  return Math.max(1, Math.min(64, slots));
}

function wordsOf(found: Located): string {
  const places = found.places.slice(0, 4).map((p) => (Array.isArray(p) ? list(p) : `${list(p.from)}..${list(p.to)}`));
  const more = found.places.length > 4 ? ` and ${found.places.length - 4} more` : '';
  return `element ${list(found.index)} is on place ${places.join(' ')}${more}, slot ${found.slot}, ${
    found.byte === null ? 'inside a block of floats' : `byte ${found.byte}`}`;
}

const fact = (name: string, value: string): HTMLElement[] => [h('dt', {}, name), h('dd', {}, value)];
const swatch = (colour: string, letter: string): HTMLElement =>
  h('span', { class: 'swatch', colour, 'aria-hidden': 'true' }, letter);
