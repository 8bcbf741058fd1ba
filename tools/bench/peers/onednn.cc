// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <memory>

#include "tools/bench/peers/peer.h"

// Reorders and products of oneDNN 2.x, through its C interface:
// https://oneapi-src.github.io/oneDNN/v2.6/dev_guide_reorder.html
// https://oneapi-src.github.io/oneDNN/v2.6/dev_guide_matmul.html
namespace tessera::tools {
namespace {

static_assert(kPeerRank == DNNL_MAX_NDIMS);

/// Destroys the created objects in reverse order.
struct Reorder {
  int threads = 1;
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_memory_t source = nullptr;
  dnnl_memory_t destination = nullptr;
  dnnl_primitive_desc_t description = nullptr;
  dnnl_primitive_t primitive = nullptr;

  ~Reorder() {
    if (primitive != nullptr) dnnl_primitive_destroy(primitive);
    if (description != nullptr) dnnl_primitive_desc_destroy(description);
    if (destination != nullptr) dnnl_memory_destroy(destination);
    if (source != nullptr) dnnl_memory_destroy(source);
    if (stream != nullptr) dnnl_stream_destroy(stream);
    if (engine != nullptr) dnnl_engine_destroy(engine);
  }
};

dnnl_memory_desc_t description_of(const PeerMove& move, const PeerSide& side) {
  dnnl_memory_desc_t d = {};
  d.ndims = move.rank;
  d.data_type = move.element_bytes == 4 ? dnnl_f32 : move.element_bytes == 2 ? dnnl_bf16 : dnnl_s8;
  d.format_kind = dnnl_blocked;
  std::copy_n(move.dims, move.rank, d.dims);
  std::copy_n(side.padded, move.rank, d.padded_dims);
  dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  std::copy_n(side.strides, move.rank, blocking.strides);
  blocking.inner_nblks = side.blocks;
  std::copy_n(side.block_sizes, side.blocks, blocking.inner_blks);
  std::copy_n(side.block_dims, side.blocks, blocking.inner_idxs);
  return d;
}

void* prepare(const PeerMove* move) {
  if (move->rank == 0) return nullptr;
  omp_set_num_threads(move->threads);
  const dnnl_memory_desc_t from = description_of(*move, move->source);
  const dnnl_memory_desc_t to = description_of(*move, move->destination);
  auto reorder = std::make_unique<Reorder>();
  reorder->threads = move->threads;
  const bool made =
      dnnl_engine_create(&reorder->engine, dnnl_cpu, 0) == dnnl_success &&
      dnnl_stream_create(&reorder->stream, reorder->engine, dnnl_stream_default_flags) ==
          dnnl_success &&
      dnnl_memory_create(&reorder->source, &from, reorder->engine, const_cast<void*>(move->from)) ==
          dnnl_success &&
      dnnl_memory_create(&reorder->destination, &to, reorder->engine, move->to) == dnnl_success &&
      dnnl_reorder_primitive_desc_create(&reorder->description, &from, reorder->engine, &to,
                                         reorder->engine, nullptr) == dnnl_success &&
      dnnl_primitive_create(&reorder->primitive, reorder->description) == dnnl_success;
  return made ? reorder.release() : nullptr;
}

int run(void* prepared) {
  const auto* reorder = static_cast<Reorder*>(prepared);
  omp_set_num_threads(reorder->threads);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, reorder->source},
                                       {DNNL_ARG_TO, reorder->destination}};
  if (dnnl_primitive_execute(reorder->primitive, reorder->stream, 2, arguments) != dnnl_success) {
    return 1;
  }
  return dnnl_stream_wait(reorder->stream) == dnnl_success ? 0 : 1;
}

void forget(void* prepared) { delete static_cast<Reorder*>(prepared); }

/// By the function for row-major matrices.
int multiply(std::int64_t n, const float* a, const float* b, float* c) {
  omp_set_num_threads(1);
  return dnnl_sgemm('N', 'N', n, n, n, 1, a, n, b, n, 0, c, n) == dnnl_success ? 0 : 1;
}

/// By the primitive, made anew for each product: that takes microseconds, as oneDNN keeps its code.
int multiply_by_primitive(std::int64_t n, const float* a, const float* b, float* c) {
  omp_set_num_threads(1);
  const dnnl_dims_t dims = {n, n};
  dnnl_memory_desc_t matrix = {};
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_memory_t memories[3] = {};
  dnnl_primitive_desc_t description = nullptr;
  dnnl_primitive_t primitive = nullptr;
  dnnl_matmul_desc_t operation = {};
  void* const data[3] = {const_cast<float*>(a), const_cast<float*>(b), c};
  bool made =
      dnnl_memory_desc_init_by_tag(&matrix, 2, dims, dnnl_f32, dnnl_ab) == dnnl_success &&
      dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
      dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success &&
      dnnl_matmul_desc_init(&operation, &matrix, &matrix, nullptr, &matrix) == dnnl_success &&
      dnnl_primitive_desc_create(&description, &operation, nullptr, engine, nullptr) ==
          dnnl_success &&
      dnnl_primitive_create(&primitive, description) == dnnl_success;
  for (int i = 0; i < 3; ++i) {
    made = made && dnnl_memory_create(&memories[i], &matrix, engine, data[i]) == dnnl_success;
  }
  const dnnl_exec_arg_t arguments[] = {
      {DNNL_ARG_SRC, memories[0]}, {DNNL_ARG_WEIGHTS, memories[1]}, {DNNL_ARG_DST, memories[2]}};
  made = made && dnnl_primitive_execute(primitive, stream, 3, arguments) == dnnl_success &&
         dnnl_stream_wait(stream) == dnnl_success;
  for (dnnl_memory_t memory : memories) {
    if (memory != nullptr) dnnl_memory_destroy(memory);
  }
  if (primitive != nullptr) dnnl_primitive_destroy(primitive);
  if (description != nullptr) dnnl_primitive_desc_destroy(description);
  if (stream != nullptr) dnnl_stream_destroy(stream);
  if (engine != nullptr) dnnl_engine_destroy(engine);
  return made ? 0 : 1;
}

}  // namespace

const MatmulPeer kOneDnnMatmulPeers[kOneDnnMatmuls] = {{"onednn", multiply},
                                                       {"onednn_primitive", multiply_by_primitive}};
const Peer kOneDnnPeer = {"onednn", prepare, run, forget};

}  // namespace tessera::tools
