// SPDX-License-Identifier: Apache-2.0
// Model: a plan of `tessera plan`. Its graph with layouts on the lines, the time of each op, memory over time,
// and the choices with their runners-up. Other layouts are priced by the module, and exported as pins.
import type { Theme } from './colours';
import type { Core, Fault, Json } from './core';
import { fill, h, number } from './dom';
import { Editor } from './editor';
import { save } from './export';
import example from './example_plan.json';
import { MemoryChart, TimeChart } from './model_charts';
import { ModelGraph } from './model_graph';
import { layoutWords, Plan, total, type Edge, type Phases, type PlannedOp, type Repriced } from './plan';
import type { Answers, Drawing, State, View } from './view';

/** Rows of the table at once; the others follow on request. */
const MOST_ROWS = 400;

export class Model implements View {
  readonly element: HTMLElement;
  answers: Answers = {};
  private readonly graph: ModelGraph;
  private readonly time: TimeChart;
  private readonly memory: MemoryChart;
  private readonly summary = h('section', { class: 'card', 'aria-label': 'Result', 'aria-live': 'polite' });
  private readonly detail = h('section', { class: 'card', 'aria-label': 'Selection' });
  private readonly choices = h('div', { class: 'scroll choices', tabindex: 0, role: 'region', 'aria-label': 'Ops and their choices' });
  private readonly tip = h('div', { class: 'tip', 'aria-live': 'polite' });
  private readonly space = h('select', { id: 'space', 'aria-label': 'Memory' });
  private readonly divide = h('input', { id: 'divide', type: 'checkbox' });
  private readonly trouble = h('div');
  private readonly editor: Editor;
  private readonly editing = h('div', { id: 'editing' });

  private plan: Plan | null = null;
  private step: number | null = null;
  private value: string | null = null;
  /** Other layouts, by value. */
  private readonly pins = new Map<string, string>();
  private repriced: Repriced | null = null;
  private fault: Fault | null = null;
  private rows = MOST_ROWS;
  private run = 0;

  /** `given`: the plan of the file, which is too long for an address. */
  constructor(private readonly core: Core, private readonly changed: () => void, private readonly given?: string) {
    this.graph = new ModelGraph({
      hover: (step, edge) => this.hover(step, edge),
      pick: (step, edge) => { if (step !== null) this.select(step); else if (edge) this.selectValue(edge.value); },
    });
    this.time = new TimeChart((step) => this.hover(step, null), (step) => this.select(step, true));
    this.memory = new MemoryChart((words, step) => { if (words) this.tip.textContent = words; else this.hover(step, null); });
    this.editor = new Editor('value-layout', 'Layout of the value, in any notation', (text) => this.pin(text));
    this.space.addEventListener('change', () => this.draw());
    this.divide.addEventListener('change', () => void this.price());
    const load = h('input', { id: 'open-plan', type: 'file', accept: '.json,application/json', 'aria-label': 'Open a plan', onchange: async () => {
      const file = load.files?.[0];
      if (file) this.open(await file.text());
    } });
    const panel = (title: string, more: (Node | string)[], ...inside: HTMLElement[]): HTMLElement =>
      h('section', { class: 'card panel', 'aria-label': title }, h('div', { class: 'row spread' }, h('h2', {}, title), ...more), ...inside);
    const key = (name: string, words: string): HTMLElement => h('li', {}, h('span', { class: `swatch ${name}` }), words);
    const graph = panel('Graph', [h('ul', { class: 'legend' }, key('move', 'brings: moves'), key('compute', 'computes'), key('settle', 'settles'))], this.graph.canvas);
    graph.classList.add('tall');
    this.element = h('div', { class: 'columns' },
      h('div', { class: 'side' },
        h('section', { class: 'card', 'aria-label': 'Plan' }, h('div', { class: 'row spread' }, h('h2', {}, 'Plan'), load),
          h('p', { class: 'help' }, 'a file of ', h('code', {}, 'tessera plan --out')), this.trouble),
        this.summary, this.detail, this.editing),
      h('div', { class: 'views model' },
        h('section', { class: 'card readout', 'aria-label': 'What the pointer is on' }, this.tip),
        graph,
        panel('Time', [], this.time.canvas),
        panel('Memory over time', [this.space], this.memory.canvas),
        panel('Choices', [], this.choices)));
  }

