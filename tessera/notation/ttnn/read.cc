// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"
#include "tessera/notation/text/tensor_type.h"
#include "tessera/notation/ttnn/rule.h"
#include "tessera/notation/ttnn/terms.h"

namespace tessera::notation {
namespace {

using Memory = TtnnLayout::Memory;

constexpr std::string_view kHelp =
    "such as #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x4x!ttcore.tile<32x32, bf16>, "
    "#ttnn.buffer_type<dram>>, <interleaved>>";
constexpr std::array<std::string_view, 5> kSpaces = {"l1", "dram", "system", "l1_small", "trace"};
constexpr std::array<Memory, 4> kMemories = {Memory::kInterleaved, Memory::kHeightSharded,
                                             Memory::kWidthSharded, Memory::kBlockSharded};

/// Whether a comma and then `word` come next; reads both if so.
bool accept_item(Cursor& cursor, std::string_view word) {
  Cursor ahead = cursor;
  if (!ahead.accept(",") || !ahead.accept_word(word)) return false;
  cursor = ahead;
  return true;
}

/// mesh '=' ('#ttcore.tensor_mesh')? '<' '"' NAME '"' '>', after `mesh`.
Result<std::string> read_mesh(Cursor& cursor) {
  constexpr std::string_view kMeshHelp = "a mesh is written mesh = <\"name\">";
  TESSERA_CHECK_OK(cursor.expect("=", kMeshHelp));
  cursor.accept("#ttcore.tensor_mesh");
  TESSERA_CHECK_OK(cursor.expect("<", kMeshHelp));
  TESSERA_CHECK_OK(cursor.expect("\"", kMeshHelp));
  TESSERA_TRY(const Word name, cursor.identifier("the mesh's name", kMeshHelp));
  TESSERA_CHECK_OK(cursor.expect("\"", kMeshHelp));
  TESSERA_CHECK_OK(cursor.expect(">", kMeshHelp));
  return std::string(name.text);
}

/// ('#ttnn.tensor_memory_layout')? '<' NAME '>'
Result<Memory> read_memory(Cursor& cursor) {
  cursor.accept("#ttnn.tensor_memory_layout");
  TESSERA_CHECK_OK(cursor.expect("<", "a memory layout is such as <interleaved>"));
  TESSERA_TRY(const Word name, cursor.identifier("a memory layout", "such as interleaved"));
  std::vector<std::string_view> names;
  for (const Memory memory : kMemories) {
    names.push_back(ttnn_memory_name(memory));
    if (names.back() == name.text) {
      TESSERA_CHECK_OK(cursor.expect(">"));
      return memory;
    }
  }
  return Error{ErrorCode::kUnknownName, cat("unknown memory layout ", quote_name(name.text)),
               name.span, did_you_mean(name.text, names),
               std::string(nearest_name(name.text, names).value_or(""))};
}

Result<bool> read_flag(Cursor& cursor) {
  constexpr std::string_view kFlagHelp = "write ignorePhysicalLayout = true, or omit it";
  TESSERA_CHECK_OK(cursor.expect("=", kFlagHelp));
  if (cursor.accept_word("true")) return true;
  if (cursor.accept_word("false")) return false;
  return cursor.expected("true or false", kFlagHelp);
}

/// Reads the optional items after the memref, in this order: memory layout, core ranges, flag.
Status read_items(Cursor& cursor, TtnnLayout& words, TtnnSpans& spans) {
  Cursor ahead = cursor;
  ahead.accept(",");
  if (cursor.peek() == ',' && (ahead.peek() == '<' || ahead.peek() == '#')) {
    cursor = ahead;
    const std::int64_t from = cursor.position();
    TESSERA_TRY(words.memory, read_memory(cursor));
    spans.memory = cursor.since(from);
    spans.memory_item = {spans.memref.to - 1, spans.memory.to};
    spans.cores = {spans.memory.to, spans.memory.to};
  }
  if (accept_item(cursor, "core_ranges")) {
    TESSERA_CHECK_OK(cursor.expect("=", "core_ranges = <[#ttnn.core_range<(0,0), (7,7)>]>"));
    TESSERA_TRY(words.core_ranges, read_core_ranges(cursor, &spans.cores));
  }
  if (accept_item(cursor, "ignorePhysicalLayout")) {
    TESSERA_TRY(words.ignore_physical_layout, read_flag(cursor));
  }
  if (cursor.accept(">")) return cursor.expect_end();
  if (!cursor.accept(",")) return cursor.expected("',' or '>'", kHelp);
  const Word found = cursor.next();
  static constexpr std::array<std::string_view, 2> kItems = {"core_ranges", "ignorePhysicalLayout"};
  for (const std::string_view item : kItems) {
    if (found.text == item) {
      return Error{ErrorCode::kSyntax, cat(item, " is not the next item here"), found.span,
                   "the order is: memory layout, core_ranges, ignorePhysicalLayout, each once"};
    }
  }
  return Error{ErrorCode::kUnknownName, cat("unknown item ", quote_name(found.text)), found.span,
               did_you_mean(found.text, kItems)};
}

/// `<8x8, (d0, d1) -> (0, d0, d1)>`, as tt-mlir wrote grids before it had core ranges.
Error grid_with_map(const Cursor& cursor) {
  return Error{ErrorCode::kNotSupported, "a grid with a separate map", cursor.next().span,
               "give the grid alone, and its position by core_ranges"};
}

Result<Tensor> read_attribute(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TtnnLayout words;
  TtnnSpans spans;
  TESSERA_CHECK_OK(cursor.expect("#ttnn.ttnn_layout", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  TESSERA_TRY(words.linear, read_affine_map(cursor, &spans.linear));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  std::int64_t from = cursor.position();
  TESSERA_TRY(words.grid, read_extents(cursor, "a grid"));
  spans.grid = cursor.since(from);
  if (cursor.peek() == ',') return grid_with_map(cursor);
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  if (accept_item(cursor, "mesh")) {
    TESSERA_TRY(words.mesh, read_mesh(cursor));
  }
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  from = cursor.position();
  TESSERA_TRY(words.memref, read_memref(cursor, kSpaces, false, &spans.memref_shape));
  if (!words.memref.shape.empty()) --spans.memref_shape.to;  // without the 'x' before the element
  spans.memref = spans.memory = spans.memory_item = spans.cores = cursor.since(from);
  TESSERA_CHECK_OK(read_items(cursor, words, spans));
  TESSERA_TRY(Layout layout, lower_ttnn(words, type.shape, type.dtype(), &spans));
  return Tensor{std::move(layout), "ttnn", make_terms(std::move(words))};
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  return source.starts_with('#') ? read_attribute(source, type) : read_ttnn_terms(source, type);
}

/// Terms specify no memory, so they are best for layouts without a memory; the attribute expresses
/// the others.
Result<WrittenTensor> raise(const Layout& layout) {
  const TensorType type = TensorType::of(layout.shape(), layout.dtype());
  if (layout.spec().space.empty()) {
    if (const Result<TtnnTerms> terms = raise_ttnn_terms(layout)) {
      return WrittenTensor{type, write(*terms)};
    }
  }
  TESSERA_TRY(const TtnnLayout words, raise_ttnn(layout));
  return WrittenTensor{type, write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  const TensorType type = TensorType::of(tensor.layout().shape(), tensor.layout().dtype());
  if (const auto* terms = std::get_if<TtnnTerms>(&terms_of(tensor))) return {type, write(*terms)};
  return {type, write(std::get<TtnnLayout>(terms_of(tensor)))};
}

}  // namespace

std::string write(const TtnnLayout& words) {
  MemRef memref = words.memref;
  if (memref.attribute.empty()) memref.attribute = ttnn_buffer_type(memref.space);
  std::string text =
      cat("#ttnn.ttnn_layout<", write_affine_map(words.linear), ", <", join(words.grid, "x"), ">");
  if (!words.mesh.empty()) text += cat(", mesh = <\"", words.mesh, "\">");
  text += cat(", ", write_memref(memref, words.dialect));
  if (words.memory != Memory::kUnsaid) text += cat(", <", ttnn_memory_name(words.memory), ">");
  if (!words.core_ranges.empty()) {
    text += cat(", core_ranges = ", write_core_ranges(words.core_ranges));
  }
  if (words.ignore_physical_layout) text += ", ignorePhysicalLayout = true";
  return text + ">";
}

Notation ttnn_notation() {
  return {.name = "ttnn",
          .keywords = {"#ttnn.ttnn_layout", "ttnn"},
          .example =
              "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
              "memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>",
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .scope = {.least_axes = 2, .most_axes = 2, .tiles = true}};
}

}  // namespace tessera::notation
