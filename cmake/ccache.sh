#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a compiler through ccache, except where it builds a precompiled header: compilers recognise the
# files in one by their time stamps, which ccache does not compare. In a second checkout at the same
# path, a cached header would make gcc read files with `#pragma once` twice, and clang refuse it.
# The sloppiness is what the manual of ccache requires for sources that use precompiled headers.
for argument; do
  [ "$argument" = c++-header ] && exec "$@"
done
CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime exec ccache "$@"
