// SPDX-License-Identifier: Apache-2.0
// Two charts of a plan: the time of each op, by phase, and the bytes that are live in a memory over time.
import { emptied, h, number } from './dom';
import { liveBytes, total, type Buffer, type Phases, type Plan } from './plan';

const LEFT = 74;
const FOOT = 20;

/** How far an arrow key goes in a chart. */
function movesBy(event: KeyboardEvent): number {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  return event.shiftKey ? 10 * by : by;
}

/** Whether the keyboard is on a chart. */
const isInUse = (canvas: HTMLCanvasElement): boolean => document.activeElement === canvas && canvas.matches(':focus-visible');

/** Ops in the order in which they run, each as high as it takes. */
export class TimeChart {
  readonly canvas = h('canvas', { id: 'time-canvas', tabindex: 0, role: 'application',
    'aria-label': 'Time of each op. Arrow keys go from op to op, Enter selects; the table of ops has the numbers.' });
  private plan: Plan | null = null;
  private phases: (step: number) => Phases = (step) => this.plan?.file.ops[step] as Phases;
  private chosen: number | null = null;
  /** Where the arrow keys are. */
  private cursor = -1;

  constructor(hover: (step: number | null) => void, pick: (step: number) => void) {
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    const stepAt = (event: MouseEvent): number | null => {
      const count = this.plan?.file.ops.length ?? 0;
      const box = this.canvas.getBoundingClientRect();
      const step = Math.floor(((event.clientX - box.left - LEFT) / (box.width - LEFT - 8)) * count);
      return step >= 0 && step < count ? step : null;
    };
    this.canvas.addEventListener('pointermove', (event) => hover(stepAt(event)));
    this.canvas.addEventListener('pointerleave', () => hover(null));
    this.canvas.addEventListener('click', (event) => {
      const step = stepAt(event);
      if (step !== null) pick(step);
    });
    this.canvas.addEventListener('keydown', (event) => {
      const count = this.plan?.file.ops.length ?? 0;
      const by = movesBy(event);
      if (count === 0 || (by === 0 && event.key !== 'Enter')) return;
      event.preventDefault();
      this.cursor = by === 0 ? this.cursor : Math.max(0, Math.min(count - 1, this.cursor + by));
      if (by === 0) pick(Math.max(0, this.cursor));
      else hover(this.cursor);
      this.draw();
    });
    this.canvas.addEventListener('focus', () => this.draw());
    this.canvas.addEventListener('blur', () => { hover(null); this.draw(); });
  }

  show(plan: Plan, phases: (step: number) => Phases, chosen: number | null): void {
    this.plan = plan;
    this.phases = phases;
    this.chosen = chosen;
    this.cursor = Math.min(chosen ?? this.cursor, plan.file.ops.length - 1);
    this.draw();
  }

  draw(at = emptied(this.canvas)): void {
    const { canvas, plan } = this;
    if (!plan) return;
    const [w, t] = [canvas.clientWidth - LEFT - 8, canvas.clientHeight - FOOT - 8];
    const style = getComputedStyle(canvas);
    const count = plan.file.ops.length;
    let longest = 1;
    for (let k = 0; k < count; ++k) longest = Math.max(longest, total(this.phases(k)));
    const wide = w / Math.max(1, count);
    for (let k = 0; k < count; ++k) {
      const phases = this.phases(k);
      let y = 8 + t;
      const parts: [number, string][] = [[phases.bring_cycles ?? 0, '--move'], [phases.compute_cycles ?? 0, '--accent'], [phases.settle_cycles ?? 0, '--settle']];
      for (const [cycles, name] of parts) {
        const high = (t * cycles) / longest;
        at.fillStyle = style.getPropertyValue(name);
        at.fillRect(LEFT + k * wide, y - high, Math.max(0.6, wide > 3 ? wide - 1 : wide), high);
        y -= high;
      }
      if (k === this.cursor && isInUse(canvas)) {
        at.fillStyle = style.getPropertyValue('--mark');
        at.fillRect(LEFT + k * wide, 8 + t + 1, Math.max(3, wide), 3);
      }
      if (k !== this.chosen) continue;
      at.strokeStyle = style.getPropertyValue('--mark');
      at.lineWidth = 2;
      at.strokeRect(LEFT + k * wide - 1, y - 1, Math.max(3, wide) + 1, 8 + t - y + 2);
    }
    at.fillStyle = style.getPropertyValue('--soft');
    at.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    at.textAlign = 'right';
    for (let i = 0; i <= 2; ++i) at.fillText(plan.time((longest * i) / 2), LEFT - 6, 8 + t - (t * i) / 2 + 4);
    at.textAlign = 'left';
    at.fillText(`${number(count)} ops in the order in which they run`, LEFT, t + FOOT + 4);
  }
}

