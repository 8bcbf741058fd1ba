// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/check/mlir_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

// Marks around every text that contains the planted layout. Like kChanged they are removed from the
// finished file.
constexpr char kHome = '\x03';
constexpr char kHomeEnd = '\x04';

bool has_change(std::string_view text) { return text.find(kChanged) != std::string_view::npos; }
std::string at_home(std::string_view text) {
  return cat(std::string(1, kHome), text, std::string(1, kHomeEnd));
}

template <std::size_t N>
std::string one_of(Dice& dice, const std::array<std::string_view, N>& all) {
  return std::string(all[static_cast<std::size_t>(dice.below(N))]);
}

/// The end of the bracket that opens at `open`; the arrow of a map closes nothing.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && text[i - 1] != '-' && --depth == 0) return i + 1;
  }
  return text.size();
}

/// White space where MLIR allows it, and a comment now and then.
std::string spaced(Dice& dice, std::string_view text) {
  static constexpr std::array<std::string_view, 6> kSpaces = {
      " ", "  ", "\n      ", "\t", "\n", " // tensor<2x2xf32, #gone>, #ttnn.ttnn_layout<\n  "};
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool arrow = c == '>' && i > 0 && text[i - 1] == '-';
    if (c == '>' && !arrow && dice.chance(8)) out += one_of(dice, kSpaces);
    if (c == ',' && dice.chance(8)) out += one_of(dice, kSpaces);
    const bool times = c == 'x' && i > 0 && i + 1 < text.size() && text[i - 1] >= '0' &&
                       text[i - 1] <= '9' && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (times && dice.chance(8)) {
      out += " x ";
      continue;
    }
    out += c;
    const bool open = c == '<' || c == ',' || c == '(';
    if (open && dice.chance(10)) out += one_of(dice, kSpaces);
  }
  return out;
}

/// One module of the file: its aliases and what uses them.
class Section {
 public:
  Section(Dice& dice, bool odd_spaces) : dice_(dice), odd_spaces_(odd_spaces) {}

  /// The type of a tensor, as one use of it writes it.
  std::string type(const WrittenTensor& tensor) {
    std::string layout = tensor.layout;
    planting_ = has_change(cat(tensor.shape, tensor.element, layout));
    for (const std::string_view part :
         {"#ttnn.buffer_type<", "#tt.memory_space<", "#ttcore.memory_space<", "!ttcore.tile<",
          "!tt.tile<", "#ttnn.core_range<", "memref<"}) {
      layout = with_aliases(std::move(layout), part);
    }
    const std::size_t ranges = layout.find("core_ranges = <");
    if (ranges != std::string::npos && dice_.chance(40)) {
      const std::size_t open = ranges + std::string_view("core_ranges = ").size();
      const std::size_t end = closing(layout, open);
      std::string set = "#ttnn.core_range_set" + layout.substr(open, end - open);
      if (dice_.chance(40)) set = alias('#', set);
      layout.replace(open, end - open, set);
    }
    for (int depth = 0; depth < 4 && dice_.chance(60); ++depth) layout = alias('#', layout);
    const std::string element =
        with_aliases(with_aliases(tensor.element, "!ttcore.tile<"), "!tt.tile<");
    std::string out = cat("tensor<", tensor.shape, element, ", ", layout, ">");
    if (odd_spaces_) out = spaced(dice_, out);
    ++tensors_;
    if (planting_) out = at_home(out);
    for (int depth = 0; depth < 3 && dice_.chance(30); ++depth) out = alias('!', out);
    return out;
  }

  /// Whether a type may be written again: the changed text is written only once.
  bool repeatable(std::string_view type) const { return !has_change(type); }
  void repeated(std::string_view type) {
    if (type.find("tensor<") != std::string_view::npos) ++tensors_;
  }

  std::int64_t tensors() const { return tensors_; }

  /// The definitions: all before their uses, or some of them after.
  std::string text(const std::string& body) {
    std::string before;
    std::string behind;
    for (const auto& [name, definition] : definitions_) {
      (dice_.chance(5) ? behind : before) +=
          (homes_.contains(name) ? at_home(definition) : definition) + "\n";
    }
    return before + body + behind;
  }

