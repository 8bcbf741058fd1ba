#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a wheel of the module that a build tree has, installs it into a new virtual environment, and uses it there.
# usage: wheel.sh PYTHON BUILD
set -eu
python=$1 build=$(cd "$2" && pwd)
project=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TESSERA_NATIVE=$build/python/tessera TESSERA_SCRATCH=$work/scratch \
  "$python" -m build --wheel --no-isolation --outdir "$work" "$project" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/python" -m pip install -q --no-index --no-deps "$work"/tessera-*.whl
cd "$work"
"$work/venv/bin/python" - "$work" <<'PROGRAM'
import sys
import numpy as np
import tessera
assert tessera.__file__.startswith(sys.argv[1]), tessera.__file__
values = np.arange(53 * 63, dtype=np.float32).reshape(53, 63)
shards = tessera.relayout(values, "tensor<53x63xf32, pyflame.Grid(3, 2)>")
assert shards[2, 1, 129] == values[40, 33]
import pyflame as pf
assert pf.__file__.startswith(sys.argv[1]) and pf.eval(pf.relu(pf.ones([4, 6]) @ pf.ones([6, 2]))).tolist() == [[6.0, 6.0]] * 4
PROGRAM
# ONNX, where the module was built.
if [ -e "$build/python/tessera/modules/tessera_onnx.so" ]; then
  "$work/venv/bin/python" - <<'PROGRAM'
import tessera
graph = tessera.Graph({"tessera_graph": 1, "values": [{"name": "x", "kind": "input", "dtype": "f32", "shape": [4]}],
                       "nodes": [{"op": "relu", "inputs": ["x"], "outputs": ["y"]}], "outputs": ["y"]})
graph.save("relu.onnx")
assert tessera.Graph.read("relu.onnx").nodes[0]["op"] == "relu"
PROGRAM
fi
"$project/tests/document.sh" "$work/venv/bin/python"
# What it loads besides Python's own libraries must be in the wheel or on every system.
needed=$(ldd "$work"/venv/lib/python3*/site-packages/tessera/_native*.so | awk '{print $1}' |
  grep -vE 'linux-vdso|ld-linux|lib(c|m|gcc_s|stdc\+\+|z|hwy|pthread|dl)\.so') && { echo "needs $needed"; exit 1; }
! ldd "$work"/venv/lib/python3*/site-packages/tessera/_native*.so | grep hwy | grep -v "$work"
