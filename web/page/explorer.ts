// SPDX-License-Identifier: Apache-2.0
// Explorer: one tensor as three linked pictures (its elements, its mesh, the memory of one place), with
// its numbers and its text in every other notation.
import { builder } from './builder';
import { CAUSES, type Theme } from './colours';
import type { Core, Fault, Json } from './core';
import { h, list, number, numbers } from './dom';
import { Editor } from './editor';
import { EXAMPLES } from './examples';
import { Conversions, showFacts } from './facts';
import { MemoryPanel } from './memory_panel';
import { MeshPanel } from './mesh_panel';
import { elementsIn, wordsOf, type Classes, type Content, type Located, type Shown, type Tensor } from './tensor';
import { TensorPanel } from './tensor_panel';
import type { Answers, Drawing, State, View } from './view';

export class Explorer implements View {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly facts = h('section', { class: 'card', 'aria-label': 'Numbers' });
  private readonly conversions: Conversions;
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private readonly elements: TensorPanel;
  private readonly mesh: MeshPanel;
  private readonly memory: MemoryPanel;
  private readonly indexField = h('input', { 'aria-label': 'Index', id: 'index' });
  private readonly placeField = h('input', { 'aria-label': 'Place', id: 'place' });
  private readonly slotField = h('input', { 'aria-label': 'Slot', id: 'slot' });
  private readonly byteOut = h('output', { id: 'byte' });

  private text = '';
  private tensor: Tensor | null = null;
  private index: number[] | null = null;
  private slot: number | null = null;
  private holders: Located['places'] = [];
  private theme: Theme = 'light';
  answers: Answers = {};

  constructor(private readonly core: Core, private readonly changed: () => void) {
    this.editor = new Editor('tensor-text', 'Tensor and its layout, in any notation', (text) => {
      void this.open(text);
    });
    this.conversions = new Conversions(core, (result) => this.set(result));
    this.elements = new TensorPanel(core, {
      hover: (index) => void this.hoverElement(index), pick: (index) => void this.select(index),
      sliced: () => this.mark(),
    });
    this.mesh = new MeshPanel({
      hover: (place) => void this.hoverPlace(place), pick: (place) => void this.openPlace(place),
    });
    this.memory = new MemoryPanel(core, {
      hover: (slot, content) => this.hoverSlot(slot, content),
      pick: (slot) => void this.selectSlot(this.memory.place, slot),
      turned: () => this.mark(), fault: (fault) => this.say(fault),
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
        h('section', { class: 'card late', 'aria-label': 'Other notations' }, h('h2', {}, 'In every notation'), this.conversions.element)),
      h('div', { class: 'views' },
        h('section', { class: 'card readout', 'aria-label': 'Place of an element' },
          field('Index', this.indexField), arrow(), field('Place', this.placeField), arrow(),
          field('Slot', this.slotField), arrow(), h('label', {}, 'Byte', this.byteOut), this.tip),
        panel('Tensor', this.elements.canvas, [this.elements.slices, this.elements.note], true),
        panel('Mesh', this.mesh.canvas, [this.mesh.note]),
        panel('Memory', this.memory.canvas, [this.memory.range, this.memory.note])));
    this.memory.canvas.after(this.memory.legend);
  }

  set(text: string): void {
    this.editor.set(text);
    this.index = null;
    void this.open(text);
  }

  state(): State {
    return { t: this.text, i: this.index?.join(','), p: this.memory.place.join(',') || undefined };
  }

  async restore(state: State): Promise<void> {
    if (state.t === undefined && this.editor.text !== '') return;
    const text = state.t ?? 'tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>';
    if (text === this.text) return;
    this.editor.set(text);
    this.memory.place = numbers(state.p ?? '') ?? [];
    await this.open(text, true);
    const index = state.i === undefined ? null : numbers(state.i);
    if (index) await this.select(index);
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    for (const panel of [this.elements, this.mesh, this.memory]) panel.repaint(theme);
    if (this.tensor) showFacts(this.facts, this.tensor.shown, theme);
  }

