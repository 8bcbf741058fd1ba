#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the program of PyFlame's document, where the document is, with an interpreter that has the packages.
# usage: document.sh PYTHON
set -eu
python=$1
project=$(cd "$(dirname "$0")/../.." && pwd)
document=$(grep -ls '^## 9. Example: Memory-Aware Model Design' "$project"/../shared/seeds/*.txt | head -n 1)
if [ -z "$document" ]; then
  echo "left out: the program of the PyFlame document, which is not in ../shared/seeds"
  exit 0
fi
printed=$(sed -n '/^## 9\. Example/,/^## 10/p' "$document" | sed -n '/^```python$/,/^```$/p' | grep -v '^```' | "$python" -)
echo "$printed"
echo "$printed" | grep -qx 'Output shape: (32, 10)'
