#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the packages for an interpreter that has PyTorch 2 (Debian 12 has 1.13), and records what tessera.torch makes
# of it. Needs what packages/build.txt and packages/python.txt list, pytest and hypothesis apart.
# usage: record_torch.sh PYTHON BUILD [RECORD]    BUILD is a folder to build in; CMAKE_ARGS has options for CMake
set -eu
python=$1 build=$2 record=${3:-$2/torch.txt}
project=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2086
cmake -S "$project" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTESSERA_PYTHON=ON \
  -DPython_EXECUTABLE="$(command -v "$python")" ${CMAKE_ARGS:-}
cmake --build "$build" --target tessera_python -j "$(nproc)"
PYTHONPATH=$build/python "$python" "$project/python/tests/record_torch.py" --out "$record"
