// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/metal/metal.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/metal/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/tensor_type.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kExample =
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, "
    "#tt.memory_space<l1>>>>";
constexpr std::string_view kHelp =
    "such as #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<18x32xf32, "
    "#tt.memory_space<l1>>>";
constexpr std::string_view kDeviceHelp =
    "such as device = <8x8, (d0, d1) -> (d1 floordiv 8, d1 mod 8)>";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Result<PaddingValue> read_oob(Cursor& cursor) {
  TESSERA_TRY(const Word word, cursor.identifier("an out-of-bounds value", kHelp));
  if (const auto value = oob_value(word.text)) return *value;
  return Error{ErrorCode::kUnknownName, cat("unknown out-of-bounds value ", quote_name(word.text)),
               word.span, did_you_mean(word.text, kOobWords),
               std::string(nearest_name(word.text, kOobWords).value_or(""))};
}

/// '<' extents '>'
Result<std::vector<std::int64_t>> read_grid(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  TESSERA_TRY(std::vector<std::int64_t> grid, read_extents(cursor, "a grid"));
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  return grid;
}

/// 'device' '=' '<' extents ',' map '>', after 'device'
Result<MetalLayout::Device> read_device(Cursor& cursor) {
  MetalLayout::Device device;
  TESSERA_CHECK_OK(cursor.expect("=", kDeviceHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kDeviceHelp));
  TESSERA_TRY(device.physical, read_extents(cursor, "a device"));
  TESSERA_CHECK_OK(cursor.expect(",", kDeviceHelp));
  TESSERA_TRY(device.map, read_affine_map(cursor));
  TESSERA_CHECK_OK(cursor.expect(">", kDeviceHelp));
  return device;
}

/// (',' MEMORY_LAYOUT)? (',' 'device' '=' ..)? '>'
Status read_rest(Cursor& cursor, MetalLayout& words, MetalSpans& spans) {
  while (cursor.accept(",")) {
    const std::int64_t from = cursor.position();
    TESSERA_TRY(const Word word, cursor.identifier("a memory layout or 'device'", kDeviceHelp));
    if (word.text == "device") {
      TESSERA_TRY(words.device, read_device(cursor));
      spans.device = cursor.since(from);
      return cursor.expect(">", "nothing follows the device");
    }
    if (!is_one_of(word.text, kMemoryLayouts) || !words.memory_layout.empty()) {
      std::vector<std::string_view> names(kMemoryLayouts.begin(), kMemoryLayouts.end());
      names.emplace_back("device");
      return Error{ErrorCode::kUnknownName,
                   words.memory_layout.empty()
                       ? cat("unknown memory layout ", quote_name(word.text))
                       : cat("a second memory layout, ", quote_name(word.text)),
                   word.span, did_you_mean(word.text, names),
                   words.memory_layout.empty()
                       ? std::string(nearest_name(word.text, kMemoryLayouts).value_or(""))
                       : std::string()};
    }
    words.memory_layout = word.text;
  }
  if (cursor.accept(">")) return ok_status();
  return cursor.expected("',' or '>'", kHelp);
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  MetalLayout words;
  TESSERA_CHECK_OK(cursor.expect("#", kHelp));
  TESSERA_TRY(const Word dialect, cursor.identifier("'tt' or 'ttcore'", kHelp));
  words.dialect = dialect.text;
  TESSERA_CHECK_OK(cursor.expect(".", kHelp));
  TESSERA_CHECK_OK(cursor.expect_word("metal_layout", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  if (cursor.next_identifier().text == "logical_shape") {
    TESSERA_TRY(Tensor tensor, read_metal_today(cursor, dialect.text, type));
    TESSERA_CHECK_OK(cursor.expect_end());
    return tensor;
  }
  if (cursor.peek() != '(' && cursor.next_identifier().text != "affine_map") {
    return cursor.expected("a map or 'logical_shape'", kHelp);
  }
  if (type.element.is_tile()) {
    return Error{ErrorCode::kBadDType, "a tensor of tiles where the memref specifies the tiles",
                 std::nullopt,
                 cat("write the logical shape and its element type, such as 64x64x",
                     dtype_name(type.dtype()))};
  }
  MetalSpans spans;
  TESSERA_TRY(words.linear, read_affine_map(cursor, &spans.linear));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(words.oob, read_oob(cursor));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  std::int64_t from = cursor.position();
  TESSERA_TRY(words.grid, read_grid(cursor));
  spans.grid = cursor.since(from);
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  from = cursor.position();
  TESSERA_TRY(words.memref, read_memref(cursor, kMetalSpaces, true, &spans.memref_shape));
  if (!words.memref.shape.empty()) --spans.memref_shape.to;  // without the 'x' before the element
  spans.memref = cursor.since(from);
  TESSERA_CHECK_OK(read_rest(cursor, words, spans));
  TESSERA_CHECK_OK(cursor.expect_end());
  TESSERA_TRY(Layout layout, lower(words, type.shape, type.dtype(), &spans));
  return Tensor{std::move(layout), "metal", make_terms(std::move(words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const MetalLayout words, raise_metal(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<MetalLayout>(terms_of(tensor)))};
}

}  // namespace

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<PaddingValue> oob_value(std::string_view word) {
  if (word == "undef") return PaddingValue::undef();
  if (word == "zero") return PaddingValue::of(0);
  if (word == "one") return PaddingValue::of(1);
  if (word == "inf") return PaddingValue::of(kInfinity);
  if (word == "neginf") return PaddingValue::of(-kInfinity);
  return std::nullopt;
}

std::optional<std::string_view> oob_word(const PaddingValue& value) {
  for (const std::string_view word : kOobWords) {
    if (oob_value(word) == value) return word;
  }
  return std::nullopt;
}

std::string write(const MetalLayout& words) {
  const std::string memory_layout =
      words.memory_layout.empty() ? "" : cat(", ", words.memory_layout);
  const std::string device = words.device ? cat(", device = <", join(words.device->physical, "x"),
                                                ", ", write_affine_map(words.device->map), ">")
                                          : "";
  return cat("#", words.dialect, ".metal_layout<", write_affine_map(words.linear), ", ",
             oob_word(words.oob).value_or("undef"), ", <", join(words.grid, "x"), ">, ",
             write_memref(words.memref, words.dialect), memory_layout, device, ">");
}

Notation metal_notation() {
  return {.name = "metal",
          .keywords = {"#tt.metal_layout", "#ttcore.metal_layout"},
          .example = kExample,
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .takes_tiles = true,
          .scope = {.least_axes = 1, .most_axes = kMaxRank, .tiles = true}};
}

}  // namespace tessera::notation
