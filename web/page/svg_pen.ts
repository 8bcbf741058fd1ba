// SPDX-License-Identifier: Apache-2.0
// A drawing context that writes SVG instead of pixels, with what the pictures of the page use: paths, rectangles,
// texts and images, under uniform scaling and translation.

const attribute = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
/** A text as content of SVG: nothing in it is markup, nor outside of what XML can hold. */
export const escaped = (text: string): string => attribute(text).replace(/[^\t\n\r -\uFFFD]/g, '?');

const ANCHORS: Record<string, string> = { center: 'middle', right: 'end', end: 'end' };
const round = (x: number): string => String(Math.round(x * 100) / 100);

export class SvgPen {
  fillStyle = '#000';
  strokeStyle = '#000';
  lineWidth = 1;
  globalAlpha = 1;
  font = '10px sans-serif';
  textAlign = 'left';
  textBaseline = 'alphabetic';
  imageSmoothingEnabled = true;

  private out: string[] = [];
  private path = '';
  private dash: number[] = [];
  private factor = 1;
  private dx = 0;
  private dy = 0;
  /** How many groups each `save` since then has opened. */
  private open: number[] = [0];
  /** Rectangles of one colour that follow each other are one path. */
  private rects = { style: '', path: '' };

  constructor(readonly canvas: HTMLCanvasElement, private readonly name: string) {}

  /** What was drawn, as content of an element of SVG. */
  finish(): string {
    this.flush();
    while (this.open.length > 0) this.close();
    return this.out.join('');
  }

  save(): void { this.open.push(0); }
  restore(): void {
    this.flush();
    if (this.open.length > 1) this.close();
  }
  scale(by: number, _same: number): void { this.factor *= by; }
  translate(x: number, y: number): void {
    this.dx += x * this.factor;
    this.dy += y * this.factor;
  }
  setLineDash(dash: number[]): void { this.dash = dash; }
  measureText(text: string): TextMetrics {
    const at = this.canvas.getContext('2d') as CanvasRenderingContext2D;
    at.save();
    at.font = this.font;
    const found = at.measureText(text);
    at.restore();
    return found;
  }

  beginPath(): void { this.path = ''; }
  moveTo(x: number, y: number): void { this.path += `M${this.point(x, y)}`; }
  lineTo(x: number, y: number): void { this.path += `L${this.point(x, y)}`; }
  bezierCurveTo(...p: [number, number, number, number, number, number]): void {
    this.path += `C${this.point(p[0], p[1])} ${this.point(p[2], p[3])} ${this.point(p[4], p[5])}`;
  }
  quadraticCurveTo(cx: number, cy: number, x: number, y: number): void { this.path += `Q${this.point(cx, cy)} ${this.point(x, y)}`; }
  /** A whole circle. */
  arc(x: number, y: number, radius: number, _from: number, _to: number): void {
    const r = round(radius * this.factor);
    this.path += `M${this.point(x - radius, y)}A${r} ${r} 0 1 0 ${this.point(x + radius, y)}A${r} ${r} 0 1 0 ${this.point(x - radius, y)}Z`;
  }
  rect(x: number, y: number, w: number, h: number): void { this.path += this.box(x, y, w, h); }
  roundRect(x: number, y: number, w: number, h: number, r: number): void {
    this.path += `M${this.point(x + r, y)}L${this.point(x + w - r, y)}Q${this.point(x + w, y)} ${this.point(x + w, y + r)}L${this.point(x + w, y + h - r)}Q${
      this.point(x + w, y + h)} ${this.point(x + w - r, y + h)}L${this.point(x + r, y + h)}Q${this.point(x, y + h)} ${this.point(x, y + h - r)}L${
      this.point(x, y + r)}Q${this.point(x, y)} ${this.point(x + r, y)}Z`;
  }
  clip(): void {
    this.flush();
    const id = `${this.name}-clip-${this.out.length}`;
    this.out.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    this.open[this.open.length - 1] = (this.open.at(-1) ?? 0) + 1;
  }
  fill(): void { this.add(`<path d="${this.path}"${this.filled()}/>`); }
  stroke(): void { if (this.path !== '') this.add(`<path d="${this.path}"${this.stroked()}/>`); }
  strokeRect(x: number, y: number, w: number, h: number): void { this.add(`<path d="${this.box(x, y, w, h)}"${this.stroked()}/>`); }
  fillRect(x: number, y: number, w: number, h: number): void {
    if (this.globalAlpha === 0) return;
    const style = this.filled();
    if (style !== this.rects.style) this.flush();
    this.rects.style = style;
    this.rects.path += this.box(x, y, w, h);
  }
  fillText(text: string, x: number, y: number): void {
    const font = /^(?:(\d{3}) )?([\d.]+)px (.*)$/.exec(this.font);
    const size = Number(font?.[2] ?? 10);
    const middle = this.textBaseline === 'middle' ? 0.35 * size : 0;
    const [px, py] = [round(x * this.factor + this.dx), round((y + middle) * this.factor + this.dy)];
    const anchor = ANCHORS[this.textAlign];
    this.add(`<text x="${px}" y="${py}" font-size="${round(size * this.factor)}" font-family="${attribute(font?.[3] ?? 'sans-serif')}"${
      font?.[1] ? ` font-weight="${font[1]}"` : ''}${anchor ? ` text-anchor="${anchor}"` : ''}${this.filled()}>${escaped(text)}</text>`);
  }
  /** An image, a pixel of which may cover much of the picture. */
  drawImage(image: HTMLCanvasElement, x: number, y: number, w: number, h: number): void {
    const [px, py] = [round(x * this.factor + this.dx), round(y * this.factor + this.dy)];
    this.add(`<image x="${px}" y="${py}" width="${round(w * this.factor)}" height="${round(h * this.factor)}" preserveAspectRatio="none" image-rendering="pixelated" href="${image.toDataURL()}"/>`);
  }

  private close(): void { this.out.push('</g>'.repeat(this.open.pop() ?? 0)); }
  private add(element: string): void {
    this.flush();
    this.out.push(element);
  }
  private flush(): void {
    if (this.rects.path !== '') this.out.push(`<path d="${this.rects.path}"${this.rects.style}/>`);
    this.rects = { style: '', path: '' };
  }
  private point(x: number, y: number): string { return `${round(x * this.factor + this.dx)} ${round(y * this.factor + this.dy)}`; }
  private box(x: number, y: number, w: number, h: number): string {
    const [wide, high] = [round(w * this.factor), round(h * this.factor)];
    return `M${this.point(x, y)}h${wide}v${high}h-${wide}Z`.replace('h--', 'h');
  }
  private filled(): string {
    return ` fill="${attribute(this.fillStyle)}"${this.globalAlpha < 1 ? ` fill-opacity="${round(this.globalAlpha)}"` : ''}`;
  }
  private stroked(): string {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map((d) => round(d * this.factor)).join(' ')}"` : '';
    return ` fill="none" stroke="${attribute(this.strokeStyle)}" stroke-width="${round(this.lineWidth * this.factor)}"${dash}${
      this.globalAlpha < 1 ? ` stroke-opacity="${round(this.globalAlpha)}"` : ''}`;
  }
}
