// SPDX-License-Identifier: Apache-2.0
// A plan of `tessera plan --out` as the page reads it: ops in the order in which they run, values between
// them, and what other layouts change. Nothing is priced here; the module's verb `price` does that.
import { number, seconds } from './dom';

export interface Move { from: string; to: string; algorithm: string; cycles: number | null }
export interface Phases { bring_cycles: number | null; compute_cycles: number | null; settle_cycles: number | null; moves: Move[]; divided: string }
export interface PlannedOp extends Phases {
  node: number; name: string; op: string; work: string;
  runner_up: { work: string; more_cycles: number } | null;
}
export interface Buffer { name: string; space: string; from: number; to: number; bytes: number; offset: number }
export interface Value { name: string; layout: string; type: string; kind: string }
interface GraphNode { name?: string; op: string; inputs: (string | null)[]; outputs: string[] }
interface PlanFile {
  tessera_plan: number; model: { name: string; hash: string }; target: { name: string };
  cycles: number; seconds: number | null; lower_bound_cycles: number; gap: number; assumed: string[];
  baseline_cycles: Record<string, number | null>;
  values: { name: string; layout: string }[]; ops: PlannedOp[]; buffers: Buffer[];
  graph: { values: { name: string; kind: string; dtype: string; shape: number[] }[]; nodes: GraphNode[]; outputs: string[] };
}
/** What `tessera price` answers. */
export interface Repriced {
  fits: boolean; cycles: number | null; seconds: number | null; changed: string[];
  ops: (Phases & { step: number })[]; buffers: Buffer[]; peak_bytes: Record<string, number>;
}
/** A value that one op makes, or that is given, and another reads. */
export interface Edge { value: string; from: number; to: number }

export class Plan {
  readonly values = new Map<string, Value>();
  /** Inputs and outputs of each op, in the order in which ops run. */
  readonly reads: string[][] = [];
  readonly makes: string[][] = [];
  /** Between positions of ops. */
  readonly edges: Edge[] = [];
  readonly spaces: string[];

  private constructor(readonly text: string, readonly file: PlanFile) {
    if (typeof file.target?.name !== 'string' || typeof file.model?.name !== 'string') throw new Error('names');
    for (const op of file.ops) {
      if (!Array.isArray(op.moves) || typeof op.divided !== 'string' || typeof op.op !== 'string') throw new Error('op');
    }
    for (const { from, to, bytes, offset } of file.buffers) {
      if (![from, to, bytes, offset].every(Number.isFinite)) throw new Error('buffer');
    }
    const typed = new Map(file.graph.values.map((v) => [v.name, v]));
    for (const { name, layout } of file.values) {
      const of = typed.get(name);
      this.values.set(name, { name, layout, kind: of?.kind ?? 'computed',
        type: of ? `${of.dtype}[${of.shape.join(', ')}]` : '' });
    }
    const makers = new Map<string, number>();
    file.ops.forEach((op, k) => {
      const node = file.graph.nodes[op.node];
      this.reads.push([...new Set((node?.inputs ?? []).filter((v): v is string => v !== null))]);
      this.makes.push(node?.outputs ?? []);
      for (const value of this.reads[k] as string[]) {
        const from = makers.get(value);
        if (from !== undefined) this.edges.push({ value, from, to: k });
      }
      for (const value of this.makes[k] as string[]) makers.set(value, k);
    });
    this.spaces = [...new Set(file.buffers.map((b) => b.space))];
  }

  /** Reads a file; says what is wrong with one that is none. */
  static read(text: string): Plan | string {
    let file: PlanFile;
    try {
      file = JSON.parse(text) as PlanFile;
    } catch {
      return 'This is no JSON. Open a file that tessera plan --out wrote.';
    }
    const lists = [file?.values, file?.ops, file?.buffers, file?.graph?.nodes, file?.graph?.values];
    if (file?.tessera_plan !== 1) return 'This is no plan of format 1. Open a file that tessera plan --out wrote.';
    if (lists.some((list) => !Array.isArray(list)) || typeof file.cycles !== 'number') {
      return 'The plan lacks its ops, values, buffers or its model. Make it again with tessera plan --out.';
    }
    try {
      return new Plan(text, file);
    } catch {
      return 'The plan is damaged. Make it again with tessera plan --out.';
    }
  }

  /** An op in a line: what it is and what it makes. */
  title(step: number): string {
    const op = this.file.ops[step] as PlannedOp;
    return `${op.op} ${this.makes[step]?.[0] ?? op.name}`;
  }

  /** Cycles as time, where the machine has a clock. */
  time(cycles: number | null | undefined): string {
    if (cycles === null || cycles === undefined) return 'unknown';
    const { seconds: all, cycles: sum } = this.file;
    return all !== null && sum > 0 ? seconds((cycles * all) / sum) : `${number(Math.round(cycles))} cycles`;
  }
}

export const total = (p: Phases): number => (p.bring_cycles ?? 0) + (p.compute_cycles ?? 0) + (p.settle_cycles ?? 0);

/** The layout in a few words: its mesh and its memory. */
export function layoutWords(layout: string): string {
  const mesh = /mesh=\[([^\]]*)\]/.exec(layout)?.[1];
  const space = /space=(\w+)/.exec(layout)?.[1];
  const other = /^(?:tensor<[^,]*, )?(?!native|tensor<)([\w.#]+(?:\([^)]*\))?)/.exec(layout)?.[1];
  const places = other ?? (mesh ? mesh.split(', ').join(' × ') : 'one place');
  return space ? `${places}, ${space}` : places;
}

/** Bytes that are live in a memory over the moments: where they change, in order. */
export function liveBytes(buffers: Buffer[], space: string): { at: number; bytes: number }[] {
  const steps = new Map<number, number>();
  for (const b of buffers) {
    if (b.space !== space || b.to <= b.from) continue;
    steps.set(b.from, (steps.get(b.from) ?? 0) + b.bytes);
    steps.set(b.to, (steps.get(b.to) ?? 0) - b.bytes);
  }
  let bytes = 0;
  return [...steps].sort((a, b) => a[0] - b[0]).map(([at, by]) => ({ at, bytes: (bytes += by) }));
}
