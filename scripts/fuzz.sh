#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of a build tree for some seconds, starting from the inputs in fuzz/corpus/<target>.
# New inputs and crashes stay in the build tree. A target that finds a fault does not keep the others from running; the
# exit status is 1 then.
# usage: fuzz.sh BUILD_DIR SECONDS
set -euo pipefail
build=$1 seconds=$2

shopt -s nullglob
sources=(fuzz/*_fuzz.cc)
if [[ ${#sources[@]} -eq 0 ]]; then
  echo "no fuzz targets in fuzz/"
  exit 0
fi
failed=()
for source in "${sources[@]}"; do
  target=$(basename "$source" .cc)
  found=$build/corpus/$target crashes=$build/crashes/$target
  mkdir -p "$found" "$crashes"
  seeds=()
  [[ -d fuzz/corpus/$target ]] && seeds=("fuzz/corpus/$target")
  if [[ ! -x $build/bin/$target ]]; then  # onnx_fuzz, where there is no libonnx
    echo "$target is not built here"
    continue
  fi
  echo "fuzzing $target for $seconds s"
  "$build/bin/$target" -max_total_time="$seconds" -timeout=60 -verbosity=0 -print_funcs=0 -print_final_stats=1 \
    -artifact_prefix="$crashes/" "$found" "${seeds[@]}" || failed+=("$target")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "faults were found by: ${failed[*]}"
  exit 1
fi
