#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the module without optimisation, and compares its answers with the command's on some layouts of
# every notation. Exits with 77, which ctest shows as skipped, where packages/explorer.txt is missing.
# usage: module.sh BUILD WEB_REQUESTS
set -euo pipefail
build=$1
requests=$2

for tool in clang++-19 wasm-ld-19 node; do
  command -v "$tool" > /dev/null || { echo "skipped: there is no $tool (packages/explorer.txt)"; exit 77; }
done
probe=$(clang++-19 --target=wasm32-wasi -print-file-name=libc++.a)
[[ -e $probe ]] || { echo "skipped: there is no C++ library for wasm32 (packages/explorer.txt)"; exit 77; }

cmake -S web -B "$build" -G Ninja --toolchain "$PWD/cmake/wasm_toolchain.cmake" -DTESSERA_WEB_OPTIMISE=-O0 > /dev/null
cmake --build "$build" -j 2
"$requests" 130 40 | node web/tests/answers.mjs "$build/tessera.wasm"
