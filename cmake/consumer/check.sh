#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree into a prefix of its own and builds the consumer against it in two ways.
# usage: check.sh BUILD_DIR LIBDIR CXX [CXXFLAGS]
set -eu
build=$1 libdir=$2 cxx=$3 cxxflags=${4-}
source=$(cd "$(dirname "$0")" && pwd)
work=$build/consumer
prefix=$work/prefix

rm -rf "$work"
cmake --install "$build" --prefix "$prefix" >/dev/null

cmake -S "$source" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$cxxflags"
cmake --build "$work/build"
"$work/build/consumer"
case $cxxflags in
*-fsanitize*) ;; # Open MPI leaves memory behind when it ends
*)
  if [ -e "$prefix/$libdir/cmake/tessera/tessera-mpi-targets.cmake" ]; then
    timeout -k 5 300 "$work/build/consumer_mpi"
  fi
  ;;
esac

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
# The flags are lists of words: they must be split.
# shellcheck disable=SC2046,SC2086
"$cxx" -std=c++20 $cxxflags "$source/main.cc" -o "$work/by_pkg_config" \
  $(pkg-config --cflags --libs tessera)
"$work/by_pkg_config"
