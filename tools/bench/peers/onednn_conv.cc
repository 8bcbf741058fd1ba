// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <omp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "tools/bench/peers/peer.h"

// Convolutions as the oneDNN developer guide describes them:
// https://oneapi-src.github.io/oneDNN/v2.6/dev_guide_convolution.html
namespace tessera::tools {
namespace {

template <auto kDestroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const {
    kDestroy(object);
  }
};
template <typename Handle, auto kDestroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<kDestroy>>;

using Engine = Owned<dnnl_engine_t, dnnl_engine_destroy>;
using Stream = Owned<dnnl_stream_t, dnnl_stream_destroy>;
using Memory = Owned<dnnl_memory_t, dnnl_memory_destroy>;
using Description = Owned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, dnnl_primitive_destroy>;

/// One convolution, with all that it needs.
class Convolution {
 public:
  bool make(const ConvSizes& sizes, bool chooses_formats) {
    dnnl_engine_t engine = nullptr;
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) return false;
    engine_.reset(engine);
    dnnl_stream_t stream = nullptr;
    if (dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
      return false;
    stream_.reset(stream);
    const dnnl_dim_t out_rows = sizes.rows + 2 * sizes.padding - sizes.window + 1;
    const dnnl_dim_t out_columns = sizes.columns + 2 * sizes.padding - sizes.window + 1;
    const dnnl_dims_t dims[3] = {
        {sizes.batch, sizes.channels, sizes.rows, sizes.columns},
        {sizes.filters, sizes.channels, sizes.window, sizes.window},
        {sizes.batch, sizes.filters, out_rows, out_columns},
    };
    std::array<dnnl_memory_desc_t, 3> wanted = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const dnnl_format_tag_t any = chooses_formats ? dnnl_format_tag_any : dnnl_abcd;
      if (dnnl_memory_desc_init_by_tag(&plain_[i], 4, dims[i], dnnl_f32, dnnl_abcd) !=
              dnnl_success ||
          dnnl_memory_desc_init_by_tag(&wanted[i], 4, dims[i], dnnl_f32, any) != dnnl_success) {
        return false;
      }
    }
    const dnnl_dims_t strides = {1, 1};
    const dnnl_dims_t padding = {sizes.padding, sizes.padding};
    dnnl_convolution_desc_t operation = {};
    dnnl_primitive_desc_t description = nullptr;
    if (dnnl_convolution_forward_desc_init(&operation, dnnl_forward_inference,
                                           dnnl_convolution_direct, &wanted[0], &wanted[1], nullptr,
                                           &wanted[2], strides, padding, padding) != dnnl_success ||
        dnnl_primitive_desc_create(&description, &operation, nullptr, engine, nullptr) !=
            dnnl_success) {
      return false;
    }
    description_.reset(description);
    dnnl_primitive_t primitive = nullptr;
    if (dnnl_primitive_create(&primitive, description) != dnnl_success) return false;
    primitive_.reset(primitive);
    return true;
  }

  /// Tensors that the convolution has in another format are brought there and back.
  bool run(const float* x, const float* weights, float* y) {
    const std::array<void*, 3> data = {const_cast<float*>(x), const_cast<float*>(weights), y};
    const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    std::array<Memory, 3> given;
    std::array<Memory, 3> own;
    std::array<dnnl_memory_t, 3> used = {};
    for (std::size_t i = 0; i < 3; ++i) {
      const dnnl_memory_desc_t* const format =
          dnnl_primitive_desc_query_md(description_.get(), queries[i], 0);
      if (format == nullptr || !add(plain_[i], data[i], given[i])) return false;
      used[i] = given[i].get();
      if (dnnl_memory_desc_equal(format, &plain_[i]) != 0) continue;
      if (!add(*format, DNNL_MEMORY_ALLOCATE, own[i])) return false;
      used[i] = own[i].get();
      if (i < 2 && !reorder(given[i].get(), used[i])) return false;
    }
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, used[0]}, {DNNL_ARG_WEIGHTS, used[1]}, {DNNL_ARG_DST, used[2]}};
    if (dnnl_primitive_execute(primitive_.get(), stream_.get(), 3, arguments) != dnnl_success) {
      return false;
    }
    if (own[2] != nullptr && !reorder(own[2].get(), given[2].get())) return false;
    return dnnl_stream_wait(stream_.get()) == dnnl_success;
  }

 private:
  bool add(const dnnl_memory_desc_t& format, void* data, Memory& memory) const {
    dnnl_memory_t made = nullptr;
    if (dnnl_memory_create(&made, &format, engine_.get(), data) != dnnl_success) return false;
    memory.reset(made);
    return true;
  }

  bool reorder(dnnl_memory_t from, dnnl_memory_t to) const {
    const dnnl_memory_desc_t* formats[2] = {};
    dnnl_primitive_desc_t description = nullptr;
    if (dnnl_memory_get_memory_desc(from, &formats[0]) != dnnl_success ||
        dnnl_memory_get_memory_desc(to, &formats[1]) != dnnl_success ||
        dnnl_reorder_primitive_desc_create(&description, formats[0], engine_.get(), formats[1],
                                           engine_.get(), nullptr) != dnnl_success) {
      return false;
    }
    const Description owned(description);
    dnnl_primitive_t primitive = nullptr;
    if (dnnl_primitive_create(&primitive, description) != dnnl_success) return false;
    const Primitive runs(primitive);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(primitive, stream_.get(), 2, arguments) == dnnl_success;
  }

  Engine engine_;
  Stream stream_;
  std::array<dnnl_memory_desc_t, 3> plain_ = {};
  Description description_;
  Primitive primitive_;
};

/// Made anew for each convolution: oneDNN keeps its code.
int convolve(const ConvSizes* sizes, const float* x, const float* weights, float* y,
             bool chooses_formats) {
  omp_set_num_threads(1);
  Convolution convolution;
  return convolution.make(*sizes, chooses_formats) && convolution.run(x, weights, y) ? 0 : 1;
}

int in_given_formats(const ConvSizes* sizes, const float* x, const float* weights, float* y) {
  return convolve(sizes, x, weights, y, false);
}
int in_own_formats(const ConvSizes* sizes, const float* x, const float* weights, float* y) {
  return convolve(sizes, x, weights, y, true);
}

}  // namespace

const ConvPeer kOneDnnConvPeers[kOneDnnConvs] = {{"onednn", in_given_formats},
                                                 {"onednn_formats", in_own_formats}};

}  // namespace tessera::tools
