// SPDX-License-Identifier: Apache-2.0
// Compare: what becomes of every element between two layouts, what crosses the mesh, and what it costs.
import { css, oklch, placeColours, type Theme } from './colours';
import type { Core, Json } from './core';
import { bytes, emptied, fill, h, number, seconds } from './dom';
import { Editor } from './editor';
import { PAIRS } from './examples';
import { Grid } from './grid';
import type { Part, Picture } from './picture';
import { meshGrid, numberOf, type Shown } from './tensor';
import type { Answers, Drawing, State, View } from './view';

interface Pair { source: number | number[]; destination: number | number[]; bytes: number }
interface Resharded {
  kind: string | null; bytes: number | null; local_bytes: number; messages: number; cycles: number | null; mesh: number[] | null;
  seconds: number | null; max_link_wavelets: number | null; longest_distance: number | null; hops: number | null;
  simulated_cycles: number | null; why_not_simulated?: string;
  pairs?: Pair[]; warnings: { code: string; message: string; help?: string }[];
  heat?: { from: number[]; to: number[]; cell: number[]; wavelets: number[][] };
  steps?: { step: string; seconds: number | null; bytes: number; algorithm?: string; dominated_by?: string; cycles?: number | null }[];
  algorithms?: { name: string; cycles?: number | null; seconds?: number | null }[];
}
interface Changes { equal: boolean; mesh: number[]; changes: string[]; from: number[]; to: number[] }

const KIND_WORDS: Record<string, string> = {
  IDENTITY: 'everything stays', REDUCE: 'partial sums are combined', SCATTER: 'one place sends to many',
  GATHER: 'many send to one place', REPLICATE: 'the same tiles, more copies', TRANSPOSE: 'mesh axes change places',
  REDISTRIBUTE: 'the same tiles, other places', RESHARD: 'tiles are split differently',
};
const MOST_ARROWS = 1500;

export class Compare implements View {
  readonly element: HTMLElement;
  answers: Answers = {};
  private readonly a: Editor;
  private readonly b: Editor;
  private readonly target = h('select', { id: 'target', 'aria-label': 'Machine' }, h('option', { value: '' }, 'no machine'));
  private readonly summary = h('section', { class: 'card', 'aria-label': 'Result', 'aria-live': 'polite' });
  private readonly steps = h('div', { class: 'scroll' });
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private readonly legend = h('ul', { class: 'legend' });
  private readonly tensorNote = h('span', { class: 'note' });
  private readonly meshNote = h('span', { class: 'note' });
  private readonly tensorGrid: Grid;
  private readonly play = h('button', { id: 'play', class: 'small', 'aria-pressed': 'false' }, 'Play');
  private readonly heat = h('button', { id: 'heat', class: 'small', 'aria-pressed': 'false' }, 'Link heat');
  private readonly mesh = h('canvas', { id: 'transfer-canvas', tabindex: 0, role: 'application' });
  private shown: Shown | null = null;
  private changes: (Changes & { part: Part }) | null = null;
  private reshard: Resharded | null = null;
  private theme: Theme = 'light';
  private playing = 0;
  private phase = 0.55;
  private run = 0;
  private only: number | null = null;

