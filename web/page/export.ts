// SPDX-License-Identifier: Apache-2.0
// The pictures of a view as PNG or SVG, and its answers as JSON, for files of the reader.
import type { View } from './view';

/** Hands a file to the reader. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r -\uFFFD]/g, '?');

/** The pictures below each other, each with its title. */
function layout(view: View): { width: number; height: number; items: { title: string; canvas: HTMLCanvasElement; y: number; w: number; h: number }[] } {
  let y = 30;
  let width = 0;
  const items = view.pictures().filter(({ canvas }) => canvas.clientWidth > 0).map(({ title, canvas }) => {
    const item = { title, canvas, y: y + 20, w: canvas.clientWidth, h: canvas.clientHeight };
    y += item.h + 34;
    width = Math.max(width, item.w);
    return item;
  });
  return { width: width + 24, height: y + 8, items };
}

export function asSvg(view: View): string {
  const { width, height, items } = layout(view);
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue('--ink');
  const words = (text: string, y: number, size: number): string =>
    `<text x="12" y="${y}" font-family="monospace" font-size="${size}" fill="${ink}">${escape(text)}</text>`;
  const pictures = items.map(({ title, canvas, y, w, h }) =>
    `${words(title, y - 6, 13)}<image x="12" y="${y}" width="${w}" height="${h}" href="${canvas.toDataURL()}"><title>${escape(title)}</title></image>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<rect width="100%" height="100%" fill="${style.getPropertyValue('--paper')}"/>` +
    `${words(view.title().slice(0, 300), 22, 12)}${pictures.join('')}</svg>`;
}

function asPng(view: View): Promise<Blob | null> {
  const { width, height, items } = layout(view);
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
  at.fillText(view.title().slice(0, 300), 12, 22);
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
