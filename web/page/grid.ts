// SPDX-License-Identifier: Apache-2.0
// A grid of cells on a canvas, of any size: pan, zoom, hover, pick, keyboard. It draws what it is given:
// a picture of the visible part with one pixel per cell, or per some cells where they are too many.
import { drawDetails, MOST_SAMPLES, raster, type Box, type Part, type Picture } from './picture';
import type { Drawing } from './view';

/** How often any grid was redrawn; the browser's timeline has how long the latest took. */
let redraws = 0;

interface Options {
  label: string;
  paint(part: Part): Promise<Picture | null> | Picture | null;
  hover(cell: [number, number] | null): void;
  pick(cell: [number, number]): void;
}

export class Grid {
  rows = 1;
  cols = 1;
  /** The cells that stand out; others are veiled when `marked` is set. */
  boxes: Box[] = [];
  marked: ((row: number, col: number) => boolean) | null = null;

  private x = 0;
  private y = 0;
  private cw = 1;
  private ch = 1;
  private fitted = true;
  private part: Part | null = null;
  private picture: Picture | null = null;
  private image: HTMLCanvasElement | null = null;
  private veil: HTMLCanvasElement | null = null;
  private asking = false;
  private stale = false;
  private generation = 0;
  private frame = 0;
  private cursor: [number, number] = [0, 0];
  private readonly canvas: HTMLCanvasElement;
  private readonly at: CanvasRenderingContext2D;

