// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/pyflame/text.h"

namespace tessera::notation {
namespace {

using Kind = PyflameLayout::Kind;

enum class Argument : std::uint8_t {
  kRows,
  kCols,
  kBlockRows,
  kBlockCols,
  kPes,
  kDimToPe,
  kOrigin,
  kReplicate,
  kPartial,
};

struct Parameter {
  std::string_view name;
  Argument argument;
};

constexpr std::array<Parameter, 4> kOptions = {{{"dim_to_pe", Argument::kDimToPe},
                                                {"origin", Argument::kOrigin},
                                                {"replicate", Argument::kReplicate},
                                                {"partial", Argument::kPartial}}};

/// A factory and its parameters before the options, in order.
struct Factory {
  std::string_view name;
  Kind kind = Kind::kSinglePE;
  std::vector<Parameter> parameters;
  std::string_view help;
};

const std::vector<Factory>& factories() {
  static const std::vector<Factory> all = {
      {"SinglePE", Kind::kSinglePE, {}, "such as pyflame.SinglePE()"},
      {"RowPartition",
       Kind::kRowPartition,
       {{"num_pes", Argument::kRows}},
       "such as pyflame.RowPartition(4)"},
      {"ColPartition",
       Kind::kColPartition,
       {{"num_pes", Argument::kCols}},
       "such as pyflame.ColPartition(4)"},
      {"Grid",
       Kind::kGrid,
       {{"rows", Argument::kRows}, {"cols", Argument::kCols}},
       "such as pyflame.Grid(4, 4)"},
      {"BlockCyclic",
       Kind::kBlockCyclic,
       {{"rows", Argument::kRows},
        {"cols", Argument::kCols},
        {"block_rows", Argument::kBlockRows},
        {"block_cols", Argument::kBlockCols}},
       "such as pyflame.BlockCyclic(2, 2, 8, 8)"},
      {"Custom",
       Kind::kCustom,
       {{"rows", Argument::kRows}, {"cols", Argument::kCols}, {"pes", Argument::kPes}},
       "such as pyflame.Custom(1, 2, [(0, 0), (3, 5)])"},
  };
  return all;
}

class Reader {
 public:
  explicit Reader(std::string_view source) : cursor_(source, "the end of the layout") {}

  Result<PyflameText> read() {
    TESSERA_CHECK_OK(cursor_.expect_word("pyflame"));
    TESSERA_CHECK_OK(cursor_.expect("."));
    TESSERA_TRY(factory_, read_factory());
    text_.words.kind = factory_->kind;
    TESSERA_CHECK_OK(cursor_.expect("(", factory_->help));
    if (cursor_.peek() != ')') {
      do {
        TESSERA_CHECK_OK(read_argument());
      } while (cursor_.accept(","));
    }
    if (cursor_.peek() != ')') return cursor_.expected("',' or ')'", factory_->help);
    for (const Parameter& parameter : factory_->parameters) {
      if (!is_said(parameter.argument)) return cursor_.expected(parameter.name, factory_->help);
    }
    TESSERA_CHECK_OK(cursor_.expect(")"));
    TESSERA_CHECK_OK(cursor_.expect_end());
    return std::move(text_);
  }

 private:
  Result<const Factory*> read_factory() {
    TESSERA_TRY(const Word name, cursor_.identifier("a layout", "such as pyflame.Grid(4, 4)"));
    std::vector<std::string_view> names;
    for (const Factory& factory : factories()) {
      if (factory.name == name.text) return &factory;
      names.push_back(factory.name);
    }
    return Error{ErrorCode::kUnknownName,
                 cat("no PyFlame layout is called ", quote_name(name.text)), name.span,
                 did_you_mean(name.text, names)};
  }

  bool is_said(Argument argument) const { return said_[static_cast<std::size_t>(argument)]; }

  /// A value in the order of the factory's parameters, or NAME '=' value.
  Status read_argument() {
    const Word key = cursor_.next_identifier();
    if (!key.text.empty()) return read_named(key);
    if (named_) return cursor_.expected("NAME=", "values without a name come before the others");
    if (unnamed_ == factory_->parameters.size()) {
      return cursor_.expected(
          unnamed_ == 0 ? "')'" : "NAME=",
          cat(factory_->name, " takes ", unnamed_, unnamed_ == 1 ? " value" : " values",
              " without a name, then dim_to_pe=, origin=, replicate=, partial="));
    }
    return read_value(factory_->parameters[unnamed_++]);
  }