  state(): State {
    return { o: this.step === null ? undefined : String(this.step), w: this.value ?? undefined,
      pins: this.pins.size > 0 ? this.pinLines() : undefined };
  }

  async restore(state: State): Promise<void> {
    if (state.plan !== undefined || !this.plan) this.open(state.plan ?? this.given ?? JSON.stringify(example));
    const { plan } = this;
    if (!plan) return;
    for (const line of (state.pins ?? '').split('\n')) {
      const colon = line.indexOf(': ');
      if (colon > 0 && plan.values.has(line.slice(0, colon))) this.pins.set(line.slice(0, colon), line.slice(colon + 2));
    }
    const step = Number(state.o ?? NaN);
    if (Number.isInteger(step) && step >= 0 && step < plan.file.ops.length) this.select(step, true);
    if (state.w !== undefined && plan.values.has(state.w)) this.selectValue(state.w);
    if (this.pins.size > 0) await this.price();
  }

  repaint(_theme: Theme): void {
    this.graph.redraw();
    this.draw();
  }

  pictures(): Drawing[] {
    return Object.entries({ Graph: this.graph, Time: this.time, 'Memory over time': this.memory })
      .map(([title, picture]) => ({ title, canvas: picture.canvas, draw: (at) => picture.draw(at) }));
  }

  title(): string { return `${this.plan?.file.model.name || 'model'} on ${this.plan?.file.target.name ?? ''}`; }

  private open(text: string): void {
    const plan = Plan.read(text);
    if (typeof plan === 'string') {
      fill(this.trouble, h('div', { class: 'fault', role: 'alert', tabindex: 0 }, plan));
      return;
    }
    fill(this.trouble);
    this.plan = plan;
    this.step = null;
    this.value = null;
    this.pins.clear();
    this.repriced = null;
    this.fault = null;
    this.rows = MOST_ROWS;
    fill(this.editing);
    fill(this.space, ...plan.spaces.map((space) => h('option', { value: space }, space)));
    this.answers = { plan: plan.file };
    this.tip.textContent = 'Point at an op, a value or a moment; click to keep it.';
    this.graph.open(plan);
    this.showAll();
    this.changed();
  }

  /** An op as it is with the other layouts. */
  private phases(step: number): Phases {
    const { plan, repriced } = this;
    return repriced?.ops.find((op) => op.step === step) ?? plan?.file.ops[step] as PlannedOp;
  }

  private hover(step: number | null, edge: Edge | null): void {
    const { plan } = this;
    if (!plan) return;
    if (step !== null) {
      const p = this.phases(step);
      this.tip.textContent = `${plan.title(step)}: ${plan.time(total(p))}; ${p.divided}; bring ${plan.time(p.bring_cycles)}, compute ${
        plan.time(p.compute_cycles)}, settle ${plan.time(p.settle_cycles)}`;
    } else if (edge) {
      const value = plan.values.get(edge.value);
      const words = layoutWords(this.pins.get(edge.value) ?? value?.layout ?? '');
      this.tip.textContent = `${edge.value} ${value?.type ?? ''}: ${words}; from ${plan.title(edge.from)} to ${plan.title(edge.to)}`;
    }
  }

  private select(step: number, reveals = false): void {
    this.step = step;
    this.value = null;
    fill(this.editing);
    if (reveals) this.graph.reveal(step);
    this.showDetail();
    this.draw();
    this.markRow();
    this.changed();
  }

  /** A value, with a field for another layout. */
  private selectValue(name: string): void {
    const value = this.plan?.values.get(name);
    if (!value) return;
    this.value = name;
    const text = this.pins.get(name) ?? value.layout;
    fill(this.editing, h('section', { class: 'card', 'aria-label': 'Layout of a value' },
      h('h2', {}, name, ' ', h('span', { class: 'note' }, value.type)),
      this.editor.element, h('p', { class: 'help' }, 'Another layout is priced at once. The work of ops stays as planned, unless it is divided anew.')));
    this.editor.set(text);
    this.editor.report(null);
    this.draw();
    this.changed();
  }

