// SPDX-License-Identifier: Apache-2.0
import type { Theme } from './colours';

/** What the address keeps of a view. */
export type State = Record<string, string | undefined>;
/** The answers that a view shows, for the export as JSON. */
export type Answers = Record<string, unknown>;

export interface View {
  readonly element: HTMLElement;
  answers: Answers;
  state(): State;
  restore(state: State): Promise<void>;
  repaint(theme: Theme): void;
  pictures(): { title: string; canvas: HTMLCanvasElement }[];
  title(): string;
}