  constructor(private readonly core: Core, private readonly changed: () => void) {
    this.a = new Editor('text-a', 'A, the source layout', () => void this.compare());
    this.b = new Editor('text-b', 'B, the destination layout', () => void this.compare());
    const tensor = h('canvas', { id: 'change-canvas' });
    this.tensorGrid = new Grid(tensor, {
      label: 'Elements of the tensor, by what becomes of them', paint: (part) => this.paint(part),
      hover: (cell) => this.hover(cell), pick: (cell) => this.hover(cell),
    });
    this.target.addEventListener('change', () => void this.compare());
    this.play.addEventListener('click', () => this.toggle());
    this.heat.addEventListener('click', () => {
      this.heat.setAttribute('aria-pressed', String(this.heat.getAttribute('aria-pressed') !== 'true'));
      this.drawMesh();
    });
    new ResizeObserver(() => this.drawMesh()).observe(this.mesh);
    this.mesh.addEventListener('pointermove', (event) => this.hoverMesh(event));
    this.mesh.addEventListener('pointerleave', () => this.showPlace(null));
    this.mesh.addEventListener('blur', () => this.showPlace(null));
    this.mesh.addEventListener('keydown', (event) => this.key(event));
    const examples = h('select', { id: 'pairs', 'aria-label': 'Examples', onchange: () => {
      const pair = PAIRS[Number(examples.value)];
      if (pair) this.set(pair[1], pair[2]);
      examples.selectedIndex = 0;
    } }, h('option', { value: '' }, 'Examples ..'), ...PAIRS.map(([name], i) => h('option', { value: i }, name)));
    const swap = h('button', { id: 'swap', onclick: () => this.set(this.b.text, this.a.text) }, 'Swap A and B');
    this.element = h('div', { class: 'columns' },
      h('div', { class: 'side' },
        h('section', { class: 'card', 'aria-label': 'Layouts' }, this.a.element, this.b.element,
          h('div', { class: 'row' }, examples, swap, h('label', {}, 'on ', this.target))),
        this.summary),
      h('div', { class: 'views' },
        h('section', { class: 'card readout', 'aria-label': 'What the pointer is on' }, this.tip),
        h('section', { class: 'card panel tall', 'aria-label': 'What becomes of each element' },
          h('div', { class: 'row spread' }, h('h2', {}, 'Elements'), this.tensorNote), tensor, this.legend),
        h('section', { class: 'card panel', 'aria-label': 'Transfers' },
          h('div', { class: 'row spread' }, h('h2', {}, 'Transfers'), h('span', { class: 'row' }, this.play, this.heat), this.meshNote), this.mesh),
        h('section', { class: 'card panel', 'aria-label': 'Price' }, h('h2', {}, 'Price, step by step'), this.steps)));
  }

  async machines(): Promise<void> {
    const reply = await this.core.ask<{ targets: { name: string }[] } & Json>('targets', {});
    for (const { name } of reply.value?.targets ?? []) this.target.append(h('option', { value: name }, name));
  }

  set(a: string, b: string): void {
    this.a.set(a);
    this.b.set(b);
    void this.compare();
  }

  state(): State { return { a: this.a.text, b: this.b.text, m: this.target.value || undefined }; }

  async restore(state: State): Promise<void> {
    if (this.target.options.length === 1) await this.machines();
    this.target.value = state.m ?? '';
    const [, a, b] = PAIRS[1] as [string, string, string];
    this.a.set(state.a ?? (this.a.text || a));
    this.b.set(state.b ?? (this.b.text || b));
    await this.compare();
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    this.showLegend();
    this.tensorGrid.forget();
    this.drawMesh();
  }

  pictures(): Drawing[] {
    return [this.tensorGrid.drawing('Elements'), { title: 'Transfers', canvas: this.mesh, draw: (at) => this.drawMesh(at) }];
  }

  title(): string { return `${this.a.text} to ${this.b.text}`; }

  private showLegend(): void {
    const { stays, reordered } = this.shades();
    const entry = (letter: string, words: string, colour: string): HTMLElement =>
      h('li', {}, h('span', { class: 'swatch', colour, 'aria-hidden': 'true' }, letter), words);
    fill(this.legend, entry('=', 'stays where it is', css(stays)), entry('o', 'changes its slot', css(reordered)),
      entry('→', 'moves: the colour is the new place', 'none'), h('li', { class: 'help' }, 'lines: borders of places in A'));
  }

  private shades(): { stays: number; reordered: number } {
    return this.theme === 'dark' ? { stays: oklch(0.3, 0.01, 220), reordered: oklch(0.42, 0.07, 90) } :
      { stays: oklch(0.94, 0.006, 220), reordered: oklch(0.88, 0.09, 90) };
  }

