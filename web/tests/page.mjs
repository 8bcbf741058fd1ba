// SPDX-License-Identifier: Apache-2.0
// node page.mjs FOLDER --plan FILE [--pictures FOLDER]: clicks and types through the page in Chromium, as a reader
// does, measures it, and asks axe-core whether everyone can use it. The page is opened from its file, and
// any request that it made would fail the test. FILE is a plan of about 1,000 ops.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const folder = resolve(process.argv[2]);
const option = (name) => (process.argv.includes(name) ? process.argv[process.argv.indexOf(name) + 1] : null);
const pictures = option('--pictures');
const only = option('--only');
const url = pathToFileURL(join(folder, 'explorer.html')).href;
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
});
const measured = {};

async function open(hash = '', options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...options });
  const tab = await context.newPage();
  tab.setDefaultTimeout(120000);
  const trouble = [];
  tab.on('console', (message) => { if (message.type() === 'error') trouble.push(message.text()); });
  tab.on('pageerror', (error) => trouble.push(String(error)));
  tab.on('dialog', (dialog) => { trouble.push(`dialog ${dialog.message()}`); void dialog.dismiss(); });
  tab.on('request', (request) => {
    if (!/^(file|blob|data):/.test(request.url())) trouble.push(`request ${request.url()}`);
  });
  await tab.goto(url + hash);
  await until(tab, () => document.documentElement.dataset.ready !== undefined, 60000);
  return { tab, trouble, close: async () => { assert.deepEqual(trouble, []); await context.close(); } };
}
/** Waits until a function of the page is true. The page's policy allows no eval, so it is asked from here. */
async function until(tab, condition, most = 30000) {
  for (const from = Date.now(); Date.now() - from < most; await tab.waitForTimeout(50)) {
    if (await tab.evaluate(condition)) return;
  }
  throw new Error(`not within ${most} ms: ${condition}`);
}
const address = (state) => `#${Object.entries(state).map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join('&')}`;
const text = (tab, selector) => tab.locator(selector).innerText();
const settled = (tab) => tab.waitForTimeout(350);
async function type(tab, selector, words) {
  await tab.locator(selector).fill('');
  await tab.locator(selector).fill(words);
  await tab.locator(selector).dispatchEvent('input');
  await tab.keyboard.press('Escape');
  await settled(tab);
}
/** The middle of a cell of a grid that is shown as a whole: cells are centred in the canvas. */
async function clickAt(tab, selector, x, y) {
  const box = await tab.locator(selector).boundingBox();
  await tab.mouse.click(box.x + box.width * x, box.y + box.height * y);
  await settled(tab);
}
const GRID = 'tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, f32>, #tt.memory_space<l1>>>>';

