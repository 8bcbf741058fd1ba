// SPDX-License-Identifier: Apache-2.0
// The numbers of a tensor: sizes, padding by cause, copies, warnings; and its text in every notation.
import { CAUSES, causeColour, css, type Theme } from './colours';
import type { Core, Json } from './core';
import { bytes, fill, h, number } from './dom';
import type { Shown } from './tensor';

const NOTATIONS = ['native', 'strided', 'pyflame', 'spyre', 'metal', 'metal-today', 'ttnn', 'morello',
  'xla', 'onednn', 'cute', 'gspmd', 'dtensor'];

const fact = (name: string, value: string): HTMLElement[] => [h('dt', {}, name), h('dd', {}, value)];
const swatch = (colour: string, letter: string): HTMLElement =>
  h('span', { class: 'swatch', colour, 'aria-hidden': 'true' }, letter);

export function showFacts(card: Element, shown: Shown, theme: Theme): void {
  const all = shown.allocated_bytes;
  const slots = shown.slots * shown.places;
  const parts: [string, number, string][] = [];
  const padding = shown.padding ?? {};
  const sum = Object.values(padding).reduce((a, b) => a + b, 0);
  parts.push(['data', slots - sum, 'data']);
  for (const [cause, count] of Object.entries(padding)) parts.push([cause, count, CAUSES[cause]?.words ?? '']);
  const share = (n: number): string => `${((100 * n) / Math.max(1, slots)).toPrecision(3)} %`;
  const colour = (name: string): string => (name === 'data' ? 'var(--accent)' : css(causeColour(name, theme)));
  fill(card,
    h('div', { class: 'row spread' }, h('h2', {}, `${shown.shape.join('×') || 'scalar'} of ${shown.dtype}`),
      h('span', { class: 'note mono' }, shown.notation)),
    h('div', { class: 'bar', role: 'img', 'aria-label': `padding: ${share(sum)}` },
      ...parts.map(([name, n]) => h('span', { colour: colour(name), 'width%': (100 * n) / Math.max(1, slots), title: `${name}: ${number(n)}` }))),
    h('ul', { class: 'legend' }, ...parts.map(([name, n, words]) => h('li', { title: words },
      swatch(colour(name), CAUSES[name]?.letter ?? ''), `${name} ${number(n)} `, h('span', { class: 'help' }, share(n))))),
    h('dl', {},
      ...fact('per place', `${number(shown.slots)} slots, ${bytes(shown.shard_bytes)}`),
      ...fact('all places', bytes(all)),
      ...fact('data alone', bytes(shown.logical_bytes)),
      ...(shown.tile ? fact('tile', `${shown.tile.join('×')} of ${shown.storage_dtype}`) :
        shown.storage_dtype === shown.dtype ? [] : fact('stored as', shown.storage_dtype)),
      ...fact('shard', shown.shard_shape.join('×') || '1'),
      ...(shown.memory_space ? fact('memory', shown.memory_space) : []),
      ...shown.fill.filter((f) => f.kind !== 'fixed' && f.count > 1).flatMap((f) =>
        fact(f.kind === 'partial' ? 'partial' : 'copies', `${f.count} along mesh axis ${f.axis}${f.reduction ? ` (${f.reduction})` : ''}`))),
    ...shown.warnings.map((w) => h('p', { class: 'warn' }, `${w.code.replaceAll('_', ' ')}: ${w.message}`)));
}

/** The causes of padding that a tensor has, with their colours and letters. */
export function showCauses(legend: HTMLElement, shown: Shown | null, theme: Theme): void {
  const causes = Object.keys(shown?.padding ?? {});
  fill(legend, ...causes.map((cause) => h('li', {},
    swatch(css(causeColour(cause, theme)), CAUSES[cause]?.letter ?? ''), cause)));
  legend.hidden = causes.length === 0;
}

/** A tensor in every notation, or why a notation cannot express it. */
export class Conversions {
  readonly element = h('ul', { class: 'notations' });
  private run = 0;

  constructor(private readonly core: Core, private readonly open: (text: string) => void) {}

  /** The answers by notation; null when another tensor came in the meantime. */
  async convert(text: string): Promise<Record<string, unknown> | null> {
    const run = ++this.run;
    const rows = NOTATIONS.map((to) => {
      const code = h('code', { class: 'no' }, '..');
      return { to, code, row: h('li', {}, h('span', {}, to), code) };
    });
    fill(this.element, ...rows.map((r) => r.row));
    const converted: Record<string, unknown> = {};
    for (const { to, code, row } of rows) {
      const reply = await this.core.ask<{ text: string; without?: string[] } & Json>('convert', { tensor: text, to });
      if (run !== this.run || reply.fault?.code === 'cancelled') return null;
      if (reply.fault) {
        code.textContent = reply.fault.message;
        converted[to] = { error: reply.fault };
      } else {
        const result = reply.value.text;
        converted[to] = reply.value;
        code.textContent = result;
        code.className = '';
        row.append(h('button', { class: 'small', onclick: () => this.open(result), 'aria-label': `Open as ${to}` }, 'Open'));
      }
    }
    return converted;
  }
}
