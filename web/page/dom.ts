// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Texts become text nodes, so nothing that is pasted is ever read as HTML.

type Child = Node | string | number | null | undefined | false;
type Props = Record<string, unknown>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === 'class') element.className = String(value);
    else if (name === 'value') (element as unknown as { value: string }).value = String(value);
    else if (name === 'colour') element.style.background = String(value);
    else if (name === 'width%') element.style.width = `${value}%`;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((c): c is Node | string | number =>
    c !== null && c !== undefined && c !== false).map((c) => (typeof c === 'number' ? String(c) : c)));
  return element;
}

export const fill = (parent: Element, ...children: Child[]): void =>
  parent.replaceChildren(...children.filter((c): c is Node | string | number =>
    c !== null && c !== undefined && c !== false).map((c) => (typeof c === 'number' ? String(c) : c)));

/** 13056 as "13,056". */
export const number = (value: number): string => value.toLocaleString('en-US');

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit++; }
  return unit === 0 ? `${number(size)} B` : `${number(value)} B (${size.toPrecision(3)} ${units[unit]})`;
}

export function seconds(value: number): string {
  if (value === 0) return '0 s';
  const [factor, unit] = value < 1e-6 ? [1e9, 'ns'] : value < 1e-3 ? [1e6, 'µs'] : value < 1 ? [1e3, 'ms'] : [1, 's'];
  return `${(value * (factor as number)).toPrecision(3)} ${unit}`;
}

export const list = (index: number[]): string => `[${index.join(', ')}]`;

/** "1, 2" as numbers; null for anything else. */
export function numbers(text: string): number[] | null {
  const words = text.replace(/[[\]\s]/g, '');
  if (words === '') return [];
  const read = words.split(',').map((w) => (/^\d{1,15}$/.test(w) ? Number(w) : NaN));
  return read.some(Number.isNaN) ? null : read;
}

/** Empties a canvas, and gives it as many pixels as the screen has there. Drawing is in CSS pixels. */
export function emptied(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  const at = canvas.getContext('2d') as CanvasRenderingContext2D;
  at.setTransform(ratio, 0, 0, ratio, 0, 0);
  return at;
}
