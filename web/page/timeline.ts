// SPDX-License-Identifier: Apache-2.0
// The tracks of a trace on a canvas, with a row each and time to the right: pan, zoom, hover, pick, keyboard.
// Only what is visible is drawn, and of slices within a pixel the first.
import { css, oklch } from './colours';
import { emptied, h, number } from './dom';
import type { Slice, Trace } from './trace';

const ROW = 22;
const HEAD = 20;

interface Actions { hover(slice: Slice | null): void; pick(slice: Slice | null): void }

/** The position of the first slice that ends after a time; slices of a track do not overlap. */
function firstAfter(slices: Slice[], time: number): number {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const slice = slices[middle] as Slice;
    if (slice.from + slice.length < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Timeline {
  readonly canvas = h('canvas', { id: 'trace-canvas', tabindex: 0, role: 'application',
    'aria-label': 'Timeline of the trace. Arrow keys go from slice to slice and from track to track, Enter selects, plus and minus zoom, 0 shows all.' });
  private trace: Trace | null = null;
  private chosen: Slice | null = null;
  private over: Slice | null = null;
  private cursor: [number, number] = [0, 0];
  /** The time at the left, cycles of a pixel, and the pixels that are scrolled past. */
  private x = 0;
  private scale = 1;
  private y = 0;
  private left = 120;
  private fitted = true;
  private frame = 0;
  /** Colours of the words at the beginning of names (an op, a phase, "to" and "from"), in one of the themes. */
  private readonly colours = new Map<string, string>();
  private dark = false;

  constructor(private readonly actions: Actions) {
    const { canvas } = this;
    new ResizeObserver(() => { if (this.fitted) this.fit(); else this.redraw(); }).observe(canvas);
    let drag: { x: number; y: number; moved: number } | null = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!drag) {
        this.hover(this.find(event));
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      drag = { x: event.clientX, y: event.clientY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
      if (drag.moved > 4) this.pan(-dx, -dy);
    });
    canvas.addEventListener('pointerup', (event) => {
      const moved = drag?.moved ?? 0;
      drag = null;
      if (moved <= 4) actions.pick(this.find(event));
    });
    canvas.addEventListener('pointercancel', () => { drag = null; });
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (event.shiftKey) this.pan(0, event.deltaY);
      else this.zoom(Math.exp(-event.deltaY * 0.0018), event.clientX - canvas.getBoundingClientRect().left);
    }, { passive: false });
    canvas.addEventListener('dblclick', () => this.fit());
    canvas.addEventListener('focus', () => this.redraw());
    canvas.addEventListener('blur', () => this.hover(null));
    canvas.addEventListener('keydown', (event) => this.key(event));
  }

  open(trace: Trace): void {
    this.trace = trace;
    this.colours.clear();
    this.chosen = null;
    this.over = null;
    this.cursor = [0, -1];
    this.y = 0;
    this.fit();
  }

  choose(slice: Slice | null, reveals = false): void {
    this.chosen = slice;
    if (slice) this.cursor = [slice.track, this.trace?.tracks[slice.track]?.slices.indexOf(slice) ?? 0];
    if (slice && reveals) this.reveal(slice);
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      this.draw();
      performance.measure('trace-redraw', { start });
    });
  }

  private colourOf(name: string): string {
    const blank = name.indexOf(' ');
    const word = blank < 0 ? name : name.slice(0, blank);
    let colour = this.colours.get(word);
    if (colour === undefined) {
      colour = css(oklch(this.dark ? 0.46 : 0.82, 0.1, (200 + this.colours.size * 137.508) % 360));
      this.colours.set(word, colour);
    }
    return colour;
  }

  private fit(): void {
    this.fitted = true;
    this.x = 0;
    this.left = Math.min(170, Math.max(70, (this.canvas.clientWidth || 600) * 0.2));
    this.scale = Math.max(1e-6, this.trace?.end ?? 1) / Math.max(1, (this.canvas.clientWidth || 600) - this.left - 8);
    this.redraw();
  }

  private zoom(by: number, at = (this.canvas.clientWidth + this.left) / 2): void {
    const whole = Math.max(1e-6, this.trace?.end ?? 1) / Math.max(1, this.canvas.clientWidth - this.left - 8);
    const scale = Math.max(whole * 1e-6, Math.min(whole, this.scale / by));
    this.fitted = scale === whole;
    this.x += (at - this.left) * (this.scale - scale);
    this.scale = scale;
    this.pan(0, 0);
  }

  private pan(dx: number, dy: number): void {
    const end = this.trace?.end ?? 0;
    const seen = (this.canvas.clientWidth - this.left - 8) * this.scale;
    const high = (this.trace?.tracks.length ?? 0) * ROW + HEAD;
    this.x = Math.max(0, Math.min(Math.max(0, end - seen), this.x + dx * this.scale));
    this.y = Math.max(0, Math.min(Math.max(0, high - this.canvas.clientHeight), this.y + dy));
    this.redraw();
  }

  private reveal(slice: Slice): void {
    const seen = (this.canvas.clientWidth - this.left - 8) * this.scale;
    if (slice.from + slice.length < this.x || slice.from > this.x + seen) this.x = slice.from - seen / 3;
    const top = slice.track * ROW;
    if (top < this.y || top + ROW > this.y + this.canvas.clientHeight - HEAD) this.y = top - this.canvas.clientHeight / 2;
    this.pan(0, 0);
  }

  private hover(slice: Slice | null): void {
    this.over = slice;
    this.actions.hover(slice);
    this.redraw();
  }

  private find(event: MouseEvent): Slice | null {
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    const slices = this.trace?.tracks[Math.floor((py - HEAD + this.y) / ROW)]?.slices;
    if (!slices || px < this.left || py < HEAD) return null;
    const time = this.x + (px - this.left) * this.scale;
    // A short slice can be hit within two pixels.
    const near = slices[firstAfter(slices, time - 2 * this.scale)];
    return near && near.from <= time + 2 * this.scale ? near : null;
  }

  private key(event: KeyboardEvent): void {
    const { trace } = this;
    if (!trace) return;
    let [track, at] = this.cursor;
    const slices = (): Slice[] => trace.tracks[track]?.slices ?? [];
    if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      const by = (event.key === 'ArrowRight' ? 1 : -1) * (event.shiftKey ? 10 : 1);
      at = Math.max(0, Math.min(slices().length - 1, at + by));
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const time = slices()[Math.max(0, at)]?.from ?? 0;
      track = Math.max(0, Math.min(trace.tracks.length - 1, track + (event.key === 'ArrowDown' ? 1 : -1) * (event.shiftKey ? 10 : 1)));
      at = Math.min(slices().length - 1, firstAfter(slices(), time));
    } else if (event.key === 'Enter' || event.key === ' ') this.actions.pick(slices()[Math.max(0, at)] ?? null);
    else if (event.key === '+' || event.key === '=') this.zoom(1.5);
    else if (event.key === '-') this.zoom(1 / 1.5);
    else if (event.key === '0') this.fit();
    else return;
    event.preventDefault();
    this.cursor = [track, at];
    const slice = slices()[at];
    if (slice && event.key.startsWith('Arrow')) {
      this.hover(slice);
      this.reveal(slice);
    }
  }

  draw(at = emptied(this.canvas)): void {
    const { canvas, trace, left } = this;
    if (!trace) return;
    const [w, t] = [canvas.clientWidth, canvas.clientHeight];
    const style = getComputedStyle(canvas);
    const dark = document.documentElement.dataset.theme === 'dark';
    if (dark !== this.dark) this.colours.clear();
    this.dark = dark;
    const end = this.x + (w - left) * this.scale;
    at.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    const firstTrack = Math.max(0, Math.floor(this.y / ROW));
    const lastTrack = Math.min(trace.tracks.length, Math.ceil((this.y + t - HEAD) / ROW));
    for (let k = firstTrack; k < lastTrack; ++k) {
      const { name, slices } = trace.tracks[k] as { name: string; slices: Slice[] };
      const top = HEAD + k * ROW - this.y;
      at.fillStyle = style.getPropertyValue(k % 2 ? '--paper' : '--wash');
      at.fillRect(0, top, w, ROW);
      let drawn = -1;
      for (let i = firstAfter(slices, this.x); i < slices.length; ++i) {
        const slice = slices[i] as Slice;
        if (slice.from > end) break;
        const from = Math.max(left, left + (slice.from - this.x) / this.scale);
        const to = left + (slice.from + slice.length - this.x) / this.scale;
        if (to < drawn + 1 && slice !== this.over && slice !== this.chosen) continue;
        drawn = to;
        const wide = Math.max(1, to - from - (to - from > 3 ? 1 : 0));
        at.fillStyle = this.colourOf(slice.name);
        at.fillRect(from, top + 2, wide, ROW - 4);
        if (slice === this.over || slice === this.chosen) {
          at.strokeStyle = style.getPropertyValue('--mark');
          at.lineWidth = slice === this.chosen ? 2.5 : 1.5;
          at.strokeRect(from, top + 2, wide, ROW - 4);
        }
        const room = Math.floor((wide - 8) / 6.7);
        if (room < 3) continue;
        at.fillStyle = style.getPropertyValue('--cell-text');
        at.fillText(slice.name.length > room ? `${slice.name.slice(0, room - 1)}…` : slice.name, from + 4, top + 15);
      }
      at.fillStyle = style.getPropertyValue(k % 2 ? '--paper' : '--wash');
      at.fillRect(0, top, left - 4, ROW);
      at.fillStyle = style.getPropertyValue('--ink');
      const room = Math.floor((left - 12) / 6.7);
      at.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, 4, top + 15);
    }
    at.fillStyle = style.getPropertyValue('--card');
    at.fillRect(0, 0, w, HEAD);
    at.fillStyle = style.getPropertyValue('--soft');
    const step = 10 ** Math.ceil(Math.log10(Math.max(1e-12, 70 * this.scale)));
    for (const part of [step / 5, step / 2, step]) {
      if (part / this.scale < 70) continue;
      for (let time = Math.ceil(this.x / part) * part; time <= end; time += part) {
        const px = left + (time - this.x) / this.scale;
        at.fillRect(px, HEAD - 4, 1, 4);
        if (px + 60 < w) at.fillText(number(time), px + 3, 12);
      }
      break;
    }
    if (document.activeElement === canvas && canvas.matches(':focus-visible')) {
      at.strokeStyle = style.getPropertyValue('--mark');
      at.setLineDash([3, 3]);
      at.lineWidth = 1;
      at.strokeRect(1, HEAD + this.cursor[0] * ROW - this.y + 1, left - 6, ROW - 2);
      at.setLineDash([]);
    }
  }
}
