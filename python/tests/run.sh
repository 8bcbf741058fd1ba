#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package in the package's folder of a build tree, where `tessera` is found.
# usage: run.sh PYTHON BUILD [ARGUMENT..]    arguments are those of pytest
set -eu
python=$1 build=$2
shift 2
tests=$(cd "$(dirname "$0")" && pwd)
cd "$build/python"
PYTHONPATH=$PWD PYTHONDONTWRITEBYTECODE=1 exec "$python" -m pytest -q -p no:cacheprovider --rootdir "$tests" \
  -c /dev/null "$tests" "$@"
