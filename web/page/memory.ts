// SPDX-License-Identifier: Apache-2.0
// Memory: buffers with lifetimes, packed by the solver of `tessera alloc`: addresses over time, with a
// capacity to try.
import { css, oklch, type Theme } from './colours';
import type { Core, Json } from './core';
import { bytes, emptied, fill, h, number, seconds } from './dom';
import { faultView } from './editor';
import { BUFFERS } from './examples';
import type { Answers, Drawing, State, View } from './view';

interface Block { id: string; others: number; lower: number; upper: number; offset: number; size: number }
interface Range { from: number; to: number; live: number; count: number; top: number }
interface Plan {
  peak: number; lower_bound: number; optimal: boolean; seconds: number; outcome: string; gap: number; found_by: string;
  capacity: number | null; blocks: Block[]; ranges: Range[];
  shortfall: { moment: number; live_bytes: number; live_buffers: number; missing_bytes: number; certain: boolean;
    largest: (Record<string, unknown> & { id?: string; bytes?: number; size?: number })[] } | null;
}

export class Memory implements View {
  readonly element: HTMLElement;
  answers: Answers = {};
  private readonly field = h('textarea', { id: 'buffers', rows: 14, spellcheck: 'false', wrap: 'off', 'aria-label': 'Buffers as CSV' });
  private readonly slider = h('input', { id: 'capacity', type: 'range', min: 0, max: 100, value: 100, 'aria-label': 'Capacity in bytes' });
  private readonly exact = h('input', { id: 'capacity-bytes', 'aria-label': 'Bytes of capacity', size: 10 });
  private readonly verdict = h('section', { class: 'card', 'aria-label': 'Result', 'aria-live': 'polite' });
  private readonly below = h('div');
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private readonly canvas = h('canvas', { id: 'plan-canvas', tabindex: 0, role: 'application' });
  /** The best plan without a capacity: the slider's scale. */
  private best: Plan | null = null;
  private plan: Plan | null = null;
  private capacity: number | null = null;
  private theme: Theme = 'light';
  private run = 0;
  private timer = 0;
  private over: Block | null = null;
  private cursor = -1;