const tests = {
  async 'starts and answers in time'() {
    const { tab, close } = await open();
    await settled(tab);
    measured.start_ms = Number(await tab.evaluate(() => document.documentElement.dataset.ready));
    const times = [];
    for (let i = 0; i < 20; ++i) {
      await type(tab, '#tensor-text', `tensor<${40 + i}x63xf32, pyflame.Grid(3, 2)>`);
      times.push(Number(await tab.evaluate(() => document.documentElement.dataset.ms)));
    }
    times.sort((a, b) => a - b);
    measured.answer_ms = times[times.length >> 1];
    await close();
  },
  async 'From a server it asks for the module and nothing else'() {
    const asked = [];
    const types = { '/': 'text/html', '/tessera.wasm': 'application/wasm' };
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(types[request.url] ? 200 : 404, { 'content-type': types[request.url] ?? 'text/plain' });
      response.end(types[request.url] ? readFileSync(join(folder, request.url === '/' ? 'index.html' : 'tessera.wasm')) : '');
    }).listen(0, '127.0.0.1');
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${server.address().port}/`);
    await until(tab, () => /3 × 2 = 6 places/.test(document.body.textContent));
    await tab.close();
    server.close();
    assert.deepEqual(asked, ['/', '/tessera.wasm']);
  },
  async 'Explorer: an element by its index, in every field'() {
    const { tab, close } = await open(address({ v: 'explorer', t: GRID }));
    await settled(tab);
    await tab.locator('#index').fill('40, 33');
    await tab.locator('#index').press('Enter');
    await settled(tab);
    assert.equal(await tab.locator('#place').inputValue(), '2, 1');
    assert.equal(await tab.locator('#slot').inputValue(), '129');
    assert.equal(await text(tab, '#byte'), '516');
    assert.match(await tab.evaluate(() => location.hash), /i=40%2C33/);
    await tab.locator('#place').fill('0, 0');
    await tab.locator('#slot').fill('576');
    await tab.locator('#slot').press('Enter');
    await settled(tab);
    assert.match(await text(tab, '.tip'), /padding: tile/);
    await close();
  },
  async 'Explorer: clicks link the three pictures'() {
    const { tab, close } = await open(address({ v: 'explorer', t: 'tensor<4x4xf32, pyflame.Grid(2, 2)>' }));
    await settled(tab);
    await clickAt(tab, '#tensor-canvas', 0.55, 0.55);
    assert.equal(await tab.locator('#index').inputValue(), '2, 2');
    assert.equal(await tab.locator('#place').inputValue(), '1, 1');
    const box = await tab.locator('#mesh-canvas').boundingBox();
    await tab.mouse.move(box.x + box.width / 2 - 10, box.y + box.height / 2 - 10);
    await settled(tab);
    assert.match(await text(tab, '.tip'), /place \[0, 0\]: 4 of 4 slots hold data/);
    await clickAt(tab, '#mesh-canvas', 0.48, 0.45);
    assert.equal(await tab.locator('#place').inputValue(), '0, 0');
    await tab.locator('#memory-canvas').focus();
    await tab.keyboard.press('ArrowRight');
    assert.match(await text(tab, '.tip'), /slot 1 of place \[0, 0\]: element \[0, 1\]/);
    await tab.keyboard.press('Enter');
    await settled(tab);
    assert.equal(await tab.locator('#index').inputValue(), '0, 1');
    await close();
  },
  async 'Explorer: completion by keys'() {
    const { tab, close } = await open();
    await tab.locator('#tensor-text').fill('');
    await tab.locator('#tensor-text').pressSequentially('tensor<64x64xf32, pyf');
    await tab.locator('.options li').first().waitFor();
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('Tab');
    await settled(tab);
    assert.equal(await tab.locator('#tensor-text').inputValue(), 'tensor<64x64xf32, pyflame.SinglePE()>');
    await close();
  },
  async 'Explorer: an error has a caret and help'() {
    const { tab, close } = await open();
    await type(tab, '#tensor-text', 'tensor<53x63xf32, strided<[63, z]>>');
    const fault = await text(tab, '.fault');
    assert.match(fault, /\^/);
    assert.equal(await tab.locator('#tensor-text').getAttribute('aria-invalid'), 'true');
    await close();
  },
  async 'Explorer: every notation, or why not'() {
    const { tab, close } = await open(address({ v: 'explorer', t: 'tensor<64x64xf16, pyflame.Grid(2, 2)>' }));
    await until(tab, () => [...document.querySelectorAll('.notations code')].length === 13 &&
      [...document.querySelectorAll('.notations code')].every((c) => c.textContent !== '..'));
    const words = await text(tab, '.notations');
    assert.match(words, /dtensor<mesh=\[2,2\], \[Shard\(0\), Shard\(1\)\]>/);
    assert.match(words, /strided has one place/);
    await tab.locator('.notations li', { hasText: 'gspmd' }).locator('button').click();
    await settled(tab);
    assert.match(await tab.locator('#tensor-text').inputValue(), /gspmd/);
    await close();
  },
  async 'Explorer: built by choices'() {
    const { tab, close } = await open();
    await tab.locator('summary', { hasText: 'Build one' }).click();
    await tab.locator('#build-kind').selectOption('tiles');
    await tab.locator('#build-shape').fill('40x40');
    await tab.locator('#build-shape').press('Enter');
    await tab.locator('#build-tile').fill('8x8');
    await tab.locator('#build-tile').press('Tab');
    await settled(tab);
    assert.match(await tab.locator('#tensor-text').inputValue(), /morello.*Packed\(8\)/);
    assert.equal(await tab.locator('.fault').count(), 0);
    await tab.locator('#build-kind').selectOption('cuts');
    await tab.locator('#build-align').fill('16, 8');
    await tab.locator('#build-align').press('Enter');
    await settled(tab);
    assert.match(await tab.locator('#tensor-text').inputValue(), /native<mesh=\[3, 2\]/);
    // 14 of 40 rows on each place are 2 tiles of 8; 20 columns 3 of them.
    assert.match(await text(tab, '[aria-label=Numbers]'), /384 slots/);
    await tab.locator('#build-kind').selectOption('metal');
    await tab.locator('#build-shape').fill('2x40x40');
    await tab.locator('#build-shape').press('Enter');
    await tab.locator('#build-intervals').fill('0:2, 2:3');
    await tab.locator('#build-intervals').press('Enter');
    await settled(tab);
    assert.equal(await tab.locator('.fault').count(), 0);
    assert.match(await tab.locator('#tensor-text').inputValue(), /collapsed_intervals = dense<\[\[0, 2\], \[2, 3\]\]>/);
    await close();
  },
  async 'Explorer: every TTNN layout by choices'() {
    const { tab, close } = await open();
    await tab.locator('summary', { hasText: 'Build one' }).click();
    await tab.locator('#build-kind').selectOption('ttnn');
    for (const shape of ['53x63', '2x40x96', '64']) {
      await tab.locator('#build-shape').fill(shape);
      for (const tile of ['32x32', '']) {
        await tab.locator('#build-tile').fill(tile);
        for (const [mode, spaces] of Object.entries({
          interleaved: ['dram', 'l1', 'system'], height_sharded: ['l1'], width_sharded: ['l1'], block_sharded: ['l1'] })) {
          await tab.locator('#build-mode').selectOption(mode);
          for (const space of spaces) {
            await tab.locator('#build-space').selectOption(space);
            await tab.waitForTimeout(60);
            const words = await tab.locator('.fault').count() > 0 ? await text(tab, '.fault') : '';
            assert.equal(words, '', `${await tab.locator('#tensor-text').inputValue()}: ${words}`);
          }
        }
      }
    }
    await close();
  },
  async 'Explorer: a wafer of 745,500 places redraws in 8 ms'() {
    const { tab, close } = await open(address({ v: 'explorer', t: 'tensor<9940x7500xf16, pyflame.Grid(994, 750)>' }));
    await tab.waitForTimeout(1500);
    assert.match(await text(tab, 'section[aria-label=Mesh]'), /745,500 places/);
    const box = await tab.locator('#mesh-canvas').boundingBox();
    await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await tab.evaluate(() => performance.clearMeasures('redraw'));
    for (let i = 0; i < 12; ++i) {
      await tab.mouse.wheel(0, i < 6 ? -400 : 400);
      await tab.waitForTimeout(120);
    }
    const redraws = await tab.evaluate(() => performance.getEntriesByName('redraw').map((e) => e.duration).sort((a, b) => a - b));
    measured.redraw_ms = redraws[redraws.length >> 1];
    measured.slowest_redraw_ms = redraws.at(-1);
    await clickAt(tab, '#mesh-canvas', 0.5, 0.5);
    assert.notEqual(await tab.locator('#place').inputValue(), '');
    await close();
  },
  async 'Compare: what moves, over the mesh and step by step'() {
    const { tab, close } = await open(address({ v: 'compare', a: 'tensor<64x64xf16, pyflame.Grid(4, 1)>', b: 'tensor<64x64xf16, pyflame.Grid(1, 4)>' }));
    await settled(tab);
    await until(tab, () => /bytes between places/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.locator('#target').selectOption('wse2');
    await tab.locator('table').first().waitFor();
    assert.match(await tab.locator('table').first().innerText(), /exchange/);
    await tab.locator('#play').click();
    await tab.waitForTimeout(300);
    assert.equal(await tab.locator('#play').innerText(), 'Pause');
    await tab.locator('#play').click();
    await tab.locator('#heat').click();
    await clickAt(tab, '#change-canvas', 0.5, 0.5);
    assert.match(await text(tab, '.tip'), /^element \[/);
    await tab.locator('#transfer-canvas').focus();
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('ArrowDown');
    assert.match(await text(tab, '.tip'), /^place \[1, 0\]: sends/);
    await tab.locator('#swap').click();
    await settled(tab);
    assert.match(await tab.locator('#text-a').inputValue(), /Grid\(1, 4\)/);
    await tab.locator('#pairs').selectOption('4');
    await settled(tab);
    await until(tab, () => /bytes within places/.test(document.querySelector('[aria-label=Result]').textContent));
    await close();
  },
  async 'Memory: the slider finds what fits'() {
    const { tab, close } = await open(address({ v: 'memory' }));
    await until(tab, () => /Fits/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.locator('#capacity').focus();
    await tab.keyboard.press('Home');
    await until(tab, () => /Does not fit/.test(document.querySelector('[aria-label=Result]').textContent));
    assert.match(await text(tab, '[aria-label=Result]'), /buffers need/);
    await tab.keyboard.press('End');
    await until(tab, () => /Fits/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.locator('#plan-canvas').focus();
    await tab.keyboard.press('ArrowRight');
    assert.match(await text(tab, '.tip'), /bytes at/);
    await type(tab, '#buffers', 'id,lower,upper,size\na,0,5,x');
    await tab.locator('.fault').waitFor();
    await close();
  },
  async 'Model: ops, values, another layout, pins'() {
    const { tab, close } = await open(address({ v: 'model' }));
    await until(tab, () => /planned/.test(document.querySelector('[aria-label=Result]').textContent));
    const ops = await tab.locator('.choices tbody tr').count();
    assert.ok(ops >= 3);
    await tab.locator('.choices tbody tr').nth(1).locator('button').click();
    await settled(tab);
    assert.match(await tab.evaluate(() => location.hash), /o=1/);
    assert.equal(await tab.locator('.choices tr[aria-current=true]').count(), 1);
    const value = tab.locator('[aria-label=Selection] [data-value]').first();
    const name = await value.innerText();
    await value.click();
    const planned = await tab.locator('#value-layout').inputValue();
    assert.match(planned, /^tensor</);
    const before = await text(tab, '[aria-label=Result] .big');
    await tab.locator('#value-layout').fill('pyflame.Grid(4, 4)');
    await tab.locator('#difference').waitFor();
    assert.match(await text(tab, '#difference'), /slower|faster|as planned/);
    assert.match(await tab.evaluate(() => decodeURIComponent(location.hash)), /pins=.*pyflame/);
    // Divided as it is laid out, its op runs on 16 places instead of 32,768.
    const kept = await text(tab, '#difference');
    await tab.locator('#divide').check();
    await tab.locator('#difference', { hasNotText: kept }).waitFor();
    assert.match(await text(tab, '#difference'), /slower/);
    await tab.locator('#divide').uncheck();
    await tab.locator('#difference', { hasText: kept }).waitFor();
    const [download] = await Promise.all([tab.waitForEvent('download'), tab.locator('#pins').click()]);
    assert.equal(readFileSync(await download.path(), 'utf8'), `${name}: pyflame.Grid(4, 4)\n`);
    await tab.locator('#value-layout').fill('pyflame.SinglePE()');
    await until(tab, () => /Does not fit/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.locator('#value-layout').fill('pyflame.Grid(2, <script>');
    await until(tab, () => !/Does not fit/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.locator('[aria-label=Result] .bad').waitFor();
    await tab.locator('.pins button', { hasText: 'Undo' }).click();
    await until(tab, () => document.querySelector('#difference') === null);
    assert.equal(await text(tab, '[aria-label=Result] .big'), before);
    await tab.locator('#model-canvas').focus();
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('Enter');
    await settled(tab);
    assert.match(await tab.evaluate(() => location.hash), /o=3/);  // two after the selected one
    const box = await tab.locator('#live-canvas').boundingBox();
    await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    assert.match(await text(tab, '.tip'), /moment \d+.*bytes/);
    await tab.locator('#live-canvas').focus();
    await tab.keyboard.press('ArrowRight');
    assert.match(await text(tab, '.tip'), /moment 0,/);
    await tab.locator('#time-canvas').focus();
    await tab.keyboard.press('ArrowLeft');
    await tab.keyboard.press('Enter');
    await settled(tab);
    assert.match(await tab.evaluate(() => location.hash), /o=2/);
    await tab.locator('#open-plan').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"tessera_plan": 2}') });
    assert.match(await text(tab, '.fault'), /format 1/);
    const damaged = { tessera_plan: 1, cycles: 1, values: [], ops: [{}], buffers: [], graph: { nodes: [], values: [] }, model: { name: '<b>' }, target: { name: 'x' } };
    await tab.locator('#open-plan').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(damaged)) });
    await tab.locator('.fault', { hasText: 'damaged' }).waitFor();
    await close();
  },
  async 'Model: a file with a plan of a model of 1,000 ops is usable within 3 s'() {
    const file = join(mkdtempSync(join(tmpdir(), 'tessera-')), 'large.html');
    const large = readFileSync(option('--plan'), 'utf8');
    const count = JSON.parse(large).ops.length;
    assert.ok(count >= 900, `${count} ops`);
    writeFileSync(file, readFileSync(join(folder, 'explorer.html'), 'utf8').replace('<!--OPENED-->',
      () => JSON.stringify({ v: 'model', plan: large }).replaceAll('<', '\\u003c')));
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const tab = await context.newPage();
    const from = Date.now();
    await tab.goto(pathToFileURL(file).href);
    await until(tab, () => /planned/.test(document.querySelector('[aria-label=Result]')?.textContent ?? ''));
    assert.ok((await text(tab, '[aria-label=Result]')).includes(`${count.toLocaleString('en-US')} ops`));
    await tab.locator('.choices tbody tr').nth(5).locator('button').click();
    await until(tab, () => document.querySelector('tr[aria-current=true]') !== null);
    measured.large_plan_ms = Date.now() - from;
    await until(tab, () => document.documentElement.dataset.ready !== undefined);
    await tab.evaluate(() => performance.clearMeasures('model-redraw'));
    const box = await tab.locator('#model-canvas').boundingBox();
    await tab.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    for (let i = 0; i < 10; ++i) {
      await tab.mouse.wheel(0, i < 5 ? 400 : -400);
      await tab.waitForTimeout(60);
    }
    const redraws = await tab.evaluate(() => performance.getEntriesByName('model-redraw').map((e) => e.duration).sort((a, b) => a - b));
    measured.model_redraw_ms = redraws[redraws.length >> 1];
    await tab.locator('[aria-label=Selection] [data-value]').last().click();
    const asked = Date.now();
    await tab.locator('#value-layout').fill('pyflame.Grid(4, 4)');
    await tab.locator('#difference').waitFor();
    measured.large_price_ms = Date.now() - asked;
    await context.close();
    assert.ok(measured.large_plan_ms < 3000 || !process.env.TESSERA_TIMES, `${measured.large_plan_ms} ms`);
  },
  async 'Trace: slices by mouse and keys, and files that are none'() {
    const { tab, close } = await open(address({ v: 'trace' }));
    await until(tab, () => /cycles/.test(document.querySelector('[aria-label=Result]').textContent));
    const box = await tab.locator('#trace-canvas').boundingBox();
    await tab.mouse.move(box.x + box.width * 0.3, box.y + 31);
    assert.match(await text(tab, '.tip'), /links: bring .* cycles from/);
    await tab.mouse.click(box.x + box.width * 0.3, box.y + 31);
    await settled(tab);
    assert.match(await tab.evaluate(() => location.hash), /s=0\.0/);
    assert.match(await text(tab, '[aria-label=Selection]'), /buffers/);
    await tab.locator('#trace-canvas').focus();
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('Enter');
    await settled(tab);
    assert.match(await text(tab, '[aria-label=Selection]'), /class of places 1/);
    const slices = Array.from({ length: 100000 }, (_, i) => ({ ph: 'X', pid: i % 300, tid: 0, ts: i, dur: 50, name: `<b>${i}` }));
    const give = (words) => tab.locator('#open-trace').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from(words) });
    await give(JSON.stringify({ traceEvents: [null, 3, { ph: 'X', ts: 'x' }, ...slices] }));
    await until(tab, () => /100,000/.test(document.querySelector('[aria-label=Result]').textContent));
    await tab.evaluate(() => performance.clearMeasures('trace-redraw'));
    for (let i = 0; i < 8; ++i) {
      await tab.mouse.move(box.x + box.width * 0.5, box.y + 60 + i);
      await tab.mouse.wheel(0, i < 4 ? -400 : 400);
      await tab.waitForTimeout(60);
    }
    const redraws = await tab.evaluate(() => performance.getEntriesByName('trace-redraw').map((e) => e.duration).sort((a, b) => a - b));
    measured.trace_redraw_ms = redraws[redraws.length >> 1];
    await give('{"traceEvents": {}}');
    assert.match(await text(tab, '.fault'), /no trace/);
    await close();
  },
  async 'The address keeps what is shown; exports are files'() {
    const { tab, close } = await open(address({ v: 'explorer', t: 'tensor<4x4xf32, pyflame.Grid(2, 2)>', i: '3,3' }));
    await until(tab, () => document.querySelector('#place')?.value === '1, 1');
    for (const [kind, start] of [['svg', '<svg'], ['png', '\x89PNG'], ['json', '{']]) {
      await tab.locator('#export summary').click();
      const [download] = await Promise.all([tab.waitForEvent('download'), tab.locator(`[data-export=${kind}]`).click()]);
      const bytes = readFileSync(await download.path(), 'latin1');
      assert.ok(bytes.startsWith(start), kind);
    }
    // The SVG of every view is one of lines and texts, and well formed.
    for (const view of ['explorer', 'compare', 'memory', 'model', 'trace']) {
      await tab.locator(`#tab-${view}`).click();
      await tab.waitForTimeout(700);
      await tab.locator('#export summary').click();
      const [download] = await Promise.all([tab.waitForEvent('download'), tab.locator('[data-export=svg]').click()]);
      const svg = readFileSync(await download.path(), 'utf8');
      const found = await tab.evaluate((words) => {
        const picture = new DOMParser().parseFromString(words, 'image/svg+xml');
        return [picture.querySelectorAll('parsererror').length, picture.querySelectorAll('path').length, picture.querySelectorAll('text').length];
      }, svg);
      assert.equal(found[0], 0, view);
      assert.ok(found[1] > 0 && found[2] > 3, `${view}: ${found}`);
    }
    await close();
  },
  async 'Keys alone reach every part'() {
    const { tab, close } = await open();
    const seen = new Set();
    for (let i = 0; i < 60; ++i) {
      await tab.keyboard.press('Tab');
      seen.add(await tab.evaluate(() => document.activeElement.id || document.activeElement.tagName));
    }
    for (const id of ['tab-explorer', 'theme', 'tensor-text', 'examples', 'index', 'tensor-canvas', 'mesh-canvas', 'memory-canvas']) {
      assert.ok(seen.has(id), `${id} of ${[...seen]}`);
    }
    await tab.locator('#tab-model').click();
    await settled(tab);
    for (let i = 0; i < 40; ++i) {
      await tab.keyboard.press('Tab');
      seen.add(await tab.evaluate(() => document.activeElement.id || document.activeElement.className));
    }
    for (const id of ['open-plan', 'pins', 'model-canvas', 'space', 'scroll choices', 'small link']) {
      assert.ok(seen.has(id), `${id} of ${[...seen]}`);
    }
    await tab.locator('#tab-explorer').focus();
    await tab.keyboard.press('ArrowRight');
    await settled(tab);
    assert.equal(await tab.locator('#tab-compare').getAttribute('aria-selected'), 'true');
    await tab.locator('#tab-explorer').click();
    await type(tab, '#tensor-text', 'tensor<7x7xf32, strided<[7, 1]>>');
    await tab.locator('#tab-memory').click();
    await tab.locator('#tab-explorer').click();
    assert.equal(await tab.locator('#tensor-text').inputValue(), 'tensor<7x7xf32, strided<[7, 1]>>');
    await close();
  },
  async 'Hostile texts are only texts'() {
    const { tab, close } = await open(address({ v: 'explorer', t: '<img src=x onerror=alert(1)><script>alert(2)</script>' }));
    await settled(tab);
    assert.equal(await tab.locator('main img, main script').count(), 0);
    const long = `tensor<${'9x'.repeat(500000)}f32, <script>alert(3)</script>>`;
    const from = Date.now();
    await type(tab, '#tensor-text', long);
    await tab.locator('.fault').waitFor();
    measured.megabyte_ms = Date.now() - from;
    await type(tab, '#tensor-text', 'tensor<4x4xf32, strided<[4, 1]>>');
    assert.equal(await tab.locator('.fault').count(), 0);
    await close();
  },
  async 'A long question can be cancelled'() {
    const { tab, close } = await open(address({ v: 'memory' }));
    await settled(tab);
    // Alignment keeps every plan above the bytes that are live, so there is no early proof.
    const lines = ['id,lower,upper,size,alignment'];
    let seed = 7;
    const roll = (most) => { seed = (seed * 48271) % 2147483647; return seed % most; };
    for (let i = 0; i < 900; ++i) {
      const from = roll(60);
      lines.push(`b${i},${from},${from + 1 + roll(12)},${3000 + roll(1000)},64`);
    }
    await tab.locator('#buffers').fill(lines.join('\n'));
    await tab.locator('#cancel').waitFor({ state: 'visible', timeout: 10000 });
    await tab.locator('#cancel').click();
    assert.equal(await text(tab, '#status'), 'Cancelled.');
    await tab.locator('#tab-explorer').click();
    await settled(tab);
    assert.notEqual(await tab.locator('#place').inputValue(), '');
    await close();
  },
  async 'axe-core finds nothing, in both themes'() {
    for (const colorScheme of ['light', 'dark']) {
      const { tab, trouble } = await open('', { colorScheme, bypassCSP: true });
      for (const view of ['explorer', 'compare', 'memory', 'model', 'trace']) {
        await tab.locator(`#tab-${view}`).click();
        await tab.waitForTimeout(1200);
        await tab.evaluate(axe);
        const found = await tab.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }));
        const findings = found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' | ')}`);
        assert.deepEqual(findings, [], `${view}, ${colorScheme}`);
      }
      assert.deepEqual(trouble, []);
      await tab.context().close();
    }
  },
};

if (pictures) {
  mkdirSync(pictures, { recursive: true });
  const sizes = { desktop: [1440, 900], tablet: [820, 1180], phone: [390, 844] };
  const shown = {
    explorer: { v: 'explorer', t: GRID, i: '40,33' },
    wafer: { v: 'explorer', t: 'tensor<9940x7500xf16, pyflame.Grid(994, 750)>' },
    compare: { v: 'compare', a: 'tensor<64x64xf32, pyflame.Grid(2, 2)>', b: 'tensor<64x64xf32, pyflame.Grid(8, 4)>', m: 'wse2' },
    memory: { v: 'memory' },
    model: { v: 'model', o: '1' },
    trace: { v: 'trace', s: '1.0' },
  };
  for (const [view, state] of Object.entries(shown)) {
    for (const colorScheme of ['light', 'dark']) {
      for (const [size, [width, height]] of Object.entries(sizes)) {
        const { tab, close } = await open(address(state), { colorScheme, viewport: { width, height } });
        await tab.waitForTimeout(1500);
        await tab.screenshot({ path: `${pictures}/${view}-${colorScheme}-${size}.png`, fullPage: size !== 'desktop' });
        await close();
      }
    }
  }
}

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (only && !name.includes(only)) continue;
  try {
    await test();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED  ${name}\n${String(error.stack ?? error).split('\n').slice(0, 14).join('\n')}`);
  }
}
await browser.close();
console.log(JSON.stringify(measured));
const bounds = { start_ms: 1000, answer_ms: 20, redraw_ms: 8, large_plan_ms: 3000, model_redraw_ms: 8, trace_redraw_ms: 8 };
for (const [name, bound] of Object.entries(bounds)) {
  if (measured[name] !== undefined && measured[name] > bound) {
    console.log(`SLOW    ${name} is ${measured[name]}, above ${bound}`);
    // A machine under load is not the page's fault; TESSERA_TIMES makes it one.
    if (process.env.TESSERA_TIMES) failed++;
  }
}
process.exit(failed === 0 ? 0 : 1);
