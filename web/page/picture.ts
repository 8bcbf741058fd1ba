// SPDX-License-Identifier: Apache-2.0
// What a grid shows: a part of its cells as pixels, and over them the lines, hatching, borders and texts of
// cells that are large enough.

/** A part of the grid: `rows` x `cols` samples from (row, col), `stepRow` and `stepCol` apart. */
export interface Part {
  row: number; col: number; rows: number; cols: number; stepRow: number; stepCol: number;
}
/** What a part looks like. `groups`: cells of one group have no line between them. */
export interface Picture {
  colours: Uint32Array;
  groups?: ArrayLike<number>;
  text?: (sample: number) => string;
  stroke?: (sample: number) => boolean;
}
export interface Box { row: number; col: number; rows: number; cols: number; strong?: boolean }

export const MOST_SAMPLES = 16384;

/** Where cells are on the canvas: cell (row, col) begins at ((col - x)·cw, (row - y)·ch) of w × h pixels. */
export interface Window { x: number; y: number; cw: number; ch: number; w: number; h: number }

/** A canvas with one pixel per sample. */
export function raster(part: Part, colours: Uint32Array): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = part.cols;
  canvas.height = part.rows;
  const pixels = new Uint8ClampedArray(colours.buffer as ArrayBuffer, colours.byteOffset, colours.byteLength);
  canvas.getContext('2d')?.putImageData(new ImageData(pixels, part.cols, part.rows), 0, 0);
  return canvas;
}

/** Draws lines, hatching, borders of groups and texts over the cells of a part without steps. */
export function drawDetails(at: CanvasRenderingContext2D, part: Part, picture: Picture, view: Window): void {
  const { x, y, cw, ch, w, h } = view;
  const style = getComputedStyle(at.canvas);
  const fromRow = Math.max(part.row, Math.floor(y));
  const toRow = Math.min(part.row + part.rows, Math.ceil(y + h / ch));
  const fromCol = Math.max(part.col, Math.floor(x));
  const toCol = Math.min(part.col + part.cols, Math.ceil(x + w / cw));
  const least = Math.min(cw, ch);
  const sample = (r: number, c: number): number => (r - part.row) * part.cols + (c - part.col);
  if (least >= 7) {
    at.strokeStyle = style.getPropertyValue('--cell-line');
    at.lineWidth = 1;
    at.beginPath();
    for (let c = fromCol; c <= toCol; ++c) {
      const px = Math.round((c - x) * cw) + 0.5;
      at.moveTo(px, (fromRow - y) * ch);
      at.lineTo(px, (toRow - y) * ch);
    }
    for (let r = fromRow; r <= toRow; ++r) {
      const py = Math.round((r - y) * ch) + 0.5;
      at.moveTo((fromCol - x) * cw, py);
      at.lineTo((toCol - x) * cw, py);
    }
    at.stroke();
  }
  const { stroke, groups, text } = picture;
  if (stroke && least >= 5) {
    at.strokeStyle = style.getPropertyValue('--hatch');
    at.lineWidth = 1;
    at.beginPath();
    for (let r = fromRow; r < toRow; ++r) {
      for (let c = fromCol; c < toCol; ++c) {
        if (!stroke(sample(r, c))) continue;
        at.moveTo((c - x) * cw, (r + 1 - y) * ch);
        at.lineTo((c + 1 - x) * cw, (r - y) * ch);
      }
    }
    at.stroke();
  }
  if (groups && least >= 4) {
    at.strokeStyle = style.getPropertyValue('--group-line');
    at.lineWidth = least >= 9 ? 2 : 1;
    at.beginPath();
    for (let r = fromRow; r < toRow; ++r) {
      for (let c = fromCol; c < toCol; ++c) {
        const here = groups[sample(r, c)];
        if (c > part.col && groups[sample(r, c - 1)] !== here) {
          const px = Math.round((c - x) * cw);
          at.moveTo(px, (r - y) * ch);
          at.lineTo(px, (r + 1 - y) * ch);
        }
        if (r > part.row && groups[sample(r - 1, c)] !== here) {
          const py = Math.round((r - y) * ch);
          at.moveTo((c - x) * cw, py);
          at.lineTo((c + 1 - x) * cw, py);
        }
      }
    }
    at.stroke();
  }
  if (text && ch >= 13 && cw >= 16) {
    const size = Math.min(12, ch * 0.5, cw * 0.36);
    if (size < 7) return;
    at.fillStyle = style.getPropertyValue('--cell-text');
    at.font = `${size}px ui-monospace, "DejaVu Sans Mono", monospace`;
    at.textAlign = 'center';
    at.textBaseline = 'middle';
    const room = Math.floor((cw - 3) / (size * 0.61));
    for (let r = fromRow; r < toRow; ++r) {
      for (let c = fromCol; c < toCol; ++c) {
        const words = text(sample(r, c));
        if (words.length > room) continue;
        at.fillText(words, (c + 0.5 - x) * cw, (r + 0.5 - y) * ch);
      }
    }
  }
}