  constructor(private readonly core: Core, private readonly changed: () => void) {
    this.field.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => { this.capacity = null; void this.solve(); }, 250);
    });
    this.slider.addEventListener('input', () => {
      this.capacity = Number(this.slider.value);
      this.exact.value = String(this.capacity);
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.within(), 60);
    });
    this.exact.addEventListener('change', () => {
      const value = Number(this.exact.value);
      this.capacity = Number.isFinite(value) && value >= 0 ? Math.round(value) : null;
      void this.within();
    });
    this.canvas.setAttribute('aria-label', 'Addresses of buffers over time. Arrow keys go from buffer to buffer.');
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => { this.over = null; this.draw(); });
    this.canvas.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowRight' || event.key === 'ArrowDown' ? 1 : event.key === 'ArrowLeft' || event.key === 'ArrowUp' ? -1 : 0;
      const blocks = this.plan?.blocks ?? [];
      if (by === 0 || blocks.length === 0) return;
      event.preventDefault();
      this.cursor = (this.cursor + by + blocks.length) % blocks.length;
      this.point(blocks[this.cursor] as Block);
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    const load = h('input', { type: 'file', accept: '.csv,text/csv', 'aria-label': 'Open a CSV file', onchange: async () => {
      const file = load.files?.[0];
      if (!file) return;
      this.field.value = await file.text();
      this.capacity = null;
      void this.solve();
    } });
    this.element = h('div', { class: 'columns' },
      h('div', { class: 'side' },
        h('section', { class: 'card', 'aria-label': 'Buffers' }, h('div', { class: 'row spread' }, h('h2', {}, 'Buffers'), load),
          h('p', { class: 'help' }, 'id, lower, upper (exclusive), size; optional: alignment, offset, alias, gaps'),
          this.field, this.below),
        h('section', { class: 'card', 'aria-label': 'Capacity' },
          h('div', { class: 'row spread' }, h('label', { for: 'capacity' }, 'Capacity in bytes'), this.exact), this.slider),
        this.verdict),
      h('div', { class: 'views' },
        h('section', { class: 'card readout', 'aria-label': 'What the pointer is on' }, this.tip),
        h('section', { class: 'card panel tall wide', 'aria-label': 'Plan' }, h('div', { class: 'row spread' }, h('h2', {}, 'Addresses over time'), h('span', { class: 'note' }, 'bytes upwards, moments to the right')), this.canvas)));
  }

  state(): State {
    const text = this.field.value;
    return { c: text === BUFFERS ? undefined : text, k: this.capacity === null ? undefined : String(this.capacity) };
  }

  async restore(state: State): Promise<void> {
    if (this.field.value !== '' && state.c === undefined && state.k === undefined) return;
    this.field.value = state.c ?? BUFFERS;
    this.capacity = state.k === undefined ? null : Number(state.k);
    await this.solve();
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    this.draw();
  }

  pictures(): Drawing[] { return [{ title: 'Memory plan', canvas: this.canvas, draw: (at) => this.draw(at) }]; }
  title(): string { return 'Memory plan'; }

  private async ask(more: Json): Promise<Plan | null> {
    const text = this.field.value;
    const reply = await this.core.ask<Plan & Json>('alloc', { file: '-', blocks: true, seconds: '3', ...more }, 'alloc', text);
    if (reply.fault?.code === 'cancelled') return null;
    this.element.classList.toggle('stale', reply.fault !== undefined);
    fill(this.below, reply.fault && faultView(reply.fault, text));
    this.field.setAttribute('aria-invalid', String(reply.fault !== undefined));
    return reply.value ?? null;
  }

  private async solve(): Promise<void> {
    const run = ++this.run;
    const plan = await this.ask({ minimize: true });
    if (run !== this.run || !plan) return;
    this.best = plan;
    this.plan = plan;
    this.slider.min = '0';
    this.slider.max = String(Math.ceil(plan.peak * 1.25));
    this.slider.value = String(this.capacity ?? plan.peak);
    this.exact.value = String(this.capacity ?? plan.peak);
    this.answers = { minimal: plan };
    if (this.capacity !== null) await this.within();
    else this.show();
    this.changed();
  }

  private async within(): Promise<void> {
    const run = ++this.run;
    if (this.capacity === null) return;
    this.slider.value = String(this.capacity);
    const plan = await this.ask({ capacity: this.capacity });
    if (run !== this.run || !plan) return;
    this.plan = plan;
    this.answers.plan = plan;
    this.show();
    this.changed();
  }

  private show(): void {
    const { plan, best } = this;
    if (!plan || !best) return;
    const words: Record<string, [string, string]> = {
      fits: ['good', 'Fits'], does_not_fit: ['bad', 'Does not fit'], unknown: ['warn', 'Not known in 3 seconds'],
    };
    const [style, title] = words[plan.outcome] ?? ['', plan.outcome];
    const short = plan.shortfall;
    const row = (name: string, value: string): HTMLElement[] => [h('dt', {}, name), h('dd', {}, value)];
    fill(this.verdict, h('div', { class: `big ${style}` }, title),
      h('dl', {},
        ...row('peak', bytes(plan.peak)), ...row('live at the fullest moment', bytes(plan.lower_bound)),
        ...row('lowest peak known', `${bytes(best.peak)}${best.optimal ? ', proven' : ''}`),
        ...row('found by', plan.found_by), ...row('search', seconds(plan.seconds))),
      short && h('p', { class: 'bad' }, `At moment ${short.moment}, ${short.live_buffers} buffers need ${number(short.live_bytes)} bytes${
        short.missing_bytes > 0 ? `: ${number(short.missing_bytes)} too many.` : '; they fit, but no arrangement over time was found.'}`),
      short && h('ul', { class: 'legend' }, ...short.largest.map((b) =>
        h('li', {}, h('code', {}, String(b.id ?? '')), ` ${number(Number(b.bytes ?? b.size ?? 0))}`))));
    this.tip.textContent = 'Point at a buffer. The shade behind them is what is live: no plan can be lower.';
    this.draw();
  }

  private scale(): { x(t: number): number; y(a: number): number; from: number; to: number; top: number } | null {
    const plan = this.plan;
    if (!plan || plan.ranges.length === 0) return null;
    const w = this.canvas.clientWidth;
    const t = this.canvas.clientHeight;
    const from = (plan.ranges[0] as Range).from;
    const to = (plan.ranges.at(-1) as Range).to;
    const top = Math.max(plan.peak, this.capacity ?? 0, this.best?.peak ?? 0) * 1.06;
    const left = 64;
    return { from, to, top, x: (at) => left + ((at - from) / Math.max(1, to - from)) * (w - left - 10), y: (a) => t - 24 - (a / top) * (t - 34) };
  }

  private draw(at = emptied(this.canvas)): void {
    const canvas = this.canvas;
    const w = canvas.clientWidth;
    const t = canvas.clientHeight;
    const s = this.scale();
    const plan = this.plan;
    if (!s || !plan) return;
    const style = getComputedStyle(canvas);
    const soft = style.getPropertyValue('--soft');
    at.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    const dark = this.theme === 'dark';
    // What is live, behind the blocks: no plan can be lower.
    at.fillStyle = style.getPropertyValue('--wash');
    for (const range of plan.ranges) {
      at.fillRect(s.x(range.from), s.y(range.live), s.x(range.to) - s.x(range.from), s.y(0) - s.y(range.live));
    }
    plan.blocks.forEach((block, i) => {
      const x = s.x(block.lower);
      const y = s.y(block.offset + block.size);
      const bw = s.x(block.upper) - x;
      const bh = s.y(block.offset) - y;
      at.fillStyle = css(oklch(dark ? 0.48 : 0.82, 0.1, 25 + i * 137.508));
      at.fillRect(x, y, bw, bh);
      at.lineWidth = block === this.over ? 3 : 1;
      at.strokeStyle = style.getPropertyValue(block === this.over ? '--mark' : '--group-line');
      at.strokeRect(x, y, bw, bh);
      if (bh < 13 || bw < 26) return;
      at.fillStyle = style.getPropertyValue('--cell-text');
      const room = Math.floor((bw - 8) / 6.7);
      at.fillText(block.id.length > room ? `${block.id.slice(0, Math.max(1, room - 1))}…` : block.id, x + 5, y + bh / 2 + 4);
    });
    const level = (value: number, name: string, colour: string): void => {
      at.strokeStyle = colour;
      at.fillStyle = colour;
      at.lineWidth = 1.5;
      at.setLineDash([7, 4]);
      at.beginPath();
      at.moveTo(64, s.y(value));
      at.lineTo(w - 10, s.y(value));
      at.stroke();
      at.setLineDash([]);
      const words = `${name} ${number(value)}`;
      at.fillStyle = style.getPropertyValue('--paper');
      at.fillRect(66, s.y(value) - 15, at.measureText(words).width + 5, 13);
      at.fillStyle = colour;
      at.fillText(words, 68, s.y(value) - 4);
    };
    level(plan.peak, 'peak', soft);
    if (this.capacity !== null) level(this.capacity, 'capacity', style.getPropertyValue(plan.outcome === 'fits' ? '--good' : '--bad'));
    at.fillStyle = soft;
    at.textAlign = 'center';
    const apart = Math.max(1, Math.ceil((s.to - s.from) / 12));
    for (let moment = s.from; moment <= s.to; moment += apart) at.fillText(String(moment), s.x(moment), t - 8);
    at.textAlign = 'right';
    for (let i = 0; i <= 4; ++i) {
      const address = Math.round((plan.peak * i) / 4);
      at.fillText(number(address), 58, s.y(address) + 4);
    }
    at.textAlign = 'left';
  }

  private point(block: Block): void {
    this.over = block;
    this.tip.textContent = `${block.id}${block.others > 0 ? ` and ${block.others} more` : ''}: ${number(block.size)} bytes at ${number(block.offset)}..${
      number(block.offset + block.size)}, moments ${block.lower} to ${block.upper}`;
    this.draw();
  }

  private hover(event: PointerEvent): void {
    const s = this.scale();
    if (!s || !this.plan) return;
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const found = this.plan.blocks.find((b) => x >= s.x(b.lower) && x <= s.x(b.upper) && y <= s.y(b.offset) && y >= s.y(b.offset + b.size));
    if (found) this.point(found);
    else {
      this.over = null;
      const range = this.plan.ranges.find((r) => x >= s.x(r.from) && x < s.x(r.to));
      this.tip.textContent = range ? `moments ${range.from} to ${range.to}: ${range.count} buffers, ${number(range.live)} bytes live, up to address ${number(range.top)}` : '';
      this.draw();
    }
  }
}
