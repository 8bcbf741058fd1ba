// SPDX-License-Identifier: Apache-2.0
// node build.mjs WASM OUT: one HTML file with everything in it: the page, its style, its code and the
// module. Its policy allows these, by their hashes, and nothing else.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, out] = process.argv.slice(2);
if (!wasm || !out) {
  console.error('usage: node build.mjs tessera.wasm explorer.html');
  process.exit(2);
}
const bundle = async (entry, define = {}) => {
  const made = await build({
    entryPoints: [join(here, 'page', entry)], bundle: true, minify: true, write: false,
    format: 'iife', target: 'es2022', legalComments: 'none', define,
  });
  return made.outputFiles[0].text.trim();
};
const worker = await bundle('worker.ts');
const code = (await bundle('main.ts', { WORKER_SOURCE: JSON.stringify(worker) }))
  .replaceAll('</script', '<\\/script');
const style = (await build({
  entryPoints: [join(here, 'page', 'style.css')], minify: true, write: false, loader: { '.css': 'css' },
})).outputFiles[0].text.trim();
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(code)} 'wasm-unsafe-eval'`, `style-src ${hash(style)}`,
  'img-src data: blob:', 'worker-src blob:', "base-uri 'none'", "form-action 'none'",
].join('; ');
const packed = gzipSync(readFileSync(wasm), { level: 9 }).toString('base64');
const fill = (text, name, value) => text.split(`<!--${name}-->`).join(value);
let page = readFileSync(join(here, 'page', 'index.html'), 'utf8');
page = fill(page, 'POLICY', `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
page = fill(page, 'STYLE', `<style>${style}</style>`);
page = fill(page, 'MODULE', `<script type="application/octet-stream" id="module">${packed}</script>`);
page = fill(page, 'CODE', `<script>${code}</script>`);
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, page);
console.log(`${out}: ${page.length} bytes, ${gzipSync(page).length} by gzip`);
