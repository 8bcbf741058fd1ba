#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Shows what Tessera does, in a minute. Uses $TESSERA, or build/tessera.
set -eu
tessera=${TESSERA:-build/tessera}

say() {
  echo
  printf '# %s\n' "$@"
}
run() {
  printf '$ tessera'
  for word; do
    case $word in
      "$tiled") printf ' "$tiled"' ;;
      *[!A-Za-z0-9,._=/-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$tessera" "$@"
}

# Commands that answer "no" (1) or refuse their input (2) are part of the demonstration.
expect() {
  status=$1
  shift
  code=0
  run "$@" 2>&1 || code=$?
  if [ "$code" -ne "$status" ]; then
    echo "demo: expected exit status $status, found $code" >&2
    exit 1
  fi
  printf '(exit status %s)\n' "$code"
}

tiled='tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>>'

say 'A tensor of 53x63 on 3x2 cores: 18 rows and 32 columns per core, stored in one 32x32 tile.' \
    '18 does not divide 53 and 32 does not divide 18, so some slots are padding.'
printf "tiled='%s'\n" "$tiled"
run show "$tiled"

say 'Where is element (40, 33)? On core (2, 1), in row 4 and column 1 of its tile.'
run locate "$tiled" --index 40,33

say 'The inverse: what is in that slot? What is in the tile row after the last of the 18 rows?'
run locate "$tiled" --place 2,1 --slot 129
run locate "$tiled" --place 0,0 --slot 576

say 'The same description means something else in TTNN: data are cut at whole tiles, so a core row is empty.'
ttnn='tensor<53x63xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x2>, memref<1x1x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0, 0), (1, 2)>]>>>'
expect 1 diff "$tiled" "$ttnn"

say 'A Morello layout as an indexing expression: the slot of each element.'
run show 'tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>'

say 'Does a tensor fit one PE of a wafer? This one does not, and the answer is "no" (1).'
expect 1 show 'tensor<1024x1024xf32, pyflame.SinglePE()>' --target wse2

say 'Two descriptions of the same layout: two dims with strides, or one line cut at every 6th element.'
run diff 'tensor<4x6xf32, strided<[6, 1]>>' \
         'tensor<4x6xf32, native<{6*d0 + d1} / (6 -> mem*6, 1 -> mem)>>'

say 'Two different layouts: the first element that differs, and how many elements move.'
expect 1 diff 'tensor<4x6xf32, strided<[6, 1]>>' 'tensor<4x6xf32, strided<[1, 4]>>'

say 'The same placement in the notation of other systems, or why they cannot express it.'
run convert 'tensor<64x64xf16, pyflame.Grid(2, 2)>' --to dtensor
expect 1 convert "$tiled" --to morello

say 'What moves where: from rows in one memory to the tiles of 3x2 PEs, as plain loops.'
run relayout 'tensor<53x63xf32, strided<[63, 1]>>' 'tensor<53x63xf32, pyflame.Grid(3, 2)>'

say 'On a wafer: a transpose of 64x64 on 8x8 PEs: what crosses, what each link carries, how long it takes.'
run reshard 'tensor<64x64xf32, pyflame.Grid(8, 8)>' \
            'tensor<64x64xf32, pyflame.Grid(8, 8, dim_to_pe=[1, 0])>' --target wse2

say 'A gather that one PE cannot hold is a "no" (1), with alternatives.'
expect 1 reshard 'tensor<1024x1024xf32, pyflame.Grid(32, 32)>' \
                 'tensor<1024x1024xf32, pyflame.SinglePE()>' --target wse2

say 'Do the layouts of an MLIR file follow from its tensors? 53 rows on 3 cores are 18 per core, not 17.'
expect 1 check "$(dirname "$0")/shards.mlir"

say 'Programs send requests in JSON, one per line; an invalid one does not stop the others.'
printf '$ tessera locate --batch\n'
"$tessera" locate --batch <<'REQUESTS'
{"tensor": "tensor<4x6xf32, strided<[6, 1]>>", "index": [2, 3]}
{"tensor": "tensor<4x6xf32, strided<[6, 1]>>", "index": [9, 3]}
{"tensor": "tensor<4x6xf32, strided<[6, 1]>>", "place": [], "slot": 15}
REQUESTS

say 'An invalid text: the caret shows where, the help states what would be right.'
expect 2 show 'tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, x -> mem)>>'

say 'A model on a wafer: the multilayer perceptron of the PyFlame document, every op checked against the reference.'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tessera" graph --make mlp --out "$folder/mlp.json" > /dev/null
printf '$ tessera run mlp.json --target wse2 --random 1 --check\n'
"$tessera" run "$folder/mlp.json" --target wse2 --random 1 --check
