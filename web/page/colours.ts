// SPDX-License-Identifier: Apache-2.0
// Colours of places, slots and causes, for both themes. Neighbouring places differ, and nothing is said by
// colour alone: cells also have numbers, letters or strokes.

export type Theme = 'light' | 'dark';

/** sRGB of linear light, in steps that no eye tells apart: the power takes most of the time of a colour. */
const GAMMA = Uint8Array.from({ length: 4097 }, (_, i) => {
  const x = i / 4096;
  return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
});

function channel(x: number): number {
  return GAMMA[x <= 0 ? 0 : x >= 1 ? 4096 : Math.round(x * 4096)] as number;
}

const cube = (x: number): number => x * x * x;

/** A colour of OKLCH as a pixel of ImageData on a little-endian machine. */
export function oklch(light: number, chroma: number, hue: number): number {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = cube(light + 0.3963377774 * a + 0.2158037573 * b);
  const m = cube(light - 0.1055613458 * a - 0.0638541728 * b);
  const s = cube(light - 0.0894841775 * a - 1.291485548 * b);
  const red = channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  const green = channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  const blue = channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s);
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

export function css(pixel: number): string {
  return `rgb(${pixel & 255} ${(pixel >> 8) & 255} ${(pixel >> 16) & 255})`;
}

/** Few places have hues far apart; many have a hue along the row and a lightness down the column. */
export function placeColours(mesh: number[], theme: Theme): (place: number) => number {
  const count = mesh.reduce((n, m) => n * m, 1);
  const cols = mesh.at(-1) ?? 1;
  const rows = Math.max(1, count / Math.max(1, cols));
  const base = theme === 'light' ? 0.8 : 0.52;
  if (count <= 24) {
    return (place) => {
      const parity = (Math.floor(place / cols) + (place % cols)) % 2 ? 0.04 : -0.02;
      return oklch(base + parity, theme === 'light' ? 0.105 : 0.1, 25 + place * 137.508);
    };
  }
  return (place) => {
    const row = Math.floor(place / cols);
    const col = place % cols;
    const parity = (row + col) % 2 ? 0.018 : -0.018;
    const down = rows > 1 ? (row / (rows - 1) - 0.5) * 0.24 : 0;
    return oklch(base - 0.03 - down + parity, 0.11, 20 + (cols > 1 ? (col / cols) * 320 : 0));
  };
}

/** The order of slots as a ramp, for tensors on one place. */
export function slotColours(slots: number, theme: Theme): (slot: number) => number {
  const [from, to] = theme === 'light' ? [0.93, 0.62] : [0.34, 0.7];
  return (slot) => {
    const t = slots > 1 ? slot / (slots - 1) : 0;
    return oklch(from + (to - from) * t, 0.06 + 0.06 * t, 250 - 170 * t);
  };
}

/** The causes of padding, outermost first, with the letter that marks their slots. */
export const CAUSES: Record<string, { letter: string; hue: number; words: string }> = {
  synthetic: { letter: 'Y', hue: 300, words: 'a dim that was added' },
  gap: { letter: 'G', hue: 100, words: 'between strides' },
  alignment: { letter: 'A', hue: 70, words: 'extents rounded up' },
  stick: { letter: 'S', hue: 180, words: 'the rest of a stick' },
  tile: { letter: 'T', hue: 15, words: 'the rest of a tile' },
  grid: { letter: 'R', hue: 255, words: 'shards beyond the tensor' },
};

export function causeColour(cause: string, theme: Theme): number {
  const hue = CAUSES[cause]?.hue ?? 0;
  return theme === 'light' ? oklch(0.91, 0.035, hue) : oklch(0.31, 0.04, hue);
}