 private:
  std::string with_aliases(std::string text, std::string_view part) {
    for (std::size_t from = text.find(part); from != std::string::npos;
         from = text.find(part, from + 1)) {
      if (!dice_.chance(35)) continue;
      const std::size_t end = closing(text, from + part.size() - 1);
      const char sigil = part[0] == '#' ? '#' : '!';
      text.replace(from, end - from, alias(sigil, text.substr(from, end - from)));
    }
    return text;
  }

  std::string alias(char sigil, const std::string& of) {
    static constexpr std::array<std::string_view, 6> kNames = {"l1",    "dram",    "layout",
                                                               "t_0$a", "tile_x2", "system_memory"};
    std::string& name = names_[of];
    if (name.empty()) {
      name = cat(std::string(1, sigil), one_of(dice_, kNames), "_", names_.size());
      const bool spread = odd_spaces_ && dice_.chance(20);
      definitions_.emplace_back(name, cat(name, spread ? "\n  =\n " : " = ", of));
    }
    if (planting_) homes_.insert(name);
    return name;
  }

  Dice& dice_;
  bool odd_spaces_;
  std::int64_t tensors_ = 0;
  std::map<std::string, std::string> names_;
  std::vector<std::pair<std::string, std::string>> definitions_;  // name, all of it
  bool planting_ = false;
  std::set<std::string> homes_;  // aliases that the planted tensor uses
};

constexpr std::array<std::string_view, 9> kComments = {
    "// tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32>>>",
    "// CHECK: %[[X:.*]] = \"ttnn.add\"{{.*}} tensor<1x1xf32, #ttnn_layout>",
    "// #l1_1 = #ttnn.buffer_type<dram>",
    "// an unclosed \" and < and ( and [",
    "//",
    "// ------ not a split",
    "  // -> tensor<9x9xbf16, #ttnn.ttnn_layout<(d0) -> (d0), <9x9>, memref<1xbf16, #dram>>>",
    "// tessera: the layouts are right",
    "/// !t = tensor<",
};

/// Attributes and types that Tessera does not read.
constexpr std::array<std::string_view, 18> kForeign = {
    "\"tensor<3x4xf32, #ttnn.ttnn_layout<(d0) -> (d0), <1x1>, memref<1xf32, #l1>>>\"",
    "\"a \\\" tensor<7x7xf32, #tt.metal_layout<\"",
    "\"// ----- no comment\"",
    "tensor<4x4xf32, #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense, d1 : compressed)}>>",
    "tensor<2x?xi64, #stablehlo.bounds<?, 2>>",
    "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>",
    "dense<\"0xDEADBEEF\"> : tensor<1xf32>",
    "affine_map<(d0)[s0] -> (d0 + s0, d0 floordiv 8)>",
    "affine_set<(d0) : (d0 - 1 >= 0, -d0 + 9 >= 0)>",
    "tensor<*xf32>",
    "tensor<f32>",
    "#ttcore.grid<8x8, (d0, d1) -> (0, d0, d1)>",
    "#ttnn.memory_config<#ttnn.buffer_type<l1>, <block_sharded>>",
    "!ttnn.device",
    "array<i64: 1, 2, 3>",
    "dense_resource<blob> : tensor<1x2xf32>",
    "@\"tensor<3x\"::@inner",
    "loc(\"x <\"(\"file.py\":3:9))",
};

/// Functions with arguments, ops, attributes and regions that use the types.
class Body {
 public:
  Body(Dice& dice, Section& section, std::vector<std::string> types)
      : dice_(dice), section_(section), types_(std::move(types)) {}

  std::string text() {
    std::string out;
    if (dice_.chance(30)) out += cat("module @m attributes {x.y = ", foreign(), "} {\n");
    const bool module = !out.empty();
    while (!types_.empty()) out += function();
    if (module) out += "}\n";
    return out;
  }

 private:
  std::string foreign() { return one_of(dice_, kForeign); }