  Status read_named(const Word& key) {
    TESSERA_TRY([[maybe_unused]] const Word taken, cursor_.identifier("NAME="));
    named_ = true;
    std::vector<Parameter> known = factory_->parameters;
    known.insert(known.end(), kOptions.begin(), kOptions.end());
    std::vector<std::string_view> names;
    for (const Parameter& parameter : known) {
      names.push_back(parameter.name);
      if (parameter.name != key.text) continue;
      if (is_said(parameter.argument)) {
        return Error{ErrorCode::kContradiction, cat(key.text, " is given twice"), key.span,
                     "give it once"};
      }
      TESSERA_CHECK_OK(cursor_.expect("=", cat("such as ", key.text, "=")));
      return read_value(parameter);
    }
    return Error{ErrorCode::kUnknownName,
                 cat(factory_->name, " has no argument called ", quote_name(key.text)), key.span,
                 did_you_mean(key.text, names)};
  }

  Status read_value(const Parameter& parameter) {
    said_[static_cast<std::size_t>(parameter.argument)] = true;
    PyflameLayout& words = text_.words;
    PyflameSpans& spans = text_.spans;
    switch (parameter.argument) {
      case Argument::kRows:
        return read_number(parameter.name, words.rows, spans.rows);
      case Argument::kCols:
        return read_number(parameter.name, words.cols, spans.cols);
      case Argument::kBlockRows:
        return read_number(parameter.name, words.block_rows, spans.block_rows);
      case Argument::kBlockCols:
        return read_number(parameter.name, words.block_cols, spans.block_cols);
      case Argument::kPes:
        return read_pes();
      case Argument::kDimToPe:
        return read_dim_to_pe();
      case Argument::kOrigin: {
        TESSERA_TRY(const Said<PyflameLayout::Pe> pe, read_pe("such as origin=(3, 5)"));
        words.origin = pe.value;
        spans.origin = pe.span;
        return ok_status();
      }
      case Argument::kReplicate:
        return read_replicate();
      case Argument::kPartial:
        return read_partial();
    }
    return ok_status();
  }

  Status read_number(std::string_view what, std::int64_t& number, Span& span) {
    const std::int64_t from = cursor_.position();
    TESSERA_TRY(number, cursor_.integer(what, factory_->help));
    span = cursor_.since(from);
    return ok_status();
  }

  /// '(' ROW ',' COL ')'
  Result<Said<PyflameLayout::Pe>> read_pe(std::string_view help) {
    const std::int64_t from = cursor_.position();
    PyflameLayout::Pe pe{};
    TESSERA_CHECK_OK(cursor_.expect("(", help));
    TESSERA_TRY(pe[0], cursor_.integer("a PE row", help));
    TESSERA_CHECK_OK(cursor_.expect(",", help));
    TESSERA_TRY(pe[1], cursor_.integer("a PE column", help));
    TESSERA_CHECK_OK(cursor_.expect(")", help));
    return Said<PyflameLayout::Pe>{pe, cursor_.since(from)};
  }

  /// '[' item {',' item} ']', possibly none.
  template <typename ReadItem>
  Status read_list(std::string_view help, ReadItem read_item) {
    TESSERA_CHECK_OK(cursor_.expect("[", help));
    if (cursor_.accept("]")) return ok_status();
    do {
      TESSERA_CHECK_OK(read_item());
    } while (cursor_.accept(","));
    if (!cursor_.accept("]")) return cursor_.expected("',' or ']'", help);
    return ok_status();
  }

  Status read_pes() {
    const std::int64_t from = cursor_.position();
    TESSERA_CHECK_OK(read_list(factory_->help, [&]() -> Status {
      TESSERA_TRY(const Said<PyflameLayout::Pe> pe, read_pe(factory_->help));
      text_.words.pes.push_back(pe.value);
      text_.spans.pes.push_back(pe.span);
      return ok_status();
    }));
    text_.spans.pe_list = cursor_.since(from);
    return ok_status();
  }