/** What is live in a memory on each place that has it; the moments are those of the plan. */
export class MemoryChart {
  readonly canvas = h('canvas', { id: 'live-canvas', tabindex: 0, role: 'application' });
  private plan: Plan | null = null;
  private buffers: Buffer[] = [];
  private space = '';
  /** The moment where the arrow keys are. */
  private cursor = -1;

  constructor(private readonly hover: (words: string | null, step: number | null) => void) {
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.canvas.addEventListener('pointerleave', () => hover(null, null));
    this.canvas.addEventListener('pointermove', (event) => {
      const box = this.canvas.getBoundingClientRect();
      const end = this.end();
      const moment = Math.floor(((event.clientX - box.left - LEFT) / (box.width - LEFT - 8)) * end);
      if (moment >= 0 && moment < end) this.point(moment);
    });
    this.canvas.addEventListener('keydown', (event) => {
      const by = movesBy(event);
      if (by === 0) return;
      event.preventDefault();
      this.cursor = Math.max(0, Math.min(this.end() - 1, this.cursor + by));
      this.point(this.cursor);
      this.draw();
    });
    this.canvas.addEventListener('focus', () => this.draw());
    this.canvas.addEventListener('blur', () => { hover(null, null); this.draw(); });
  }

  /** Says what is live at a moment. */
  private point(moment: number): void {
    if (!this.plan) return;
    const live = this.buffers.filter((b) => b.space === this.space && b.from <= moment && moment < b.to);
    const bytes = live.reduce((sum, b) => sum + b.bytes, 0);
    const largest = [...live].sort((a, b) => b.bytes - a.bytes).slice(0, 3).map((b) => `${b.name} ${number(b.bytes)}`);
    const step = Math.min(this.plan.file.ops.length - 1, Math.floor(moment / 4));
    this.hover(`moment ${moment}, ${this.plan.title(step)}: ${live.length} buffers, ${number(bytes)} bytes of ${this.space}; ${largest.join(', ')}`, step);
  }

  show(plan: Plan, buffers: Buffer[], space: string): void {
    this.plan = plan;
    this.buffers = buffers;
    this.space = space;
    this.draw();
  }

  private end(): number { return Math.max(1, 4 * (this.plan?.file.ops.length ?? 0)); }

  draw(at = emptied(this.canvas)): void {
    const { canvas, plan } = this;
    if (!plan) return;
    const [w, t] = [canvas.clientWidth - LEFT - 8, canvas.clientHeight - FOOT - 8];
    const style = getComputedStyle(canvas);
    const now = liveBytes(this.buffers, this.space);
    const before = liveBytes(plan.file.buffers, this.space);
    const used = this.buffers.reduce((most, b) => (b.space === this.space ? Math.max(most, b.offset + b.bytes) : most), 0);
    const top = Math.max(1, used, before.reduce((most, s) => Math.max(most, s.bytes), 0)) * 1.08;
    const end = this.end();
    const x = (moment: number): number => LEFT + (w * moment) / end;
    const y = (bytes: number): number => 8 + t - (t * bytes) / top;
    const trace = (steps: { at: number; bytes: number }[]): void => {
      at.beginPath();
      at.moveTo(x(0), y(0));
      let bytes = 0;
      for (const step of steps) {
        at.lineTo(x(step.at), y(bytes));
        at.lineTo(x(step.at), y(step.bytes));
        bytes = step.bytes;
      }
      at.lineTo(x(end), y(bytes));
      at.lineTo(x(end), y(0));
    };
    trace(now);
    at.fillStyle = style.getPropertyValue('--wash');
    at.fill();
    at.strokeStyle = style.getPropertyValue('--accent');
    at.lineWidth = 1.5;
    at.stroke();
    if (this.buffers !== plan.file.buffers) {
      trace(before);
      at.setLineDash([4, 4]);
      at.strokeStyle = style.getPropertyValue('--soft');
      at.stroke();
    }
    at.setLineDash([7, 4]);
    at.strokeStyle = style.getPropertyValue('--soft');
    at.beginPath();
    at.moveTo(LEFT, y(used));
    at.lineTo(LEFT + w, y(used));
    at.stroke();
    at.setLineDash([]);
    at.fillStyle = style.getPropertyValue('--soft');
    at.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
    at.fillText(`packed into ${number(used)} bytes`, LEFT + 4, y(used) - 4);
    at.textAlign = 'right';
    for (let i = 0; i <= 2; ++i) at.fillText(number(Math.round((top * i) / 2)), LEFT - 6, y((top * i) / 2) + 4);
    at.textAlign = 'left';
    at.fillText('moments: four for each op', LEFT, t + FOOT + 4);
    if (this.cursor >= 0 && isInUse(canvas)) {
      at.fillStyle = style.getPropertyValue('--mark');
      at.fillRect(x(this.cursor), 8, 1.5, t);
    }
    canvas.setAttribute('aria-label', `Bytes of ${this.space} over time, at most ${number(used)}. Arrow keys go from moment to moment.`);
  }
}