  private async compare(): Promise<void> {
    const run = ++this.run;
    const a = this.a.text;
    const b = this.b.text;
    this.answers = {};
    this.changed();
    for (const [editor, text] of [[this.a, a], [this.b, b]] as const) {
      const reply = await this.core.ask<Shown & Json>('show', { tensor: text }, `show-${editor.field.id}`);
      if (run !== this.run) return;
      if (reply.fault?.code === 'cancelled') return;
      editor.report(text === '' ? null : reply.fault ?? null);
      this.element.classList.toggle('stale', reply.fault !== undefined);
      if (reply.fault) return;
      this.shown = reply.value;
    }
    const diff = await this.core.ask<{ equal: boolean; moved_elements: number | null; moved_bytes: number | null } & Json>('diff', { a, b });
    if (run !== this.run) return;
    if (diff.fault) {
      fill(this.summary, h('p', { class: 'bad' }, diff.fault.message), h('p', { class: 'help' }, diff.fault.help));
      this.reshard = null;
      this.drawMesh();
      return;
    }
    this.answers.diff = diff.value;
    const shape = this.shown?.shape ?? [];
    this.tensorGrid.reset(shape.at(-2) ?? 1, shape.at(-1) ?? 1);
    const target = this.target.value;
    const more = target ? { target } : {};
    const places = this.shown?.places ?? 1;
    let reply = await this.core.ask<Resharded & Json>('reshard', { a, b, heat: true, pairs: true, simulate: places > 4096 ? 'never' : 'auto', ...more });
    for (const without of [{ heat: true }, {}]) {
      if (run !== this.run || !reply.fault || !['too_large', 'not_supported'].includes(reply.fault.code)) break;
      reply = await this.core.ask<Resharded & Json>('reshard', { a, b, ...without, ...more });
    }
    if (run !== this.run) return;
    this.reshard = reply.value ?? null;
    this.heat.disabled = !this.reshard?.heat;
    this.heat.title = this.heat.disabled ? 'There are no loads of links for this machine' : '';
    this.answers.reshard = reply.value ?? { error: reply.fault };
    const { equal, moved_elements: moved, moved_bytes: movedBytes } = diff.value;
    const r = this.reshard;
    const row = (name: string, value: string | null | undefined): HTMLElement[] =>
      (value === null || value === undefined ? [] : [h('dt', {}, name), h('dd', {}, value)]);
    fill(this.summary,
      h('div', { class: `big ${equal ? 'good' : ''}` }, equal ? 'Equal' : r?.kind ?? 'Different'),
      h('p', { class: 'help' }, equal ? 'every element is in the same slot of the same places' : KIND_WORDS[r?.kind ?? ''] ?? ''),
      h('dl', {},
        ...row('elements that change', moved === null ? 'too many kinds to count' : `${number(moved)}, ${bytes(movedBytes ?? 0)}`),
        ...(r && r.bytes !== null ? [
          ...row('bytes between places', bytes(r.bytes)), ...row('bytes within places', bytes(r.local_bytes)),
          ...row('messages', number(r.messages)),
          ...row('longest way', r.longest_distance === null ? null : `${number(r.longest_distance)} hops`),
          ...row('busiest link', r.max_link_wavelets === null ? null : `${number(r.max_link_wavelets)} wavelets of 4 bytes`),
          ...row('cycles of the exchange', r.cycles === null ? null : number(r.cycles)),
          ...row('the same, simulated', r.simulated_cycles === null ? null : `${number(r.simulated_cycles)} cycles`),
          ...row('time of all steps', r.seconds === null ? null : seconds(r.seconds)),
        ] : [])),
      ...(r?.warnings ?? []).map((w) => h('p', { class: 'warn' }, `${w.message}${w.help ? ` (${w.help})` : ''}`)),
      reply.fault && h('p', { class: 'bad' }, reply.fault.message),
      reply.fault && h('p', { class: 'help' }, reply.fault.help));
    this.showSteps(r);
    this.tip.textContent = 'Point at an element, or at a place to see only its messages.';
    this.noteMesh();
    this.drawMesh();
  }

  /** How many places the picture shows, and what crosses them. */
  private noteMesh(): void {
    const r = this.reshard;
    const mesh = r?.mesh;
    const f = this.frame();
    const all = mesh?.join(' × ') || 'one place';
    const isPart = mesh?.length === 2 && f !== null && (f.rows < (mesh[0] as number) || f.cols < (mesh[1] as number));
    this.meshNote.textContent = !mesh ? '' : `${isPart ? `${f.rows} × ${f.cols} of ${all}` : all}${
      r.pairs ? `, ${number(r.pairs.length)} messages` : ''}`;
  }

  private showSteps(r: Resharded | null): void {
    if (!r?.steps) {
      fill(this.steps, h('p', { class: 'help' }, 'Choose a machine for the price of each step and the algorithms that were considered.'));
      return;
    }
    const time = (value: number | null | undefined): string => (value === null || value === undefined ? 'unknown' : seconds(value));
    const longest = Math.max(...r.steps.map((s) => s.seconds ?? 0), 1e-30);
    fill(this.steps,
      h('table', {}, h('thead', {}, h('tr', {}, ...['step', 'time', 'bytes', 'by', 'dominated by'].map((t) => h('th', {}, t)))),
        h('tbody', {}, ...r.steps.map((s) => h('tr', {},
          h('td', {}, s.step), h('td', { class: 'time' }, time(s.seconds), h('div', { class: 'bar' },
            h('span', { colour: 'var(--accent)', 'width%': (100 * (s.seconds ?? 0)) / longest }))),
          h('td', { class: 'num' }, number(s.bytes)), h('td', {}, s.algorithm ?? ''), h('td', {}, s.dominated_by ?? ''))))),
      ...((r.algorithms ?? []).length > 0 ? [
        h('h3', {}, 'Algorithms that were considered, with all steps'),
        h('table', {}, h('tbody', {}, ...(r.algorithms ?? []).map((x) => h('tr', {}, h('td', {}, x.name),
          h('td', { class: 'num' }, x.cycles !== null && x.cycles !== undefined ? `${number(Math.round(x.cycles))} cycles` : ''),
          h('td', { class: 'num' }, x.seconds !== null && x.seconds !== undefined ? seconds(x.seconds) : '')))))] : []));
  }

