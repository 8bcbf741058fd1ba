// SPDX-License-Identifier: Apache-2.0
// Trace: a timeline of `tessera run --trace` or `tessera reshard --trace`, in Chrome's trace event format: what
// each class of places does, or which messages each place sends and receives. One microsecond is one cycle.
import type { Theme } from './colours';
import { fill, h, number } from './dom';
import { Timeline } from './timeline';
import type { Answers, Drawing, State, View } from './view';

export interface Slice { name: string; from: number; length: number; track: number; args: [string, string][] }
export interface Track { name: string; slices: Slice[]; busy: number }

/** What a trace holds: tracks in the order of their numbers, and when the last slice ends. */
export class Trace {
  private constructor(readonly title: string, readonly tracks: Track[], readonly end: number) {}

  get slices(): number { return this.tracks.reduce((sum, track) => sum + track.slices.length, 0); }

  /** Reads a file; says what is wrong with one that is none. */
  static read(text: string): Trace | string {
    let file: { traceEvents?: unknown; otherData?: { title?: unknown } };
    try {
      file = JSON.parse(text) as typeof file;
    } catch {
      return 'This is no JSON. Open a file that tessera run --trace or tessera reshard --trace wrote.';
    }
    if (!Array.isArray(file?.traceEvents)) {
      return 'This is no trace. Open a file that tessera run --trace or tessera reshard --trace wrote.';
    }
    type Event = { ph?: unknown; name?: unknown; pid?: unknown; tid?: unknown; ts?: unknown; dur?: unknown; args?: unknown };
    const processes = new Map<unknown, string>();
    const threads = new Map<string, string>();
    const found = new Map<string, { pid: number; tid: number; slices: Slice[] }>();
    for (const event of file.traceEvents as (Event | null)[]) {
      if (event === null || typeof event !== 'object') continue;
      const [pid, tid] = [Number(event.pid ?? 0), Number(event.tid ?? 0)];
      const key = `${pid} ${tid}`;
      const args = (typeof event.args === 'object' ? event.args ?? {} : {}) as Record<string, unknown>;
      if (event.ph === 'M' && event.name === 'process_name') processes.set(pid, String(args.name ?? pid));
      if (event.ph === 'M' && event.name === 'thread_name') threads.set(key, String(args.name ?? tid));
      const [at, length] = [Number(event.ts), Number(event.dur)];
      if (event.ph !== 'X' || !Number.isFinite(at) || !Number.isFinite(length) || length < 0) continue;
      const track = found.get(key) ?? { pid, tid, slices: [] };
      found.set(key, track);
      track.slices.push({ name: String(event.name ?? ''), from: at, length, track: 0,
        args: Object.entries(args).map(([name, value]) => [name, typeof value === 'number' ? number(value) : typeof value === 'string' ? value : JSON.stringify(value)]) });
    }
    const tracks = [...found.values()].sort((a, b) => a.pid - b.pid || a.tid - b.tid).map(({ pid, tid, slices }, at) => {
      slices.sort((a, b) => a.from - b.from || b.length - a.length);
      for (const slice of slices) slice.track = at;
      const name = [processes.get(pid), threads.get(`${pid} ${tid}`) ?? (processes.has(pid) ? '' : `${pid}.${tid}`)].filter(Boolean).join(' ');
      return { name, slices, busy: slices.reduce((sum, slice) => sum + slice.length, 0) };
    });
    if (tracks.length === 0) return 'The trace has no slices with a time and a duration.';
    const end = tracks.reduce((most, { slices }) => slices.reduce((late, s) => Math.max(late, s.from + s.length), most), 0);
    return new Trace(typeof file.otherData?.title === 'string' ? file.otherData.title : '', tracks, end);
  }
}

const MOST_LISTED = 12;
const cycles = (value: number): string => `${number(Math.round(value * 100) / 100)} cycles`;

export class TraceView implements View {
  readonly element: HTMLElement;
  answers: Answers = {};
  private readonly timeline: Timeline;
  private readonly summary = h('section', { class: 'card', 'aria-label': 'Result', 'aria-live': 'polite' });
  private readonly detail = h('section', { class: 'card', 'aria-label': 'Selection', 'aria-live': 'polite' });
  private readonly trouble = h('div');
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private trace: Trace | null = null;
  private chosen: Slice | null = null;

