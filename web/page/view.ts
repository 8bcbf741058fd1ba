// SPDX-License-Identifier: Apache-2.0
import type { Theme } from './colours';

/** What the address keeps of a view. */
export type State = Record<string, string | undefined>;
/** The answers that a view shows, for the export as JSON. */
export type Answers = Record<string, unknown>;

/** A picture of a view: where it is shown, and what draws it again, for example as SVG. */
export interface Drawing { title: string; canvas: HTMLCanvasElement; draw(at: CanvasRenderingContext2D): void }

export interface View {
  readonly element: HTMLElement;
  answers: Answers;
  state(): State;
  restore(state: State): Promise<void>;
  repaint(theme: Theme): void;
  pictures(): Drawing[];
  title(): string;
}