  private async paint(part: Part): Promise<Picture | null> {
    const shape = this.shown?.shape;
    if (!shape || shape.some((extent) => extent === 0)) return null;
    const run = this.run;
    const rank = shape.length;
    const pick = (last: number, before: number, other: number): number[] =>
      shape.map((_, dim) => (dim === rank - 1 ? last : dim === rank - 2 ? before : other));
    const reply = await this.core.ask<Changes & Json>('diff', {
      a: this.a.text, b: this.b.text, from: pick(part.col, part.row, 0), counts: pick(part.cols, part.rows, 1),
      steps: pick(part.stepCol, part.stepRow, 1),
    }, 'changes');
    if (reply.fault || run !== this.run) {
      if (reply.fault && reply.fault.code !== 'cancelled') this.tensorNote.textContent = reply.fault.message;
      return null;
    }
    const { changes, from } = reply.value;
    this.changes = { ...reply.value, part };
    this.noteMesh();
    this.drawMesh();
    const count = (what: string): number => changes.filter((c) => c === what).length;
    const some = part.stepRow * part.stepCol > 1 ? ' of those drawn' : '';
    this.tensorNote.textContent = `${number(count('stays'))} stay, ${number(count('reordered'))} change slots, ${number(count('moves'))} move${some}`;
    const place = placeColours(reply.value.mesh, this.theme);
    const { stays, reordered } = this.shades();
    const colours = new Uint32Array(changes.length);
    changes.forEach((c, k) => { colours[k] = c === 'stays' ? stays : c === 'reordered' ? reordered : place(reply.value.to[k] as number); });
    const letters: Record<string, string> = { stays: '=', reordered: 'o', moves: '→' };
    return { colours, groups: from, text: (k) => letters[changes[k] as string] ?? '', stroke: (k) => changes[k] === 'reordered' };
  }

  private placeName(place: number): string {
    const mesh = this.reshard?.mesh ?? [];
    return mesh.length === 2 ? `[${Math.floor(place / (mesh[1] as number))}, ${place % (mesh[1] as number)}]` : String(place);
  }

  private hover(cell: [number, number] | null): void {
    const c = this.changes;
    if (!cell || !c) return;
    const r = Math.floor((cell[0] - c.part.row) / c.part.stepRow);
    const k = r * c.part.cols + Math.floor((cell[1] - c.part.col) / c.part.stepCol);
    const change = c.changes[k];
    if (!change) return;
    const words: Record<string, string> = { stays: 'stays where it is', reordered: 'stays on its place, in another slot', moves: 'moves' };
    this.tip.textContent = `element [${cell.join(', ')}] ${words[change]}: place ${c.from[k]}${change === 'moves' ? ` to ${c.to[k]}` : ''}`;
    this.tensorGrid.mark(null, [{ row: cell[0], col: cell[1], rows: 1, cols: 1, strong: true }]);
  }

  // Transfers over the mesh.

  private toggle(): void {
    const on = this.playing === 0;
    this.play.setAttribute('aria-pressed', String(on));
    this.play.textContent = on ? 'Pause' : 'Play';
    if (!on) {
      cancelAnimationFrame(this.playing);
      this.playing = 0;
      return;
    }
    const step = (): void => {
      this.phase = (performance.now() / 1800) % 1;
      this.drawMesh();
      this.playing = requestAnimationFrame(step);
    };
    this.playing = requestAnimationFrame(step);
  }

