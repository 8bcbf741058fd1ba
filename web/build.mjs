// SPDX-License-Identifier: Apache-2.0
// node build.mjs WASM FOLDER: the page in two forms.
//   explorer.html             one file with everything in it: what `tessera view` fills
//   index.html, tessera.wasm  for a server; tessera.wasm.br is the module for servers that send it so
// The policy in each allows its own code and style, by their hashes, and nothing from outside.
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const [wasm, folder] = process.argv.slice(2);
if (!wasm || !folder) {
  console.error('usage: node build.mjs tessera.wasm FOLDER');
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
const policy = (more) => [
  "default-src 'none'", `script-src ${hash(code)} 'wasm-unsafe-eval'`, `style-src ${hash(style)}`,
  'img-src data: blob:', 'worker-src blob:', "base-uri 'none'", "form-action 'none'", ...more,
].join('; ');
const template = readFileSync(join(here, 'page', 'index.html'), 'utf8');
/** The page with the element that holds the module, or says where it is. */
function page(module, more) {
  const parts = {
    POLICY: `<meta http-equiv="Content-Security-Policy" content="${policy(more)}">`,
    STYLE: `<style>${style}</style>`, MODULE: module, CODE: `<script>${code}</script>`,
  };
  return Object.entries(parts).reduce((text, [name, value]) => text.split(`<!--${name}-->`).join(value), template);
}
const module = readFileSync(wasm);
const packed = gzipSync(module, { level: 9 }).toString('base64');
const squeezed = brotliCompressSync(module, {
  params: { [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: module.length },
});
const alone = page(`<script type="application/octet-stream" id="module">${packed}</script>`, []);
const served = page('<script type="application/octet-stream" id="module" data-src="tessera.wasm"></script>',
  ["connect-src 'self'"]);
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'explorer.html'), alone);
writeFileSync(join(folder, 'index.html'), served);
copyFileSync(wasm, join(folder, 'tessera.wasm'));
writeFileSync(join(folder, 'tessera.wasm.br'), squeezed);
console.log(`explorer.html: ${alone.length} bytes; from a server: ${squeezed.length + gzipSync(served).length} bytes compressed`);
