// SPDX-License-Identifier: Apache-2.0
// The page: its views, its theme, and its address, which keeps what is shown.
import type { Theme } from './colours';
import { Compare } from './compare';
import { Core } from './core';
import { exportAs } from './export';
import exampleTrace from './example_trace.json';
import { Explorer } from './explorer';
import { Memory } from './memory';
import { Model } from './model';
import { TraceView } from './trace';
import type { State, View } from './view';

const LONGEST_ADDRESS = 8000;
const byId = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

const began = performance.now();
const status = byId('status');

/** The module: in the page, compressed, or beside it on a server. */
async function unpack(): Promise<ArrayBuffer> {
  const holder = byId('module');
  const { src } = holder.dataset;
  if (src) return (await fetch(src)).arrayBuffer();
  const text = atob((holder.textContent ?? '').trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) packed[i] = text.charCodeAt(i);
  holder.remove();
  return packed.buffer;
}

const core = new Core(unpack(), () => {
  status.textContent = `Ready in ${Math.round(performance.now() - began)} ms. Everything is computed in this page; nothing is sent.`;
  document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
});
let slow = 0;
core.onBusy = (busy) => {
  clearTimeout(slow);
  if (busy) slow = window.setTimeout(() => { byId('busy').hidden = false; }, 300);
  else byId('busy').hidden = true;
};
byId('cancel').addEventListener('click', () => {
  core.cancel();
  status.textContent = 'Cancelled.';
});

let timer = 0;
const changed = (): void => {
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    document.documentElement.dataset.ms = core.latestMs.toFixed(2);
    if (started) history.replaceState(null, '', address());
  }, 80);
};
const views: Record<string, View> = {
  explorer: new Explorer(core, changed), compare: new Compare(core, changed), memory: new Memory(core, changed),
  model: new Model(core, changed, opened().plan), trace: new TraceView(changed, opened().trace, JSON.stringify(exampleTrace)),
};
let current = 'explorer';
let started = false;

function address(): string {
  const state = { v: current, ...views[current]?.state() };
  const words = Object.entries(state).filter(([, value]) => value !== undefined && value !== '')
    .map(([key, value]) => `${key}=${encodeURIComponent(value as string)}`);
  const made = `#${words.join('&')}`;
  if (made.length <= LONGEST_ADDRESS) return made;
  status.textContent = 'This is too long for the address, so a link opens without it. Export keeps it as JSON.';
  return `#v=${current}`;
}

function read(hash: string): State {
  const state: State = {};
  for (const word of hash.replace(/^#/, '').split('&')) {
    const at = word.indexOf('=');
    if (at <= 0) continue;
    try {
      state[word.slice(0, at)] = decodeURIComponent(word.slice(at + 1));
    } catch {
      // A part that is not an encoded text says nothing.
    }
  }
  return state;
}

/** What `tessera view` was called with. */
function opened(): State {
  const text = (byId('opened').textContent ?? '').trim();
  return text === '' || text.startsWith('<') ? {} : JSON.parse(text) as State;
}

async function open(name: string, state: State): Promise<void> {
  current = views[name] ? name : 'explorer';
  const view = views[current] as View;
  for (const tab of document.querySelectorAll<HTMLElement>('[role=tab]')) {
    const on = tab.dataset.view === current;
    tab.setAttribute('aria-selected', String(on));
    tab.tabIndex = on ? 0 : -1;
    if (on) byId('view').setAttribute('aria-labelledby', tab.id);
  }
  byId('view').replaceChildren(view.element);
  view.repaint(theme());
  await view.restore(state);
}

const theme = (): Theme => (document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light');
function dress(which: Theme): void {
  document.documentElement.dataset.theme = which;
  byId('theme').setAttribute('aria-pressed', String(which === 'dark'));
  for (const view of Object.values(views)) view.repaint(which);
}

byId('theme').addEventListener('click', () => {
  dress(theme() === 'dark' ? 'light' : 'dark');
  try {
    localStorage.setItem('tessera-theme', theme());
  } catch {
    // A page from a file may have no storage; the theme then lasts as long as the page.
  }
});
for (const tab of document.querySelectorAll<HTMLElement>('[role=tab]')) {
  tab.addEventListener('click', () => { void open(tab.dataset.view as string, {}).then(changed); });
  tab.addEventListener('keydown', (event) => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const tabs = [...document.querySelectorAll<HTMLElement>('[role=tab]')];
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length] as HTMLElement;
    next.focus();
    next.click();
  });
}
const menu = byId<HTMLDetailsElement>('export');
for (const button of menu.querySelectorAll<HTMLElement>('[data-export]')) {
  button.addEventListener('click', () => {
    menu.open = false;
    void exportAs(button.dataset.export as string, `tessera-${current}`, views[current] as View)
      .then((words) => { status.textContent = words; });
  });
}
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  if (menu.open) {
    menu.open = false;
    menu.querySelector('summary')?.focus();
  } else if (!byId('busy').hidden) byId('cancel').click();
});
document.addEventListener('click', (event) => { if (!menu.contains(event.target as Node)) menu.open = false; });
window.addEventListener('hashchange', () => {
  const state = read(location.hash);
  void open(state.v ?? current, state);
});

let stored: string | null = null;
try {
  stored = localStorage.getItem('tessera-theme');
} catch {
  // As above.
}
dress(stored === 'dark' || stored === 'light' ? stored : matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
const state = location.hash.length > 1 ? read(location.hash) : opened();
void open(state.v ?? 'explorer', state).then(() => { started = true; });