  /** The rectangle of places that send, receive or hold data, of a mesh that may be a whole wafer. */
  private used(mesh: number[]): [number, number, number, number] {
    const [rows, cols] = meshGrid(mesh);
    if (rows * cols <= 4096) return [0, 0, rows, cols];
    const held = this.changes?.mesh ?? [];
    let [toRow, toCol] = held.length === 2 ? [held[0] as number, held[1] as number] : [1, 1];
    for (const [source, destination] of this.pairs()) {
      for (const p of [source, destination]) {
        toRow = Math.max(toRow, Math.floor(p / cols) + 1);
        toCol = Math.max(toCol, (p % cols) + 1);
      }
    }
    return [0, 0, Math.min(rows, toRow), Math.min(cols, toCol)];
  }

  /** Where the used places are on the canvas; `wide` is the row length of the whole mesh. */
  private frame(): { rows: number; cols: number; wide: number; cell: number; x: number; y: number } | null {
    const mesh = this.reshard?.mesh;
    if (!mesh) return null;
    const [, , rows, cols] = this.used(mesh);
    const w = this.mesh.clientWidth;
    const t = this.mesh.clientHeight;
    const cell = Math.min((w - 16) / cols, (t - 16) / rows, 90);
    return { rows, cols, wide: meshGrid(mesh)[1], cell, x: (w - cell * cols) / 2, y: (t - cell * rows) / 2 };
  }

  private hoverMesh(event: PointerEvent): void {
    const f = this.frame();
    if (!f) return;
    const box = this.mesh.getBoundingClientRect();
    const col = Math.floor((event.clientX - box.left - f.x) / f.cell);
    const row = Math.floor((event.clientY - box.top - f.y) / f.cell);
    const inside = row >= 0 && col >= 0 && row < f.rows && col < f.cols;
    this.showPlace(inside ? row * f.wide + col : null);
  }