  /** `given`: the trace of the file, which is too long for an address; `example`: what is shown without one. */
  constructor(private readonly changed: () => void, private readonly given: string | undefined, private readonly example: string) {
    this.timeline = new Timeline({
      hover: (slice) => { this.tip.textContent = slice ? this.words(slice) : this.chosen ? this.words(this.chosen) : ''; },
      pick: (slice) => this.select(slice),
    });
    const load = h('input', { id: 'open-trace', type: 'file', accept: '.json,application/json', 'aria-label': 'Open a trace', onchange: async () => {
      const file = load.files?.[0];
      if (file) this.open(await file.text());
    } });
    this.element = h('div', { class: 'columns' },
      h('div', { class: 'side' },
        h('section', { class: 'card', 'aria-label': 'Trace' }, h('div', { class: 'row spread' }, h('h2', {}, 'Trace'), load),
          h('p', { class: 'help' }, 'a file of ', h('code', {}, 'tessera run --trace'), ' or ', h('code', {}, 'tessera reshard --trace')), this.trouble),
        this.summary, this.detail),
      h('div', { class: 'views' },
        h('section', { class: 'card readout', 'aria-label': 'What the pointer is on' }, this.tip),
        h('section', { class: 'card panel tall wide', 'aria-label': 'Timeline' },
          h('div', { class: 'row spread' }, h('h2', {}, 'Timeline'), h('span', { class: 'note' }, 'time in cycles; drag to move, wheel to zoom')), this.timeline.canvas)));
  }

  state(): State { return { s: this.chosen && this.trace ? `${this.chosen.track}.${this.trace.tracks[this.chosen.track]?.slices.indexOf(this.chosen)}` : undefined }; }

  async restore(state: State): Promise<void> {
    if (state.trace !== undefined || !this.trace) this.open(state.trace ?? this.given ?? this.example);
    const [track, at] = (state.s ?? '').split('.').map(Number);
    const slice = this.trace?.tracks[track ?? -1]?.slices[at ?? -1];
    if (slice) this.select(slice, true);
  }

  repaint(_theme: Theme): void { this.timeline.redraw(); }
  pictures(): Drawing[] { return [{ title: 'Timeline', canvas: this.timeline.canvas, draw: (at) => this.timeline.draw(at) }]; }
  title(): string { return this.trace?.title || 'trace'; }

  private open(text: string): void {
    const trace = Trace.read(text);
    if (typeof trace === 'string') {
      fill(this.trouble, h('div', { class: 'fault', role: 'alert', tabindex: 0 }, trace));
      return;
    }
    fill(this.trouble);
    this.trace = trace;
    this.chosen = null;
    this.timeline.open(trace);
    this.answers = { tracks: trace.tracks.map(({ name, slices, busy }) => ({ name, slices: slices.length, busy_cycles: busy })), cycles: trace.end };
    this.showSummary();
    this.showDetail();
    this.tip.textContent = 'Point at a slice; click to keep it.';
    this.changed();
  }

  private words(slice: Slice): string {
    return `${this.trace?.tracks[slice.track]?.name}: ${slice.name}, ${cycles(slice.length)} from ${number(slice.from)}`;
  }

  private select(slice: Slice | null, reveals = false): void {
    this.chosen = slice;
    this.timeline.choose(slice, reveals);
    if (slice) this.tip.textContent = this.words(slice);
    this.showDetail();
    this.changed();
  }

  private showSummary(): void {
    const { trace } = this;
    if (!trace) return;
    const busiest = [...trace.tracks].sort((a, b) => b.busy - a.busy).slice(0, MOST_LISTED);
    fill(this.summary, h('div', { class: 'big' }, cycles(trace.end)),
      trace.title !== '' && h('p', { class: 'help' }, trace.title),
      h('dl', {}, h('dt', {}, 'tracks'), h('dd', {}, number(trace.tracks.length)), h('dt', {}, 'slices'), h('dd', {}, number(trace.slices))),
      h('h3', {}, trace.tracks.length > MOST_LISTED ? `The ${MOST_LISTED} busiest tracks` : 'How busy each track is'),
      h('table', {}, h('tbody', {}, ...busiest.map(({ name, busy }) => h('tr', {}, h('td', {}, name),
        h('td', { class: 'num' }, cycles(busy)), h('td', { class: 'num' }, `${((100 * busy) / Math.max(1e-9, trace.end)).toFixed(0)} %`))))));
  }

  private showDetail(): void {
    const { chosen } = this;
    fill(this.detail, ...(!chosen ? [h('h2', {}, 'Selection'), h('p', { class: 'help' }, 'Select a slice to see what it moves or computes.')] : [
      h('h2', {}, chosen.name),
      h('dl', {}, ...[['track', this.trace?.tracks[chosen.track]?.name ?? ''], ['from', cycles(chosen.from)], ['takes', cycles(chosen.length)], ...chosen.args]
        .flatMap(([name, value]) => [h('dt', {}, (name ?? '').replaceAll('_', ' ')), h('dd', {}, value)]))]));
  }
}
