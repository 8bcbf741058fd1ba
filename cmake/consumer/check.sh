#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree into a prefix of its own, then builds and runs the programs of examples/cpp
# against it in two ways, through find_package and through pkg-config, and mpi.cc where there is MPI.
# usage: check.sh BUILD_DIR LIBDIR CXX [CXXFLAGS]
set -eu
build=$1 libdir=$2 cxx=$3 cxxflags=${4-}
here=$(cd "$(dirname "$0")" && pwd)
examples=$here/../../examples/cpp
work=$build/consumer
prefix=$work/prefix

rm -rf "$work"
cmake --install "$build" --prefix "$prefix" >/dev/null

# by_cmake SOURCE_DIR BUILD_DIR: a project that knows nothing but the prefix.
by_cmake() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$cxxflags"
  cmake --build "$2"
}

by_cmake "$examples" "$work/cpp"
"$work/cpp/tour"
"$work/cpp/reference" >/dev/null

by_cmake "$here" "$work/mpi"
case $cxxflags in
*-fsanitize*) ;; # Open MPI leaves memory behind when it ends
*)
  if [ -e "$prefix/$libdir/cmake/tessera/tessera-mpi-targets.cmake" ]; then
    timeout -k 5 300 "$work/mpi/consumer_mpi"
  fi
  ;;
esac

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
# The flags are lists of words: they must be split.
# shellcheck disable=SC2046,SC2086
"$cxx" $cxxflags "$examples/tour.cc" -o "$work/tour_by_pkg_config" \
  $(pkg-config --cflags --libs tessera)
"$work/tour_by_pkg_config"
