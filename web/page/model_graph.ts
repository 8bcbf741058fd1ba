// SPDX-License-Identifier: Apache-2.0
// The graph of a plan on a canvas: a box for each op, in layers from top to bottom, and a line for each value
// that one op makes and another reads. Only what is visible is drawn, so that thousands of ops are no matter.
import { emptied, h } from './dom';
import { layoutWords, total, type Edge, type Phases, type Plan } from './plan';

const WIDE = 172;
const HIGH = 46;
const ACROSS = 26;
const DOWN = 46;

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

interface Box { x: number; y: number }
interface Actions { hover(step: number | null, edge: Edge | null): void; pick(step: number | null, edge: Edge | null): void }
/** How ops and values stand out; `changed` has the other layouts of values. */
export interface Marks { step: number | null; value: string | null; changed: Map<string, string>; phases(step: number): Phases }

/** Ops below those that they read from; in a layer by the middle of these. */
function placed(plan: Plan): Box[] {
  const count = plan.file.ops.length;
  const depth = new Array<number>(count).fill(0);
  const sources: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of plan.edges) {
    sources[to]?.push(from);
    depth[to] = Math.max(depth[to] as number, (depth[from] as number) + 1);
  }
  // An op without sources stands just above the first that reads it.
  const first = new Array<number>(count).fill(Infinity);
  for (const { from, to } of plan.edges) first[from] = Math.min(first[from] as number, depth[to] as number);
  const layers: number[][] = [];
  for (let k = 0; k < count; ++k) {
    if (sources[k]?.length === 0 && Number.isFinite(first[k])) depth[k] = Math.max(0, (first[k] as number) - 1);
    (layers[depth[k] as number] ??= []).push(k);
  }
  const boxes = new Array<Box>(count);
  layers.forEach((layer, level) => {
    const middle = (k: number): number => {
      const of = (sources[k] ?? []).map((s) => boxes[s]?.x ?? 0);
      return of.length > 0 ? of.reduce((a, b) => a + b, 0) / of.length : 0;
    };
    const order = layer.map((k) => ({ k, at: middle(k) })).sort((a, b) => a.at - b.at || a.k - b.k);
    // As near to the middle of its sources as its neighbours allow.
    let least = -Infinity;
    const xs = order.map(({ at }) => { const x = Math.max(at, least); least = x + WIDE + ACROSS; return x; });
    const off = order.reduce((sum, { at }, i) => sum + (at - (xs[i] as number)), 0) / order.length;
    order.forEach(({ k }, i) => { boxes[k] = { x: (xs[i] as number) + off, y: level * (HIGH + DOWN) }; });
  });
  return boxes;
}

export class ModelGraph {
  readonly canvas = h('canvas', { id: 'model-canvas', tabindex: 0, role: 'application',
    'aria-label': 'Ops of the model. Arrow keys go from op to op in the order in which they run, Enter selects, plus and minus zoom, 0 shows all.' });
  private plan: Plan | null = null;
  private boxes: Box[] = [];
  /** Cycles of the longest op. */
  private longest = 1;
  private marks: Marks | null = null;
  private x = 0;
  private y = 0;
  private scale = 1;
  private frame = 0;
  private cursor = 0;
  private drag: { x: number; y: number; moved: number } | null = null;

  constructor(actions: Actions) {
    const { canvas } = this;
    new ResizeObserver(() => this.redraw()).observe(canvas);
    canvas.addEventListener('pointerdown', (event) => {
      this.drag = { x: event.clientX, y: event.clientY, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.drag) {
        const found = this.find(event);
        actions.hover(found.step, found.edge);
        return;
      }
      const [dx, dy] = [event.clientX - this.drag.x, event.clientY - this.drag.y];
      this.drag = { x: event.clientX, y: event.clientY, moved: this.drag.moved + Math.abs(dx) + Math.abs(dy) };
      this.x -= dx / this.scale;
      this.y -= dy / this.scale;
      this.redraw();
    });
    canvas.addEventListener('pointerup', (event) => {
      const moved = this.drag?.moved ?? 0;
      this.drag = null;
      if (moved > 4) return;
      const found = this.find(event);
      if (found.step !== null) this.cursor = found.step;
      actions.pick(found.step, found.edge);
    });
    canvas.addEventListener('pointercancel', () => { this.drag = null; });
    canvas.addEventListener('pointerleave', () => actions.hover(null, null));
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener('dblclick', () => this.fit());
    canvas.addEventListener('focus', () => this.redraw());
    canvas.addEventListener('blur', () => this.redraw());
    canvas.addEventListener('keydown', (event) => {
      const by = STEPS[event.key];
      if (by !== undefined) {
        const last = this.boxes.length - 1;
        this.cursor = Math.max(0, Math.min(last, this.cursor + by * (event.shiftKey ? 10 : 1)));
        this.reveal(this.cursor);
        actions.hover(this.cursor, null);
      } else if (event.key === 'Enter' || event.key === ' ') actions.pick(this.cursor, null);
      else if (event.key === '+' || event.key === '=') this.zoom(1.4);
      else if (event.key === '-') this.zoom(1 / 1.4);
      else if (event.key === '0') this.fit();
      else return;
      event.preventDefault();
    });
  }

