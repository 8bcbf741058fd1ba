// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/spyre.h"

#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/spyre/lines.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

Result<Tensor> read(std::string_view text, const TensorType& type) {
  TESSERA_TRY(spyre::Parsed parsed, spyre::parse(text));
  TESSERA_TRY(Layout layout,
              spyre::lower_text(parsed.words, type.shape, type.dtype(), parsed.spans));
  return Tensor{std::move(layout), "spyre", make_terms(std::move(parsed.words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const SpyreLayout words, raise_spyre(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<SpyreLayout>(terms_of(tensor)))};
}

/// `key=value` entries, separated by commas.
class Entries {
 public:
  void add(std::string_view key, std::string_view value) {
    text_ += cat(text_.empty() ? "" : ", ", key, "=", value);
  }
  void add(std::string_view key, const std::vector<std::int64_t>& numbers) {
    add(key, bracketed(numbers));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string write(const SpyreLayout& words) {
  const bool is_default = words.form == SpyreLayout::Form::kDefault;
  const std::string_view era = words.era == SpyreLayout::Era::kDocument ? "document" : "now";
  Entries entries;
  if (is_default) {
    if (words.dim_order) entries.add("dim_order", *words.dim_order);
    if (words.sparse) entries.add("sparse", "true");
    if (words.era) entries.add("era", era);
  } else {
    entries.add("device_size", words.device_size);
    entries.add(words.form == SpyreLayout::Form::kDimMap ? "dim_map" : "stride_map", words.map);
  }
  if (words.host_stride) entries.add("host_stride", *words.host_stride);
  if (words.storage_offset) entries.add("storage_offset", std::to_string(*words.storage_offset));
  if (words.era && !is_default) entries.add("era", era);
  if (!words.cores.empty()) entries.add("cores", words.cores);
  return cat(is_default ? "spyre.default(" : "spyre<", entries.text(), is_default ? ")" : ">");
}

Notation spyre_notation() {
  return {.name = "spyre",
          .keywords = {"spyre", "spyre."},
          .example =
              "tensor<128x256x512xf16, spyre<device_size=[256, 8, 128, 64], dim_map=[1, 2, 0, 2]>>",
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .scope = {.least_axes = 1, .most_axes = 1}};
}

}  // namespace tessera::notation