  /** Arrow keys go from place to place. */
  private key(event: KeyboardEvent): void {
    const f = this.frame();
    const by = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!f || !by) return;
    event.preventDefault();
    const far = event.shiftKey ? 10 : 1;
    const step = (at: number, most: number, move = 0): number => Math.max(0, Math.min(most - 1, at + move * far));
    const at = this.only;
    this.showPlace(at === null ? 0 : step(Math.floor(at / f.wide), f.rows, by[0]) * f.wide + step(at % f.wide, f.cols, by[1]));
  }

  /** Shows the messages of one place only; null shows all. */
  private showPlace(place: number | null): void {
    this.only = place;
    if (place !== null) {
      const pairs = this.pairs();
      const out = pairs.filter(([s]) => s === place);
      const into = pairs.filter(([, d]) => d === place);
      const sum = (list: [number, number, number][]): number => list.reduce((n, p) => n + p[2], 0);
      this.tip.textContent = `place ${this.placeName(place)}: sends ${number(sum(out))} bytes to ${out.length}, receives ${number(sum(into))} bytes from ${into.length}`;
    }
    this.drawMesh();
  }

  /** The colours of the picture of elements, where both have the same rows of places. */
  private colours(f: { rows: number; cols: number; wide: number }, mesh: number[]): (place: number) => number {
    if (f.cols === f.wide) return placeColours(mesh, this.theme);
    const small = placeColours([f.rows, f.cols], this.theme);
    return (place) => small(Math.floor(place / f.wide) * f.cols + Math.min(place % f.wide, f.cols - 1));
  }

  private pairs(): [number, number, number][] {
    const mesh = this.reshard?.mesh ?? [];
    const at = (place: number | number[]): number => (typeof place === 'number' ? place : numberOf(mesh, place));
    return (this.reshard?.pairs ?? []).map((p) => [at(p.source), at(p.destination), p.bytes]);
  }

  private drawMesh(at = emptied(this.mesh)): void {
    const canvas = this.mesh;
    const f = this.frame();
    const r = this.reshard;
    if (!f || !r?.mesh) {
      canvas.setAttribute('aria-label', 'No transfers');
      return;
    }
    canvas.setAttribute('aria-label', `${number(r.messages)} messages over ${r.mesh.join(' by ')} places. Arrow keys go from place to place and show only its messages.`);
    const style = getComputedStyle(canvas);
    const colour = this.colours(f, r.mesh);
    const showHeat = this.heat.getAttribute('aria-pressed') === 'true' && r.heat;
    const total = r.mesh.reduce((n, m) => n * m, 1);
    const gap = f.cell > 8 ? Math.min(4, f.cell * 0.12) : 0;
    const shownPlaces = f.rows * f.cols <= 60000 ? f.rows * f.cols : 0;
    const wash = style.getPropertyValue('--wash');
    for (let k = 0; k < shownPlaces; ++k) {
      const row = Math.floor(k / f.cols);
      const col = k % f.cols;
      if (row * f.wide + col >= total) continue;
      at.fillStyle = showHeat ? wash : css(colour(row * f.wide + col));
      at.fillRect(f.x + col * f.cell + gap, f.y + row * f.cell + gap, f.cell - 2 * gap, f.cell - 2 * gap);
    }
    if (showHeat) this.drawHeat(at, f, style);
    const pairs = this.pairs().filter(([s, d]) => s !== d && (this.only === null || s === this.only || d === this.only));
    const most = Math.max(1, ...pairs.slice(0, MOST_ARROWS).map((p) => p[2]));
    if (this.only !== null && f.cell > 5) {
      at.strokeStyle = style.getPropertyValue('--mark');
      at.lineWidth = 2;
      at.strokeRect(f.x + (this.only % f.wide) * f.cell + 1, f.y + Math.floor(this.only / f.wide) * f.cell + 1, f.cell - 2, f.cell - 2);
    }
    const centre = (p: number): [number, number] => [f.x + ((p % f.wide) + 0.5) * f.cell, f.y + (Math.floor(p / f.wide) + 0.5) * f.cell];
    for (const [source, destination, size] of pairs.slice(0, MOST_ARROWS)) {
      const [x0, y0] = centre(source);
      const [x1, y1] = centre(destination);
      const bend = Math.hypot(x1 - x0, y1 - y0) * 0.12;
      const length = Math.hypot(x1 - x0, y1 - y0) || 1;
      const cx = (x0 + x1) / 2 - ((y1 - y0) / length) * bend;
      const cy = (y0 + y1) / 2 + ((x1 - x0) / length) * bend;
      at.globalAlpha = this.only === null && pairs.length > 60 ? 0.25 : 0.6;
      at.strokeStyle = style.getPropertyValue('--mark');
      at.lineWidth = 0.6 + 2.2 * (size / most);
      at.beginPath();
      at.moveTo(x0, y0);
      at.quadraticCurveTo(cx, cy, x1, y1);
      at.stroke();
      at.globalAlpha = 1;
      const u = this.phase;
      const px = (1 - u) ** 2 * x0 + 2 * u * (1 - u) * cx + u * u * x1;
      const py = (1 - u) ** 2 * y0 + 2 * u * (1 - u) * cy + u * u * y1;
      at.fillStyle = css(colour(source));
      at.strokeStyle = style.getPropertyValue('--mark');
      at.lineWidth = 1;
      at.beginPath();
      at.arc(px, py, Math.min(6, 2.2 + 2.5 * Math.sqrt(size / most)), 0, 7);
      at.fill();
      at.stroke();
    }
    if (f.cell >= 22) {
      at.font = '10px ui-monospace, monospace';
      const two = r.mesh.length === 2;
      for (let k = 0; k < shownPlaces; ++k) {
        const row = Math.floor(k / f.cols);
        const col = k % f.cols;
        if (row * f.wide + col >= total) continue;
        const name = two ? `${row},${col}` : String(row * f.wide + col);
        if (name.length * 6 + 4 > f.cell - 2 * gap) continue;
        at.fillStyle = showHeat ? wash : css(colour(row * f.wide + col));
        at.fillRect(f.x + col * f.cell + gap + 1, f.y + row * f.cell + gap + 2, name.length * 6 + 4, 12);
        at.fillStyle = style.getPropertyValue(showHeat ? '--ink' : '--cell-text');
        at.fillText(name, f.x + col * f.cell + gap + 3, f.y + row * f.cell + gap + 11);
      }
    }
  }

  private drawHeat(at: CanvasRenderingContext2D, f: { cell: number; x: number; y: number }, style: CSSStyleDeclaration): void {
    const heat = this.reshard?.heat;
    if (!heat) return;
    const most = Math.max(1, ...heat.wavelets.flat());
    const rows = heat.cell[0] as number;
    const cols = heat.cell[1] as number;
    at.fillStyle = style.getPropertyValue('--heat');
    heat.wavelets.forEach((line, i) => line.forEach((load, j) => {
      at.globalAlpha = load === 0 ? 0 : 0.15 + 0.85 * (load / most);
      at.fillRect(f.x + ((heat.from[1] as number) + j * cols) * f.cell, f.y + ((heat.from[0] as number) + i * rows) * f.cell, cols * f.cell, rows * f.cell);
      at.globalAlpha = 1;
    }));
    this.meshNote.textContent = `busiest link ${number(most)} wavelets`;
  }
}
