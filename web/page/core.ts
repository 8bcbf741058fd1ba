// SPDX-License-Identifier: Apache-2.0
// Questions to the module in its worker. Everything that the page shows about layouts comes from here.

export interface Fault {
  code: string;
  message: string;
  span: [number, number] | null;
  help: string;
  reasons?: { reason: string; facts: Record<string, unknown> }[];
}
export type Json = Record<string, unknown>;
export type Reply<T> = { value: T; fault?: undefined } | { value?: undefined; fault: Fault };

declare const WORKER_SOURCE: string;

interface Waiting {
  verb: string;
  request: string;
  input: string;
  resolve(reply: Reply<Json>): void;
  lane: string;
}

const GAVE_UP: Fault = {
  code: 'cancelled', message: 'the question was cancelled', span: null, help: '',
};

/** One worker and the questions that wait for it. */
export class Core {
  /** Milliseconds that the latest answer took in the module. */
  latestMs = 0;
  onBusy: (busy: boolean) => void = () => {};

  private packed: ArrayBuffer | null = null;
  private worker: Worker | null = null;
  private module: WebAssembly.Module | null = null;
  private ready = false;
  private next = 1;
  private asked: { id: number; waiting: Waiting } | null = null;
  private queue: Waiting[] = [];
  private readonly source = URL.createObjectURL(
    new Blob([WORKER_SOURCE], { type: 'text/javascript' }));
  private readonly known = new Map<string, Reply<Json>>();

  constructor(packed: Promise<ArrayBuffer>, private readonly onStart: (ms: number) => void) {
    packed.then((bytes) => {
      this.packed = bytes;
      this.restart();
    }, (error: unknown) => this.fail(`the module cannot be read: ${String(error)}`));
  }

  /**
   * Asks a verb. A question in a `lane` replaces one that waits in it: what was typed since counts.
   * Answers are kept, so that asking again costs nothing.
   */
  ask<T = Json>(verb: string, request: Json, lane = '', input = ''): Promise<Reply<T>> {
    const text = JSON.stringify(request);
    const key = `${verb}\n${text}\n${input}`;
    const known = this.known.get(key);
    if (known) return Promise.resolve(known as Reply<T>);
    return new Promise((resolve) => {
      if (lane) {
        for (const old of this.queue.filter((w) => w.lane === lane)) old.resolve({ fault: GAVE_UP });
        this.queue = this.queue.filter((w) => w.lane !== lane);
      }
      const remember = (reply: Reply<Json>): void => {
        if (reply.fault?.code !== 'cancelled') {
          if (this.known.size > 300) this.known.clear();
          this.known.set(key, reply);
        }
        resolve(reply as Reply<T>);
      };
      this.queue.push({ verb, request: text, input, resolve: remember, lane });
      this.pump();
    });
  }

  /** Ends what is being answered, and everything that waits. */
  cancel(): void {
    const gone = [...(this.asked ? [this.asked.waiting] : []), ...this.queue];
    this.asked = null;
    this.queue = [];
    if (gone.length > 0 && this.ready) this.restart();
    for (const each of gone) each.resolve({ fault: GAVE_UP });
    this.onBusy(false);
  }

  private restart(): void {
    const from = performance.now();
    this.worker?.terminate();
    this.ready = false;
    const worker = new Worker(this.source);
    this.worker = worker;
    worker.onmessage = (event: MessageEvent): void => {
      if (worker !== this.worker) return;
      const message = event.data;
      if (message.module) {
        if (!this.module) this.onStart(performance.now() - from);
        this.module = message.module;
        this.packed = null;
        this.ready = true;
        this.pump();
      } else if (message.failed) {
        this.fail(`the module does not start: ${message.failed}`);
      } else if (this.asked?.id === message.id) {
        const { waiting } = this.asked as { waiting: Waiting };
        this.asked = null;
        if (message.died) {
          this.restart();
          waiting.resolve({ fault: {
            code: 'out_of_memory', message: 'the module ran out of memory', span: null,
            help: 'ask for less at once, or use the command',
          } });
        } else {
          this.latestMs = message.ms;
          waiting.resolve(read(message.text));
        }
        this.pump();
      }
    };
    if (this.module) worker.postMessage({ module: this.module });
    else if (this.packed) worker.postMessage({ packed: this.packed });
  }

  private fail(message: string): void {
    for (const each of this.queue) {
      each.resolve({ fault: { code: 'not_supported', message, span: null, help: 'use a newer browser' } });
    }
    this.queue = [];
  }

  private pump(): void {
    if (!this.ready || this.asked) return;
    const waiting = this.queue.shift();
    this.onBusy(waiting !== undefined);
    if (!waiting) return;
    this.asked = { id: this.next++, waiting };
    const { verb, request, input } = waiting;
    this.worker?.postMessage({ id: this.asked.id, verb, request, input });
  }
}

function read(text: string): Reply<Json> {
  const value = JSON.parse(text) as Json;
  return 'error' in value ? { fault: value.error as Fault } : { value };
}
