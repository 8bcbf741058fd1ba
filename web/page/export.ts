// SPDX-License-Identifier: Apache-2.0
// The pictures of a view as PNG or SVG, and its answers as JSON, for files of the reader.
import { escaped, SvgPen } from './svg_pen';
import type { Drawing, View } from './view';

/** Hands a file to the reader. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Pixels of a character of the title. */
const LETTER = 7.3;

/** The pictures below each other, each with its title. */
function layout(view: View): { width: number; height: number; head: string[]; items: (Drawing & { y: number; w: number; h: number })[] } {
  const drawings = view.pictures().filter(({ canvas }) => canvas.clientWidth > 0);
  const width = drawings.reduce((most, { canvas }) => Math.max(most, canvas.clientWidth), 0);
  const room = Math.max(20, Math.floor(width / LETTER));
  const head = view.title().slice(0, 8 * room).match(new RegExp(`[^]{1,${room}}`, 'gu')) ?? [];
  let y = 12 + 16 * Math.max(1, head.length);
  const items = drawings.map((drawing) => {
    const { canvas } = drawing;
    const item = { ...drawing, y: y + 20, w: canvas.clientWidth, h: canvas.clientHeight };
    y += item.h + 34;
    return item;
  });
  return { width: width + 24, height: y + 8, head, items };
}

export function asSvg(view: View): string {
  const { width, height, head, items } = layout(view);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink');
  const words = (text: string, y: number, size: number): string =>
    `<text x="12" y="${y}" font-family="monospace" font-size="${size}" fill="${ink}">${escaped(text)}</text>`;
  const pictures = items.map(({ title, canvas, draw, y, w, h }, k) => {
    const pen = new SvgPen(canvas, `picture-${k}`);
    draw(pen as unknown as CanvasRenderingContext2D);
    return `${words(title, y - 6, 13)}<svg x="12" y="${y}" width="${w}" height="${h}"><title>${escaped(title)}</title>${pen.finish()}</svg>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<rect width="100%" height="100%" fill="${style.getPropertyValue('--paper')}"/>` +
    `${head.map((line, k) => words(line, 22 + 16 * k, 12)).join('')}${pictures.join('')}</svg>`;
}

function asPng(view: View): Promise<Blob | null> {
  const { width, height, head, items } = layout(view);
  const sheet = document.createElement('canvas');
  const ratio = 2;
  sheet.width = width * ratio;
  sheet.height = height * ratio;
  const at = sheet.getContext('2d') as CanvasRenderingContext2D;
  const style = getComputedStyle(document.documentElement);
  at.scale(ratio, ratio);
  at.fillStyle = style.getPropertyValue('--paper');
  at.fillRect(0, 0, width, height);
  at.fillStyle = style.getPropertyValue('--ink');
  at.font = '12px monospace';
  head.forEach((line, k) => at.fillText(line, 12, 22 + 16 * k));
  for (const { title, canvas, y, w, h } of items) {
    at.fillText(title, 12, y - 6);
    at.drawImage(canvas, 12, y, w, h);
  }
  return new Promise((resolve) => sheet.toBlob(resolve));
}

export async function exportAs(what: string, name: string, view: View): Promise<string> {
  switch (what) {
    case 'svg':
      save(`${name}.svg`, new Blob([asSvg(view)], { type: 'image/svg+xml' }));
      return 'the picture is saved as SVG';
    case 'png': {
      const png = await asPng(view);
      if (png) save(`${name}.png`, png);
      return png ? 'the picture is saved as PNG' : 'the picture could not be made';
    }
    case 'json':
      save(`${name}.json`, new Blob([JSON.stringify({ state: view.state(), answers: view.answers }, null, 1)], { type: 'application/json' }));
      return 'the answers are saved as JSON';
    default:
      try {
        await navigator.clipboard.writeText(location.href);
        return 'the link is copied';
      } catch {
        return `the link is ${location.href.length > 400 ? 'in the address bar' : location.href}`;
      }
  }
}