  constructor(canvas: HTMLCanvasElement, private readonly options: Options) {
    this.canvas = canvas;
    this.at = canvas.getContext('2d') as CanvasRenderingContext2D;
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'application');
    canvas.setAttribute('aria-label',
      `${options.label}. Arrow keys move, Enter selects, plus and minus zoom, 0 shows all.`);
    new ResizeObserver(() => this.fitIfFitted()).observe(canvas);
    this.listen();
  }

  /** Another content, shown as a whole. */
  reset(rows: number, cols: number): void {
    const same = rows === this.rows && cols === this.cols && this.picture !== null;
    this.rows = Math.max(1, rows);
    this.cols = Math.max(1, cols);
    this.cursor = [Math.min(this.cursor[0], this.rows - 1), Math.min(this.cursor[1], this.cols - 1)];
    this.forget();
    if (same && !this.fitted) this.redraw();
    else this.fit();
  }

  /** The same cells in other colours. */
  forget(): void {
    this.generation++;
    this.part = null;
    this.stale = true;
    this.redraw();
  }

  fit(): void {
    const [w, h] = this.size();
    this.fitted = true;
    this.cw = w / this.cols;
    this.ch = h / this.rows;
    // Cells are nearly square, unless the grid is very long.
    const most = 48;
    this.cw = Math.min(this.cw, most, this.ch * (this.rows < 4 ? 8 : 2.2));
    this.ch = Math.min(this.ch, most, this.cw * (this.cols < 4 ? 8 : 2.2));
    this.x = -(w / this.cw - this.cols) / 2;
    this.y = -(h / this.ch - this.rows) / 2;
    this.redraw();
  }

  zoom(by: number, px?: number, py?: number): void {
    const [w, h] = this.size();
    const atX = px ?? w / 2;
    const atY = py ?? h / 2;
    const col = this.x + atX / this.cw;
    const row = this.y + atY / this.ch;
    const limit = Math.min(64 / Math.max(this.cw, this.ch), by);
    const factor = by > 1 ? Math.max(1, limit) : by;
    if (by < 1 && this.cw * this.cols * by < w * 0.4 && this.ch * this.rows * by < h * 0.4) return;
    this.cw *= factor;
    this.ch *= factor;
    this.x = col - atX / this.cw;
    this.y = row - atY / this.ch;
    this.fitted = false;
    this.redraw();
  }

  /** Moves the view so that a cell is in it. */
  reveal(row: number, col: number): void {
    this.cursor = [row, col];
    const [w, h] = this.size();
    if (col < this.x || col + 1 > this.x + w / this.cw) this.x = col + 0.5 - w / this.cw / 2;
    if (row < this.y || row + 1 > this.y + h / this.ch) this.y = row + 0.5 - h / this.ch / 2;
    this.redraw();
  }

  redraw(): void {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const start = performance.now();
      this.draw();
      if (++redraws % 256 === 0) performance.clearMeasures('redraw');
      performance.measure('redraw', { start });
    });
  }

  drawing(title: string): Drawing { return { title, canvas: this.canvas, draw: (at) => this.paint(at) }; }

  private size(): [number, number] {
    return [Math.max(1, this.canvas.clientWidth), Math.max(1, this.canvas.clientHeight)];
  }

  private fitIfFitted(): void {
    if (this.fitted) this.fit();
    else this.redraw();
  }

  /** The visible part, with at most MOST_SAMPLES samples. */
  private visible(): Part {
    const [w, h] = this.size();
    const row = Math.max(0, Math.floor(this.y));
    const col = Math.max(0, Math.floor(this.x));
    const endRow = Math.min(this.rows, Math.ceil(this.y + h / this.ch));
    const endCol = Math.min(this.cols, Math.ceil(this.x + w / this.cw));
    let stepRow = Math.max(1, Math.ceil(3 / this.ch));
    let stepCol = Math.max(1, Math.ceil(3 / this.cw));
    const rows = Math.max(0, endRow - row);
    const cols = Math.max(0, endCol - col);
    if (this.rows * this.cols <= MOST_SAMPLES) {
      return { row: 0, col: 0, rows: this.rows, cols: this.cols, stepRow: 1, stepCol: 1 };
    }
    if (rows * cols <= MOST_SAMPLES) { stepRow = 1; stepCol = 1; }
    while (Math.ceil(rows / stepRow) * Math.ceil(cols / stepCol) > MOST_SAMPLES) {
      if (stepRow * this.ch <= stepCol * this.cw) stepRow++;
      else stepCol++;
    }
    const alignedRow = row - (row % stepRow);
    const alignedCol = col - (col % stepCol);
    return {
      row: alignedRow, col: alignedCol, stepRow, stepCol,
      rows: Math.ceil((endRow - alignedRow) / stepRow),
      cols: Math.ceil((endCol - alignedCol) / stepCol),
    };
  }

  private covers(part: Part): boolean {
    const p = this.part;
    return p !== null && !this.stale && p.stepRow === part.stepRow && p.stepCol === part.stepCol &&
      p.row <= part.row && p.col <= part.col &&
      p.row + p.rows * p.stepRow >= part.row + part.rows * part.stepRow &&
      p.col + p.cols * p.stepCol >= part.col + part.cols * part.stepCol;
  }

  private load(part: Part): void {
    if (this.asking || part.rows * part.cols === 0) return;
    this.asking = true;
    const generation = this.generation;
    const take = (picture: Picture | null): void => {
      this.asking = false;
      if (generation === this.generation && picture) this.take(part, picture);
      if (generation !== this.generation) this.redraw();
    };
    const made = this.options.paint(part);
    if (made instanceof Promise) made.then(take, () => take(null));
    else take(made);
  }

  private take(part: Part, picture: Picture): void {
    this.part = part;
    this.picture = picture;
    this.stale = false;
    this.image = raster(part, picture.colours);
    this.veil = null;
    this.redraw();
  }

  /** Says anew which cells stand out. */
  mark(marked: ((row: number, col: number) => boolean) | null, boxes: Box[]): void {
    this.marked = marked;
    this.boxes = boxes;
    this.veil = null;
    this.redraw();
  }

  private veilImage(): HTMLCanvasElement | null {
    if (!this.marked || !this.part) return null;
    if (!this.veil) {
      const { part, marked } = this;
      const colours = new Uint32Array(part.rows * part.cols);
      const dark = document.documentElement.dataset.theme === 'dark';
      const shade = dark ? 0xc8181210 : 0xc8fdfbfa;
      let any = false;
      for (let r = 0, k = 0; r < part.rows; ++r) {
        for (let c = 0; c < part.cols; ++c, ++k) {
          const on = marked(part.row + r * part.stepRow, part.col + c * part.stepCol);
          any ||= on;
          colours[k] = on ? 0 : shade;
        }
      }
      if (!any) return null;
      this.veil = raster(part, colours);
    }
    return this.veil;
  }

  private draw(): void {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const [w, h] = this.size();
    if (this.canvas.width !== Math.round(w * ratio) || this.canvas.height !== Math.round(h * ratio)) {
      this.canvas.width = Math.round(w * ratio);
      this.canvas.height = Math.round(h * ratio);
    }
    this.at.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.at.clearRect(0, 0, w, h);
    const wanted = this.visible();
    if (!this.covers(wanted)) this.load(wanted);
    this.paint(this.at);
  }

  /** Draws what is loaded. */
  private paint(at: CanvasRenderingContext2D): void {
    const [w, h] = this.size();
    const { part, image, picture } = this;
    if (part && image && picture) {
      at.imageSmoothingEnabled = false;
      const put = (which: HTMLCanvasElement): void => at.drawImage(which,
        (part.col - this.x) * this.cw, (part.row - this.y) * this.ch,
        part.cols * part.stepCol * this.cw, part.rows * part.stepRow * this.ch);
      at.save();
      at.beginPath();
      at.rect(-this.x * this.cw, -this.y * this.ch, this.cols * this.cw, this.rows * this.ch);
      at.clip();
      put(image);
      const veil = this.veilImage();
      if (veil) put(veil);
      at.restore();
      if (part.stepRow === 1 && part.stepCol === 1) {
        drawDetails(at, part, picture, { x: this.x, y: this.y, cw: this.cw, ch: this.ch, w, h });
      }
    }
    this.outlines(at, w, h);
  }

  private outlines(at: CanvasRenderingContext2D, w: number, h: number): void {
    const style = getComputedStyle(this.canvas);
    const outer = style.getPropertyValue('--mark-outer');
    const inner = style.getPropertyValue('--mark');
    const outline = (box: Box, strong: boolean): void => {
      const px = (box.col - this.x) * this.cw;
      const py = (box.row - this.y) * this.ch;
      const bw = Math.max(3, box.cols * this.cw);
      const bh = Math.max(3, box.rows * this.ch);
      if (px > w || py > h || px + bw < 0 || py + bh < 0) return;
      at.lineWidth = strong ? 5 : 3;
      at.strokeStyle = outer;
      at.strokeRect(px, py, bw, bh);
      at.lineWidth = strong ? 2.5 : 1.5;
      at.strokeStyle = inner;
      at.strokeRect(px, py, bw, bh);
    };
    for (const box of this.boxes.slice(0, 4096)) outline(box, box.strong ?? false);
    if (document.activeElement === this.canvas && this.canvas.matches(':focus-visible')) {
      at.setLineDash([3, 3]);
      outline({ row: this.cursor[0], col: this.cursor[1], rows: 1, cols: 1 }, false);
      at.setLineDash([]);
    }
  }

  private cellAt(event: MouseEvent): [number, number] | null {
    const box = this.canvas.getBoundingClientRect();
    const col = Math.floor(this.x + (event.clientX - box.left) / this.cw);
    const row = Math.floor(this.y + (event.clientY - box.top) / this.ch);
    return row >= 0 && col >= 0 && row < this.rows && col < this.cols ? [row, col] : null;
  }

  private listen(): void {
    const canvas = this.canvas;
    const held = new Map<number, PointerEvent>();
    let moved = 0;
    let last = '';
    canvas.addEventListener('pointerdown', (event) => {
      held.set(event.pointerId, event);
      moved = 0;
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = held.get(event.pointerId);
      if (!before) {
        const cell = this.cellAt(event);
        const key = String(cell);
        if (key !== last) this.options.hover(cell);
        last = key;
        return;
      }
      const dx = event.clientX - before.clientX;
      const dy = event.clientY - before.clientY;
      moved += Math.abs(dx) + Math.abs(dy);
      if (held.size === 2) {
        const other = [...held.values()].find((e) => e.pointerId !== event.pointerId) as PointerEvent;
        const far = (e: PointerEvent): number =>
          Math.hypot(e.clientX - other.clientX, e.clientY - other.clientY) + 1;
        const box = canvas.getBoundingClientRect();
        this.zoom(far(event) / far(before), (event.clientX + other.clientX) / 2 - box.left,
          (event.clientY + other.clientY) / 2 - box.top);
      } else if (moved > 4) {
        this.x -= dx / this.cw;
        this.y -= dy / this.ch;
        this.fitted = false;
        this.redraw();
      }
      held.set(event.pointerId, event);
    });
    const release = (event: PointerEvent): void => {
      held.delete(event.pointerId);
      const cell = this.cellAt(event);
      if (event.type === 'pointerup' && moved <= 4 && cell) {
        this.cursor = cell;
        this.options.pick(cell);
      }
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => { last = ''; this.options.hover(null); });
    canvas.addEventListener('dblclick', () => this.fit());
    canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0018), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener('focus', () => this.redraw());
    canvas.addEventListener('blur', () => { this.options.hover(null); this.redraw(); });
    canvas.addEventListener('keydown', (event) => {
      const move: Record<string, [number, number]> = {
        ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      };
      const by = move[event.key];
      if (by) {
        const far = event.shiftKey ? 10 : 1;
        const row = Math.max(0, Math.min(this.rows - 1, this.cursor[0] + by[0] * far));
        const col = Math.max(0, Math.min(this.cols - 1, this.cursor[1] + by[1] * far));
        this.reveal(row, col);
        this.options.hover([row, col]);
      } else if (event.key === 'Enter' || event.key === ' ') this.options.pick(this.cursor);
      else if (event.key === '+' || event.key === '=') this.zoom(1.5);
      else if (event.key === '-') this.zoom(1 / 1.5);
      else if (event.key === '0') this.fit();
      else return;
      event.preventDefault();
    });
  }
}