  pictures(): Drawing[] {
    return [this.elements.grid.drawing('Tensor'), this.mesh.grid.drawing('Mesh'), this.memory.grid.drawing('Memory')];
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
      // What is still shown is another tensor.
      this.element.classList.add('stale');
      this.changed();
      return;
    }
    this.editor.report(null);
    this.element.classList.remove('stale');
    const shown = reply.value;
    this.answers = { show: shown };
    this.tensor = { text, shown };
    const { place } = this.memory;
    const isValid = keepPlace && place.length === shown.mesh.length &&
      place.every((p, axis) => p < (shown.mesh[axis] as number));
    if (!isValid) this.memory.place = shown.mesh.map(() => 0);
    if (this.index?.length !== shown.shape.length) this.index = null;
    this.slot = null;
    this.holders = [];
    showFacts(this.facts, shown, this.theme);
    this.elements.open(this.tensor);
    this.mesh.open(this.tensor);
    this.memory.open(this.tensor);
    this.showReadout(null);
    this.tip.textContent = 'Point at an element, a place or a slot; click to keep it.';
    this.changed();
    void this.askClasses();
    await this.memory.load();
    this.mark();
    void this.convert(text);
  }

  private async convert(text: string): Promise<void> {
    const converted = await this.conversions.convert(text);
    if (converted) this.answers.convert = converted;
  }

  /** Asks which places hold no elements. */
  private async askClasses(): Promise<void> {
    const { text, tensor } = this;
    if (!tensor || tensor.shown.places > 1_000_000) return;
    const reply = await this.core.ask<Classes & Json>('locate', { tensor: text, classes: true });
    if (reply.fault || text !== this.text) return;
    this.answers.classes = reply.value;
    this.mesh.classify(reply.value);
  }

  // Elements, places and slots under the pointer, and selected ones.

  private async hoverElement(index: number[] | null): Promise<void> {
    if (!this.tensor) return;
    if (!index) {
      this.mark();
      return;
    }
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
    if (!found || !this.tensor) return;
    this.index = index;
    this.holders = found.places;
    const places = found.places.map((p) => (Array.isArray(p) ? p : p.from));
    const held = places.some((p) => p.join() === this.memory.place.join());
    if (!held) this.memory.place = places[0] ?? [];
    this.slot = found.slot;
    this.elements.slice(index);
    this.showReadout(found);
    this.tip.textContent = wordsOf(found);
    this.answers.locate = found;
    await this.memory.showSlot(found.slot);
    this.elements.reveal(index);
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
    this.memory.place = place;
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
    await this.memory.showSlot(slot);
    this.mark();
    this.changed();
  }

  private showReadout(found: Located | null): void {
    const isNowhere = found !== null && found.places.length === 0;
    this.indexField.value = found ? found.index.join(', ') : '';
    this.placeField.value = isNowhere ? '' : this.memory.place.join(', ');
    this.slotField.value = found ? String(found.slot) : '';
    this.byteOut.textContent = !found ? '–' : found.byte === null ? 'in a block' : number(found.byte);
  }

  private say(fault: Fault): void {
    this.tip.textContent = `${fault.code.replaceAll('_', ' ')}: ${fault.message}`;
  }

  private async hoverPlace(place: number[] | null): Promise<void> {
    const { tensor } = this;
    if (!tensor || !place) {
      this.mark();
      return;
    }
    const contents = await this.memory.contentsOf(place, 0, 'place');
    if (!contents) return;
    const held = contents.list.filter((c) => typeof c !== 'string').length;
    const words = contents.step > 1 ? `about ${Math.round((100 * held) / contents.list.length)} % data` :
      `${number(held)} of ${number(tensor.shown.slots)} slots hold data`;
    this.tip.textContent = `place ${list(place)}: ${words}`;
    this.elements.markContents(contents.list);
    this.mesh.mark([place], null);
  }

  private async openPlace(place: number[]): Promise<void> {
    this.placeField.value = place.join(', ');
    if (!this.holds(place)) {
      this.index = null;
      this.slot = null;
      this.holders = [];
      this.indexField.value = '';
      this.slotField.value = '';
      this.byteOut.textContent = '–';
    }
    await this.memory.openPlace(place);
    this.mark();
    this.changed();
  }

  private holds(place: number[]): boolean {
    return this.holders.some((p) => (Array.isArray(p) ? p.join() === place.join() :
      place.every((v, axis) => v >= (p.from[axis] as number) && v <= (p.to[axis] as number))));
  }

  private hoverSlot(slot: number | null, content: Content | null): void {
    if (slot === null || content === null) {
      this.mark();
      return;
    }
    const elements = elementsIn(content);
    const words = typeof content === 'string' ? `padding (${content}, ${CAUSES[content]?.words ?? ''})` :
      `element ${elements.map(list).join(' ')}`;
    this.tip.textContent = `slot ${slot} of place ${list(this.memory.place)}: ${words}`;
    this.memory.mark(slot);
    this.elements.mark(elements);
  }

  /** Marks an element and where it is: the one under the pointer, or else the selected one. */
  private mark(hovered?: Located): void {
    if (!this.tensor) return;
    const { place } = this.memory;
    const index = hovered?.index ?? this.index;
    const places = hovered?.places ?? this.holders;
    this.elements.mark(index ? [index] : []);
    this.mesh.mark(places, place);
    const isHere = places.some((p) => (Array.isArray(p) ? p.join() === place.join() : false)) || this.holds(place) ||
      (!hovered && !index);
    this.memory.mark(isHere ? hovered?.slot ?? this.slot : null);
  }
}