  private pin(text: string): void {
    const { plan, value } = this;
    if (!plan || value === null) return;
    if (text === '' || text === plan.values.get(value)?.layout) this.pins.delete(value);
    else this.pins.set(value, text.replace(/\s*\n\s*/g, ' '));
    void this.price();
  }

  private pinLines(): string { return [...this.pins].map(([name, layout]) => `${name}: ${layout}`).join('\n'); }

  /** Asks what the plan takes with the other layouts. */
  private async price(): Promise<void> {
    const run = ++this.run;
    const { plan } = this;
    if (!plan) return;
    this.fault = null;
    if (this.pins.size === 0) {
      this.repriced = null;
      this.editor.report(null);
      this.showAll();
      this.changed();
      return;
    }
    const more: Json = this.divide.checked ? { divide: true } : {};
    const reply = await this.core.ask<Repriced & Json>('price', { plan: '-', layout: this.pinLines().split('\n'), ...more }, 'price', plan.text);
    if (run !== this.run || reply.fault?.code === 'cancelled') return;
    this.repriced = reply.value ?? null;
    this.fault = reply.fault ?? null;
    this.answers.price = reply.value ?? { error: reply.fault };
    // The message names the value; there is no span of this field's text.
    this.editor.report(this.fault && this.value !== null && this.pins.has(this.value) ? this.fault : null);
    this.showAll();
    this.changed();
  }

  private showAll(): void {
    this.showSummary();
    this.showDetail();
    this.showChoices();
    this.draw();
  }

  private showSummary(): void {
    const { plan, repriced, fault } = this;
    if (!plan) return;
    const { file } = plan;
    const row = (name: string, value: string | null): HTMLElement[] => (value === null ? [] : [h('dt', {}, name), h('dd', {}, value)]);
    const cycles = (value: number): string => `${number(Math.round(value))} cycles`;
    const gain = repriced && repriced.cycles !== null ? repriced.cycles - file.cycles : null;
    const moves = file.ops.reduce((sum, _, k) => sum + this.phases(k).moves.length, 0);
    fill(this.summary,
      h('div', { class: 'big' }, plan.time(repriced ? repriced.cycles : file.cycles)),
      repriced && h('p', { class: gain !== null && gain <= 0 ? 'good' : 'warn', id: 'difference' },
        gain === null ? 'The machine lacks a figure for it.' : gain === 0 ? 'as planned' :
          `${gain > 0 ? 'slower' : 'faster'} than planned by ${plan.time(Math.abs(gain))} (${((100 * Math.abs(gain)) / Math.max(1, file.cycles)).toPrecision(3)} %)`),
      fault && h('p', { class: 'bad', role: 'alert' }, fault.code === 'does_not_fit' ? 'Does not fit: ' : '', fault.message),
      h('dl', {},
        ...row('model', `${file.model.name || 'unnamed'}, ${number(file.ops.length)} ops on ${file.target.name}`),
        ...row('planned', `${plan.time(file.cycles)} = ${cycles(file.cycles)}`),
        ...row('lower bound', plan.time(file.lower_bound_cycles)),
        ...row('moves', number(moves))),
      h('h3', {}, 'Simpler ways of planning would take'),
      h('dl', {}, ...Object.entries(file.baseline_cycles ?? {}).flatMap(([name, value]) => row(name.replaceAll('_', ' '), value === null ? 'does not run' : plan.time(value)))),
      ...(file.assumed ?? []).map((text) => h('p', { class: 'help' }, `assumed: ${text}`)),
      this.pins.size > 0 && h('h2', {}, 'Other layouts'),
      this.pins.size > 0 && h('ul', { class: 'pins' }, ...[...this.pins].map(([name, layout]) => h('li', {},
        h('code', {}, `${name}: ${layoutWords(layout)}`),
        h('button', { class: 'small', 'aria-label': `Back to the planned layout of ${name}`, onclick: () => {
          this.pins.delete(name);
          if (this.value === name) this.selectValue(name);
          void this.price();
        } }, 'Undo')))),
      this.pins.size > 0 && h('div', { class: 'row' }, h('label', { for: 'divide' }, this.divide, ' divide the work of their ops anew')),
      h('div', { class: 'row' }, h('button', { id: 'pins', onclick: () => this.exportPins() },
        this.pins.size > 0 ? 'Export these pins' : 'Export all layouts as pins')));
  }

