// SPDX-License-Identifier: Apache-2.0
// The places of a mesh as a picture; places without elements are hatched.
import { placeColours, type Theme } from './colours';
import { h, number } from './dom';
import { Grid } from './grid';
import type { Box, Part, Picture } from './picture';
import { meshGrid, numberOf, placeOf, type Classes, type Located, type Tensor } from './tensor';

interface Actions {
  hover(place: number[] | null): void;
  pick(place: number[]): void;
}

export class MeshPanel {
  readonly canvas = h('canvas', { id: 'mesh-canvas' });
  readonly note = h('span', { class: 'note' });
  readonly grid: Grid;
  private tensor: Tensor | null = null;
  /** The numbers of the places that hold no element. */
  private empty = new Set<number>();
  private theme: Theme = 'light';

  constructor(actions: Actions) {
    this.grid = new Grid(this.canvas, {
      label: 'Places of the mesh', paint: (part) => this.paint(part),
      hover: (cell) => actions.hover(cell && this.placeAt(cell)),
      pick: (cell) => {
        const place = this.placeAt(cell);
        if (place) actions.pick(place);
      },
    });
  }

  open(tensor: Tensor): void {
    const { mesh, places } = tensor.shown;
    this.tensor = tensor;
    this.empty = new Set();
    this.grid.reset(...meshGrid(mesh));
    this.note.textContent = places === 1 ? 'one place' : `${mesh.join(' × ')} = ${number(places)} places`;
  }

  repaint(theme: Theme): void {
    this.theme = theme;
    this.grid.forget();
  }

  /** Takes the classes of places, to hatch those without elements. */
  classify({ classes }: Classes): void {
    const { mesh } = this;
    for (const set of classes.filter((one) => one.elements === 0).flatMap((one) => one.sets)) {
      let places = [numberOf(mesh, set.first)];
      for (const loop of set.loops) {
        const stride = loop.stride * mesh.slice(loop.axis + 1).reduce((n, m) => n * m, 1);
        places = places.flatMap((p) => Array.from({ length: loop.count }, (_, i) => p + i * stride));
      }
      for (const p of places) this.empty.add(p);
    }
    this.grid.forget();
  }

  /** Marks the places of an element, and less strongly the one whose memory is open. */
  mark(places: Located['places'], open: number[] | null): void {
    const boxes: Box[] = places.flatMap((p) => {
      if (Array.isArray(p)) return [{ ...this.boxOf(p), strong: true }];
      if (this.mesh.length !== 2) return [];
      return [{ row: p.from[0] as number, col: p.from[1] as number, strong: true,
        rows: (p.to[0] as number) - (p.from[0] as number) + 1, cols: (p.to[1] as number) - (p.from[1] as number) + 1 }];
    });
    const isOne = (this.tensor?.shown.places ?? 1) === 1;
    this.grid.mark(null, open && !isOne ? [{ ...this.boxOf(open), strong: false }, ...boxes] : boxes);
  }

  private get mesh(): number[] { return this.tensor?.shown.mesh ?? []; }

  private boxOf(place: number[]): Box {
    const at = numberOf(this.mesh, place);
    const cols = meshGrid(this.mesh)[1];
    return { row: Math.floor(at / cols), col: at % cols, rows: 1, cols: 1 };
  }

  private numberAt(row: number, col: number): number | null {
    if (!this.tensor) return null;
    const at = row * meshGrid(this.mesh)[1] + col;
    return at < this.tensor.shown.places ? at : null;
  }

  private placeAt(cell: [number, number]): number[] | null {
    const at = this.numberAt(...cell);
    return at === null ? null : placeOf(this.mesh, at);
  }

  private paint(part: Part): Picture | null {
    if (!this.tensor) return null;
    const { mesh, empty } = this;
    const colour = placeColours(mesh, this.theme);
    const colours = new Uint32Array(part.rows * part.cols);
    const at = new Int32Array(colours.length);
    for (let r = 0, k = 0; r < part.rows; ++r) {
      for (let c = 0; c < part.cols; ++c, ++k) {
        const place = this.numberAt(part.row + r * part.stepRow, part.col + c * part.stepCol) ?? -1;
        at[k] = place;
        colours[k] = place < 0 || empty.has(place) ? 0 : colour(place);
      }
    }
    return {
      colours, groups: this.tensor.shown.places <= 4096 ? at : undefined,
      stroke: (k) => empty.has(at[k] as number),
      text: (k) => ((at[k] as number) < 0 ? '' : mesh.length === 2 ? placeOf(mesh, at[k] as number).join(',') : String(at[k])),
    };
  }
}