  open(plan: Plan): void {
    this.plan = plan;
    this.boxes = placed(plan);
    this.longest = plan.file.ops.reduce((most, op) => Math.max(most, total(op)), 1);
    this.cursor = 0;
    this.fit();
  }

  mark(marks: Marks): void {
    this.marks = marks;
    this.redraw();
  }

  /** Brings an op into view. */
  reveal(step: number): void {
    const box = this.boxes[step];
    if (!box) return;
    this.cursor = step;
    const [w, t] = [this.canvas.clientWidth / this.scale, this.canvas.clientHeight / this.scale];
    if (box.x < this.x || box.x + WIDE > this.x + w) this.x = box.x + WIDE / 2 - w / 2;
    if (box.y < this.y || box.y + HIGH > this.y + t) this.y = box.y + HIGH / 2 - t / 2;
    this.redraw();
  }

  /** All of a small graph; of a large one the beginning, with names that can be read. */
  fit(): void {
    if (this.boxes.length === 0) return;
    const least = (of: number[]): number => of.reduce((a, b) => Math.min(a, b), Infinity);
    const left = least(this.boxes.map((b) => b.x));
    const right = WIDE - least(this.boxes.map((b) => -b.x));
    const bottom = HIGH - least(this.boxes.map((b) => -b.y));
    const [w, t] = [this.canvas.clientWidth || 600, this.canvas.clientHeight || 400];
    const whole = Math.min(w / (right - left + 40), t / (bottom + 40));
    this.scale = Math.max(0.55, Math.min(1.2, whole));
    this.x = (left + right) / 2 - w / this.scale / 2;
    this.y = whole < 0.55 ? -20 : bottom / 2 - t / this.scale / 2;
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      this.draw();
      performance.measure('model-redraw', { start });
    });
  }

  private zoom(by: number, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2): void {
    const scale = Math.max(0.02, Math.min(2.5, this.scale * by));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.redraw();
  }

  /** The ends of a line: below one box, above the other. */
  private ends(edge: Edge): [number, number, number, number] | null {
    const a = this.boxes[edge.from];
    const b = this.boxes[edge.to];
    return a && b ? [a.x + WIDE / 2, a.y + HIGH, b.x + WIDE / 2, b.y] : null;
  }

  private find(event: MouseEvent): { step: number | null; edge: Edge | null } {
    const rect = this.canvas.getBoundingClientRect();
    const x = this.x + (event.clientX - rect.left) / this.scale;
    const y = this.y + (event.clientY - rect.top) / this.scale;
    const step = this.boxes.findIndex((b) => x >= b.x && x <= b.x + WIDE && y >= b.y && y <= b.y + HIGH);
    if (step >= 0) return { step, edge: null };
    // Near a line: its height gives the point of its curve.
    const edge = (this.plan?.edges ?? []).find((e) => {
      const ends = this.ends(e);
      if (!ends || y < ends[1] || y > ends[3]) return false;
      const t = (y - ends[1]) / Math.max(1, ends[3] - ends[1]);
      const at = ends[0] + (ends[2] - ends[0]) * (3 * t * t - 2 * t * t * t);
      return Math.abs(at - x) < 8 / this.scale;
    });
    return { step: null, edge: edge ?? null };
  }

  draw(at = emptied(this.canvas)): void {
    const { plan, marks } = this;
    if (!plan || !marks) return;
    const [w, t] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const style = getComputedStyle(this.canvas);
    const colour = (name: string): string => style.getPropertyValue(`--${name}`);
    const [top, bottom] = [this.y, this.y + t / this.scale];
    const [left, right] = [this.x, this.x + w / this.scale];
    at.scale(this.scale, this.scale);
    at.translate(-this.x, -this.y);
    const words = this.scale > 0.4;
    const labels: (() => void)[] = [];
    for (const edge of plan.edges) {
      const ends = this.ends(edge);
      if (!ends || ends[3] < top || ends[1] > bottom || Math.max(ends[0], ends[2]) < left || Math.min(ends[0], ends[2]) > right) continue;
      const isMoved = marks.phases(edge.to).moves.some((m) => m.from === edge.value) ||
        marks.phases(edge.from).moves.some((m) => m.to === edge.value);
      const isChosen = marks.value === edge.value;
      at.strokeStyle = colour(isChosen ? 'accent' : isMoved ? 'move' : 'soft');
      at.lineWidth = isChosen ? 4 : isMoved ? 3 : 1.2;
      at.setLineDash(marks.changed.has(edge.value) ? [7, 4] : []);
      const middle = (ends[1] + ends[3]) / 2;
      at.beginPath();
      at.moveTo(ends[0], ends[1]);
      at.bezierCurveTo(ends[0], middle, ends[2], middle, ends[2], ends[3]);
      at.stroke();
      if (!words || ends[3] - ends[1] > 4 * (HIGH + DOWN)) continue;
      const text = `${isMoved ? '⇄ ' : ''}${layoutWords(marks.changed.get(edge.value) ?? plan.values.get(edge.value)?.layout ?? '')}`;
      labels.push(() => {
        const x = (ends[0] + ends[2]) / 2;
        at.font = '11px ui-monospace, "DejaVu Sans Mono", monospace';
        const wide = at.measureText(text).width + 8;
        at.fillStyle = colour('paper');
        at.fillRect(x - wide / 2, middle - 8, wide, 16);
        at.fillStyle = colour(isMoved ? 'move' : 'soft');
        at.textAlign = 'center';
        at.fillText(text, x, middle + 4);
      });
    }
    at.setLineDash([]);
    for (const label of labels) label();
    // Other layouts may make an op longer than any that was planned.
    const longest = this.boxes.reduce((most, _, k) => Math.max(most, total(marks.phases(k))), this.longest);
    this.boxes.forEach((box, k) => {
      if (box.y > bottom || box.y + HIGH < top || box.x > right || box.x + WIDE < left) return;
      const isChosen = marks.step === k;
      const phases = marks.phases(k);
      at.fillStyle = colour('card');
      at.strokeStyle = colour(isChosen ? 'accent' : 'rule');
      at.lineWidth = isChosen ? 3 : 1.2;
      at.beginPath();
      at.roundRect(box.x, box.y, WIDE, HIGH, 6);
      at.fill();
      at.stroke();
      // How long it takes, by phase, against the longest op.
      let x = box.x + 8;
      const parts: [number, string][] = [[phases.bring_cycles ?? 0, 'move'], [phases.compute_cycles ?? 0, 'accent'], [phases.settle_cycles ?? 0, 'settle']];
      for (const [cycles, name] of parts) {
        const wide = ((WIDE - 16) * cycles) / longest;
        at.fillStyle = colour(name);
        at.fillRect(x, box.y + HIGH - 9, wide, 4);
        x += wide;
      }
      if (!words) return;
      at.textAlign = 'left';
      at.fillStyle = colour('ink');
      at.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
      const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
      at.fillText(cut(plan.title(k), 24), box.x + 8, box.y + 16);
      at.fillStyle = colour('soft');
      at.font = '11px system-ui, "DejaVu Sans", sans-serif';
      at.fillText(cut(phases.divided, 28), box.x + 8, box.y + 31);
    });
    if (document.activeElement === this.canvas && this.canvas.matches(':focus-visible')) {
      const box = this.boxes[this.cursor];
      at.strokeStyle = colour('mark');
      at.setLineDash([4, 3]);
      at.lineWidth = 2;
      if (box) at.strokeRect(box.x - 5, box.y - 5, WIDE + 10, HIGH + 10);
      at.setLineDash([]);
    }
  }
}