  /// The next type that must still be written, or one that was already written.
  std::string type() {
    if (!types_.empty() && (used_.empty() || dice_.chance(60))) {
      const std::string next = types_.back();
      types_.pop_back();
      if (section_.repeatable(next)) used_.push_back(next);
      return next;
    }
    if (used_.empty() || dice_.chance(10)) return "tensor<8x8xf32>";
    const std::string again =
        used_[static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(used_.size())))];
    section_.repeated(again);
    return again;
  }

  std::string comment() {
    return dice_.chance(15) ? one_of(dice_, kComments) + "\n" : std::string();
  }

  std::string function() {
    std::string out = comment();
    out += cat("func.func @f", ++functions_, "(");
    const std::int64_t arguments = dice_.between(1, 3);
    for (std::int64_t i = 0; i < arguments; ++i) {
      out += cat(i == 0 ? "" : ", ", i > 0 && dice_.chance(20) ? "\n    " : "", "%arg", i, ": ");
      out += type();
      if (dice_.chance(15)) out += cat(" {x.note = ", foreign(), "}");
    }
    out += ") -> (" + type() + ")";
    if (dice_.chance(20)) out += cat(" attributes {y.z = ", foreign(), "}");
    out += " {\n";
    const std::int64_t ops = dice_.between(0, 4);
    for (std::int64_t i = 0; i < ops; ++i) out += comment() + op(2);
    if (dice_.chance(30)) out += "  %r = arith.cmpi slt, %a, %b : index // i < j\n";
    return out + "  return\n}\n";
  }

  std::string op(std::size_t indent) {
    const std::string margin(indent, ' ');
    std::string out = cat(margin, "%", ++ops_, " = \"ttnn.op\"(%arg0)");
    if (dice_.chance(25)) out += cat(" <{value = ", foreign(), "}>");
    if (indent < 8 && dice_.chance(20)) {
      out += cat(" ({\n", margin, "^bb0(%b: ");
      out += type() + "):\n" + comment() + op(indent + 2) + margin + "})";
    }
    if (dice_.chance(25)) out += cat(" {t = ", dice_.chance(40) ? type() : foreign(), ", unit}");
    out += " : (" + type() + ") -> ";
    out += type();
    if (dice_.chance(10)) out += " loc(#loc3)";
    return out + "\n";
  }

  Dice& dice_;
  Section& section_;
  std::vector<std::string> types_;
  std::vector<std::string> used_;
  int functions_ = 0;
  int ops_ = 0;
};

/// Removes the marks and records their positions.
void settle(MlirFile& file, std::string_view marked, bool carriage_returns) {
  std::int64_t changed = 0;
  std::vector<std::int64_t> homes;
  for (const char c : marked) {
    const auto here = static_cast<std::int64_t>(file.text.size());
    if (c == kChanged) changed = here;
    if (c == kChangedEnd) file.changed.push_back({changed, here});
    if (c == kHome) homes.push_back(here);
    if (c == kHomeEnd) {
      file.home.push_back({homes.back(), here});
      homes.pop_back();
    }
    if (c >= kChanged && c <= kHomeEnd) continue;
    if (c == '\n' && carriage_returns) file.text += '\r';
    file.text += c;
  }
}

}  // namespace

MlirFile random_file(Dice& dice, const WrittenTensor* planted) {
  MlirFile file;
  std::string text;
  const std::int64_t sections = dice.chance(30) ? dice.between(2, 4) : 1;
  const std::int64_t chosen = dice.below(sections);
  const bool odd_spaces = dice.chance(40);
  if (dice.chance(50)) text += "// RUN: ttmlir-opt %s | FileCheck %s\n";
  for (std::int64_t i = 0; i < sections; ++i) {
    if (i > 0) text += "// -----\n";
    Section section(dice, odd_spaces);
    std::vector<std::string> types;
    const std::int64_t tensors = dice.between(1, 4);
    for (std::int64_t k = 0; k < tensors; ++k) types.push_back(section.type(random_valid(dice)));
    if (planted != nullptr && i == chosen) {
      const auto at = dice.between(0, static_cast<std::int64_t>(types.size()));
      types.insert(types.begin() + at, section.type(*planted));
    }
    const std::string body = Body(dice, section, std::move(types)).text();
    text += section.text(body);
    file.tensors += section.tensors();
  }
  settle(file, text, dice.chance(15));
  return file;
}

}  // namespace tessera::test