  Status read_dim_to_pe() {
    const std::int64_t from = cursor_.position();
    std::vector<std::int64_t>& axes = text_.words.dim_to_pe.emplace();
    TESSERA_CHECK_OK(read_list("such as dim_to_pe=[0, 1, -1]", [&]() -> Status {
      if (axes.size() == kMaxRank) {
        return Error{ErrorCode::kRankTooLarge,
                     cat("dim_to_pe speaks of more than ", kMaxRank, " dims"), cursor_.next().span,
                     "one entry per dim"};
      }
      const std::int64_t entry_from = cursor_.position();
      TESSERA_TRY(const std::int64_t axis, read_axes_of_dim(axes.size()));
      axes.push_back(axis);
      text_.spans.dim_to_pe.push_back(cursor_.since(entry_from));
      return ok_status();
    }));
    text_.spans.dim_list = cursor_.since(from);
    return ok_status();
  }

  /// A PE axis, -1, or [0, 1] for a dim over both.
  Result<std::int64_t> read_axes_of_dim(std::size_t dim) {
    const std::int64_t from = cursor_.position();
    if (!cursor_.accept("[")) {
      TESSERA_TRY(const std::int64_t axis, cursor_.integer("a PE axis", "0, 1 or -1"));
      if (axis != PyflameLayout::kBothAxes) return axis;
      return Error{ErrorCode::kOutOfRange, cat("dim ", dim, " maps to PE axis ", axis),
                   cursor_.since(from),
                   "0 is the PE rows, 1 the PE columns, -1 keeps the dim local"};
    }
    constexpr std::string_view kHelp = "such as dim_to_pe=[[0, 1]]";
    std::vector<std::int64_t> axes;
    do {
      TESSERA_TRY(const std::int64_t axis, cursor_.integer("a PE axis", kHelp));
      axes.push_back(axis);
    } while (axes.size() < 2 && cursor_.accept(","));
    TESSERA_CHECK_OK(cursor_.expect("]", kHelp));
    if (axes == std::vector<std::int64_t>{0, 1}) return PyflameLayout::kBothAxes;
    return Error{ErrorCode::kOutOfRange, cat("dim ", dim, " maps to PE axes ", bracketed(axes)),
                 cursor_.since(from), "[0, 1] distributes a dim over both axes, row by row"};
  }

  Result<Said<int>> read_axis() {
    const std::int64_t from = cursor_.position();
    TESSERA_TRY(const std::int64_t axis, cursor_.integer("a PE axis", "0 rows, 1 columns"));
    const Span span = cursor_.since(from);
    if (axis == 0 || axis == 1) return Said<int>{static_cast<int>(axis), span};
    return Error{ErrorCode::kOutOfRange, cat("there is no PE axis ", axis), span,
                 "0 is the PE rows, 1 the PE columns"};
  }

  Status read_replicate() {
    return read_list("such as replicate=[0]", [&]() -> Status {
      TESSERA_TRY(const Said<int> axis, read_axis());
      text_.words.replicate.push_back(axis.value);
      text_.spans.replicate.push_back(axis.span);
      return ok_status();
    });
  }

  Status read_partial() {
    constexpr std::string_view kHelp = "such as partial=[1:sum]";
    return read_list(kHelp, [&]() -> Status {
      const std::int64_t from = cursor_.position();
      TESSERA_TRY(const Said<int> axis, read_axis());
      TESSERA_CHECK_OK(cursor_.expect(":", kHelp));
      TESSERA_TRY(const Reduction reduction, read_reduction());
      text_.words.partial.emplace_back(axis.value, reduction);
      text_.spans.partial.push_back(cursor_.since(from));
      return ok_status();
    });
  }

  Result<Reduction> read_reduction() {
    constexpr std::array kReductions = {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                        Reduction::kMax, Reduction::kAnd,     Reduction::kOr};
    TESSERA_TRY(const Word name, cursor_.identifier("a reduction", "such as sum or max"));
    std::vector<std::string_view> names;
    for (const Reduction reduction : kReductions) {
      if (reduction_name(reduction) == name.text) return reduction;
      names.push_back(reduction_name(reduction));
    }
    return Error{ErrorCode::kUnknownName, cat("no reduction is called ", quote_name(name.text)),
                 name.span, did_you_mean(name.text, names)};
  }

  Cursor cursor_;
  const Factory* factory_ = nullptr;
  PyflameText text_;
  std::array<bool, 9> said_{};
  std::size_t unnamed_ = 0;
  bool named_ = false;
};

}  // namespace

Result<PyflameText> read_pyflame(std::string_view source) { return Reader(source).read(); }

}  // namespace tessera::notation
