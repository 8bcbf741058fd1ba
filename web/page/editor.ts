// SPDX-License-Identifier: Apache-2.0
// The field for the text of a tensor: completion of notations and element types, and errors with a caret
// under the place that they mean.
import type { Fault } from './core';
import { fill, h } from './dom';

const TYPES = ['f32', 'f16', 'bf16', 'f64', 'f8e4m3fn', 'f8e5m2', 'bfp_bf8', 'i64', 'i32', 'i16', 'i8', 'u8', 'i1'];
const NOTATIONS: [string, string][] = [
  ['strided<[64, 1]>', 'strides in elements'],
  ['pyflame.Grid(2, 2)', 'blocks on a grid'],
  ['pyflame.SinglePE()', 'one processor'],
  ['dtensor<mesh=[2, 2], [Shard(0), Shard(1)]>', 'PyTorch DTensor'],
  ['gspmd{devices=[2,2]<=[4]}', 'XLA sharding'],
  ['xla{1,0:T(8,128)}', 'XLA layout with tiles'],
  ['cute<(64,64):(64,1)>', 'CuTe shape and stride'],
  ['onednn.AB32a32b', 'oneDNN blocked'],
  ['morello[(0, Dynamic), (1, Dynamic), (1, Packed(32))]', 'Morello'],
  ['morello.row_major()', 'Morello'],
  ['spyre<device_size=[64, 64], dim_map=[0, 1]>', 'Spyre sticks'],
  ['ttnn<stride=[4096, 64, 1], shard_shape=[32, 32]>', 'TTNN terms'],
  ['#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>', 'TTNN attribute'],
  ['#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x2>, memref<32x32xf16, #tt.memory_space<l1>>>', 'tt-mlir'],
  ['native<mesh=[2, 2], {d0} / (32 -> m0, 1 -> mem*32), {d1} / (32 -> m1, 1 -> mem)>', 'folds and cuts'],
];

interface Option { insert: string; words: string; from: number; to: number }

function completions(text: string, caret: number): Option[] {
  const before = text.slice(0, caret);
  if (before.trim() === '' && text.trim() === '') {
    return [{ insert: 'tensor<64x64xf32, ', words: 'a tensor', from: 0, to: caret }];
  }
  const type = /^\s*tensor<(?:\d+x)*([a-z]\w*)?$/.exec(before);
  if (type && /x[a-z]?\w*$/.test(before)) {
    const typed = type[1] ?? '';
    return TYPES.filter((t) => t.startsWith(typed) && t !== typed).map((t) => ({
      insert: t, words: 'element type', from: caret - typed.length, to: caret }));
  }
  const notation = /^\s*tensor<[^,]*,\s*([#\w.]*)$/.exec(before);
  if (notation) {
    const typed = notation[1] ?? '';
    const end = text.slice(caret).trim() === '' ? '>' : '';
    return NOTATIONS.filter(([n]) => n.startsWith(typed) || (typed !== '' && n.includes(typed)))
      .map(([n, words]) => ({ insert: n + end, words, from: caret - typed.length, to: caret }));
  }
  return [];
}

/** The line of the text with the error, with carets below it, and what would be right. */
export function faultView(fault: Fault, text: string): HTMLElement {
  const parts: (Node | string)[] = [];
  if (fault.span) {
    const bytes = new TextEncoder().encode(text);
    const decode = (from: number, to: number): string => new TextDecoder().decode(bytes.slice(from, to));
    const before = decode(0, fault.span[0]);
    const start = before.lastIndexOf('\n') + 1;
    const lead = before.slice(start);
    const inside = decode(fault.span[0], fault.span[1]).split('\n')[0] ?? '';
    const rest = (text.slice(before.length).split('\n')[0] ?? '');
    const shown = lead.slice(-60);
    const dots = lead.length > 60 ? '.. ' : '';
    parts.push(h('pre', {}, `${dots}${shown}${rest.slice(0, 100)}\n${' '.repeat([...(dots + shown)].length)}${
      '^'.repeat(Math.max(1, Math.min(60, [...inside].length)))}`));
  }
  parts.push(h('div', {}, h('b', {}, fault.code.replaceAll('_', ' ')), ': ', fault.message));
  if (fault.help) parts.push(h('div', { class: 'help' }, fault.help));
  const view = h('div', { class: 'fault', role: 'alert', tabindex: 0 });
  fill(view, ...parts);
  return view;
}

export class Editor {
  readonly element: HTMLElement;
  readonly field: HTMLTextAreaElement;
  private readonly list: HTMLUListElement;
  private readonly below = h('div');
  private options: Option[] = [];
  private chosen = 0;
  private timer = 0;

  constructor(id: string, label: string, private readonly changed: (text: string) => void) {
    this.field = h('textarea', {
      id, rows: 4, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-autocomplete': 'list',
      'aria-controls': `${id}-options`, 'aria-haspopup': 'listbox',
    });
    this.list = h('ul', { id: `${id}-options`, class: 'options', role: 'listbox', 'aria-label': 'Completions', hidden: true });
    this.element = h('div', { class: 'picker' }, h('label', { for: id }, label), this.field, this.list, this.below);
    this.field.addEventListener('input', () => {
      this.offer();
      this.later();
    });
    this.field.addEventListener('keydown', (event) => this.key(event));
    this.field.addEventListener('blur', () => setTimeout(() => this.close(), 150));
  }

  get text(): string { return this.field.value.trim(); }

  set(text: string): void {
    this.field.value = text;
    this.close();
  }

  /** The error below the field; null for none. */
  report(fault: Fault | null): void {
    this.field.setAttribute('aria-invalid', String(fault !== null));
    fill(this.below, fault && faultView(fault, this.text));
  }

  private later(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.changed(this.text), 120);
  }

  private offer(): void {
    this.options = completions(this.field.value, this.field.selectionStart).slice(0, 15);
    this.chosen = 0;
    this.show();
  }

  private show(): void {
    const open = this.options.length > 0;
    this.list.hidden = !open;
    fill(this.list, ...this.options.map((option, i) => h('li', {
      id: `${this.field.id}-option-${i}`, role: 'option', 'aria-selected': String(i === this.chosen),
      onmousedown: (event: Event) => { event.preventDefault(); this.take(option); },
    }, h('code', {}, option.insert.length > 70 ? `${option.insert.slice(0, 68)}..` : option.insert),
    h('span', { class: 'help' }, option.words))));
    if (open) this.field.setAttribute('aria-activedescendant', `${this.field.id}-option-${this.chosen}`);
    else this.field.removeAttribute('aria-activedescendant');
    this.list.children[this.chosen]?.scrollIntoView({ block: 'nearest' });
  }

  private close(): void {
    this.options = [];
    this.show();
  }

  private take(option: Option): void {
    this.field.setRangeText(option.insert, option.from, option.to, 'end');
    this.close();
    this.later();
  }

  private key(event: KeyboardEvent): void {
    if (event.key === ' ' && event.ctrlKey) {
      event.preventDefault();
      this.offer();
    }
    const option = this.options[this.chosen];
    if (!option) return;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const by = event.key === 'ArrowDown' ? 1 : this.options.length - 1;
      this.chosen = (this.chosen + by) % this.options.length;
      this.show();
    } else if (event.key === 'Tab' || event.key === 'Enter') this.take(option);
    else if (event.key === 'Escape') this.close();
    else return;
    event.preventDefault();
  }
}