  /** Lines for `tessera plan --pins`: the other layouts, or without any those of the plan. */
  private exportPins(): void {
    const lines = this.pins.size > 0 ? this.pinLines() :
      [...(this.plan?.values.values() ?? [])].map(({ name, layout }) => `${name}: ${layout}`).join('\n');
    save('pins.txt', new Blob([`${lines}\n`], { type: 'text/plain' }));
  }

  private showDetail(): void {
    const { plan, step } = this;
    if (!plan) return;
    if (step === null) {
      fill(this.detail, h('h2', {}, 'Selection'), h('p', { class: 'help' }, 'Select an op to see its moves, its runner-up and its values.'));
      return;
    }
    const planned = plan.file.ops[step] as PlannedOp;
    const now = this.phases(step);
    const value = (name: string): HTMLElement => {
      const layout = this.pins.get(name) ?? plan.values.get(name)?.layout ?? '';
      return h('li', {}, h('button', { class: 'small', 'data-value': name, onclick: () => this.selectValue(name) }, name),
        ' ', h('span', { class: 'note' }, plan.values.get(name)?.type ?? '', ' '), h('code', {}, layoutWords(layout)));
    };
    fill(this.detail, h('h2', {}, plan.title(step)),
      h('dl', {}, h('dt', {}, 'work'), h('dd', {}, now.divided),
        h('dt', {}, 'time'), h('dd', {}, plan.time(total(now)), now === planned ? '' : `, planned ${plan.time(total(planned))}`),
        h('dt', {}, 'instead'), h('dd', {}, planned.runner_up ? `${planned.runner_up.work}: ${plan.time(Math.max(0, planned.runner_up.more_cycles))} more` : 'there is no other division')),
      h('h3', {}, 'Reads'), h('ul', { class: 'pins' }, ...(plan.reads[step] ?? []).map(value)),
      h('h3', {}, 'Makes'), h('ul', { class: 'pins' }, ...(plan.makes[step] ?? []).map(value)),
      now.moves.length > 0 && h('h3', {}, 'Moves'),
      now.moves.length > 0 && h('ul', { class: 'pins moves' }, ...now.moves.map((m) =>
        h('li', {}, h('code', {}, `${m.from} → ${m.to}`), ` ${m.algorithm}, ${plan.time(m.cycles)}`))));
  }

  private showChoices(): void {
    const { plan } = this;
    if (!plan) return;
    const { ops } = plan.file;
    const some = ops.slice(0, this.rows);
    fill(this.choices,
      h('table', {}, h('thead', {}, h('tr', {}, ...['op', 'time', 'moves', 'work', 'runner-up'].map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, ...some.map((op, k) => {
          const p = this.phases(k);
          return h('tr', { 'data-step': k, 'aria-current': k === this.step ? 'true' : undefined },
            h('td', {}, h('button', { class: 'small link', onclick: () => this.select(k, true) }, plan.title(k))),
            h('td', { class: 'num' }, plan.time(total(p))), h('td', { class: 'num' }, p.moves.length || ''), h('td', {}, p.divided),
            h('td', {}, op.runner_up ? `${op.runner_up.work}, +${plan.time(Math.max(0, op.runner_up.more_cycles))}` : ''));
        }))),
      ops.length > this.rows && h('button', { class: 'small', onclick: () => { this.rows += MOST_ROWS; this.showChoices(); } },
        `${number(ops.length - this.rows)} more`));
  }

  private markRow(): void {
    for (const row of this.choices.querySelectorAll('tr[aria-current]')) row.removeAttribute('aria-current');
    this.choices.querySelector(`tr[data-step="${this.step}"]`)?.setAttribute('aria-current', 'true');
  }

  private draw(): void {
    const { plan } = this;
    if (!plan) return;
    const changed = new Map(this.repriced?.ops.map((op) => [op.step, op as Phases]));
    const phases = (step: number): Phases => changed.get(step) ?? plan.file.ops[step] as PlannedOp;
    this.graph.mark({ step: this.step, value: this.value, changed: this.pins, phases });
    this.time.show(plan, phases, this.step);
    this.memory.show(plan, this.repriced?.buffers ?? plan.file.buffers, this.space.value || (plan.spaces[0] ?? ''));
  }
}
