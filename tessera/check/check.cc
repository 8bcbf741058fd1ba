// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/check.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/check/agreement.h"
#include "tessera/check/allowance.h"
#include "tessera/check/expansion.h"
#include "tessera/check/negative_tests.h"
#include "tessera/check/reading.h"

namespace tessera::check {
namespace {

constexpr std::size_t kMaxText = std::size_t{64} << 20;
constexpr int kMaxHops = 64;                               // from alias to alias before a layout
constexpr std::size_t kMaxCached = std::size_t{16} << 20;  // bytes of texts whose reading is cached
constexpr std::size_t kMaxTold = std::size_t{1} << 16;     // diagnostics of one file

/// A finding in the file.
struct Placed {
  Finding finding;
  Expansion::Source source;
};

/// Tensors of one section with the same text: the reading of one holds for all.
struct Group {
  std::vector<std::size_t> tensors;  ///< numbers in the scan, increasing
  std::vector<Placed> findings;
};

class Checker {
 public:
  Checker(std::string_view text, const CheckOptions& options)
      : text_(text),
        options_(options),
        scan_(scan_mlir(text)),
        aliases_(text, scan_.aliases),
        allowance_(text, scan_.remarks),
        negative_(text, scan_),
        budget_(8 * text.size() + (std::size_t{4} << 20)) {}

  CheckReport run() {
    collect();
    for (std::size_t group = 0; group < groups_.size(); ++group) read(group);
    for (const Group& group : groups_) {
      for (const Placed& placed : group.findings) report(group, placed);
    }
    finish();
    return std::move(report_);
  }

 private:
  /// Why a diagnostic is not reported. Of two for the same text, the first in this order decides.
  enum class Fate : std::uint8_t { kReported, kSilenced, kExpected };
  struct Told {
    Diagnostic diagnostic;
    Fate fate = Fate::kReported;
  };

  bool in_negative_test(const Group& group) const {
    return negative_.has(scan_.tensors[group.tensors.front()].span.from);
  }

  std::string_view of(Span span) const {
    return text_.substr(static_cast<std::size_t>(span.from),
                        static_cast<std::size_t>(span.to - span.from));
  }

  void collect() {
    std::unordered_map<std::string_view, std::size_t> here;
    std::size_t section = 0;
    for (std::size_t i = 0; i < scan_.tensors.size(); ++i) {
      const MlirTensor& tensor = scan_.tensors[i];
      if (tensor.section != section) here.clear();
      section = tensor.section;
      const auto [found, fresh] = here.try_emplace(of(tensor.span), groups_.size());
      if (fresh) groups_.emplace_back();
      groups_[found->second].tensors.push_back(i);
    }
  }

  /// Whether the encoding, after following aliases, is a layout that Tessera reads.
  bool is_ours(const MlirTensor& tensor) const {
    std::size_t at = tensor.comma + 1;
    auto end = static_cast<std::size_t>(tensor.span.to);
    for (int hop = 0; hop < kMaxHops; ++hop) {
      at = skip_blanks(text_, at, end);
      if (at >= end || text_[at] != '#') return false;
      std::size_t stop = at + 1;
      while (stop < end && is_mlir_word(text_[stop])) ++stop;
      if (stop < end && text_[stop] == '.') return is_known_layout(text_.substr(at, end - at));
      const auto alias = aliases_.find(text_.substr(at, stop - at), tensor.section);
      if (!alias) return false;
      const Span value = aliases_.value(*alias);
      at = static_cast<std::size_t>(value.from);
      end = static_cast<std::size_t>(value.to);
    }
    return true;  // aliases form a cycle: expanding them reports it
  }

  void read(std::size_t number) {
    Group& group = groups_[number];
    const MlirTensor& tensor = scan_.tensors[group.tensors.front()];
    const auto count = static_cast<std::int64_t>(group.tensors.size());
    if (!is_ours(tensor)) {
      report_.unknown += count;
      return;
    }
    if (found_ >= kMaxTold) {
      report_.unknown += count;
      stop(tensor, cat("more than ", kMaxTold, " diagnostics"));
      return;
    }
    const Result<Expansion> expansion = Expansion::of(text_, tensor.span, tensor.section, aliases_);
    if (!expansion) {
      report_.unknown += count;
      ++found_;
      refuse(expansion.error(), tensor);
      return;
    }
    if (expansion->text().size() > budget_) {
      report_.unknown += count;
      stop(tensor, "the aliases of this file expand to more text than the limit");
      return;
    }
    budget_ -= expansion->text().size();
    const Reading reading = reading_of(*expansion, tensor);
    (reading.known ? report_.tensors : report_.unknown) += count;
    for (const std::size_t alias : expansion->aliases()) agreement_.uses(number, alias);
    for (const Finding& finding : reading.findings) {
      const Expansion::Source source = expansion->source(finding.span);
      if (source.alias && source.exact && !finding.correction.empty() && !in_negative_test(group)) {
        agreement_.proposes(number, *source.alias, {source.span, finding.correction});
      }
      found_ += source.alias ? 1 : group.tensors.size();
      group.findings.push_back({finding, source});
    }
  }

  /// Reports once that the rest is not read.
  void stop(const MlirTensor& tensor, std::string reason) {
    if (std::exchange(stopped_, true)) return;
    refuse(Error{ErrorCode::kTooLarge, std::move(reason), tensor.span,
                 "tensors from here on may be unchecked"},
           tensor);
  }

  /// Reads each text once, wherever it occurs.
  Reading reading_of(const Expansion& expansion, const MlirTensor& tensor) {
    const std::string& text = expansion.text();
    const auto found = readings_.find(text);
    if (found != readings_.end()) return found->second;
    const auto comma =
        static_cast<std::size_t>(expansion.expanded(static_cast<std::int64_t>(tensor.comma)));
    const std::size_t layout = skip_blanks(text, std::min(comma + 1, text.size()), text.size());
    Reading reading = read_mlir_tensor(text, layout, options_);
    if (cached_ + text.size() <= kMaxCached) {
      cached_ += text.size();
      readings_.emplace(text, reading);
    }
    return reading;
  }

  /// An error of the file's own text.
  void refuse(const Error& error, const MlirTensor& tensor) {
    const Span span = error.span.value_or(tensor.span);
    tell({Severity::kError, std::string(code_name(error.code)), span, error.message, error.help,
          span == tensor.span ? std::nullopt : std::optional(tensor.span), std::nullopt},
         negative_.has(tensor.span.from),
         allows(code_name(error.code), {span.from, tensor.span.from}));
  }

  void report(const Group& group, const Placed& placed) {
    const Finding& finding = placed.finding;
    const Expansion::Source& source = placed.source;
    Diagnostic diagnostic{finding.severity, finding.code, source.span, finding.message,
                          finding.help,     std::nullopt, std::nullopt};
    const bool expected = in_negative_test(group);
    const bool fixable = source.exact && !finding.correction.empty() && !expected &&
                         !negative_.has(source.span.from);
    if (!source.alias) {
      if (fixable) diagnostic.fix = Edit{source.span, finding.correction};
      report_at_each(group, diagnostic, expected);
      return;
    }
    if (fixable) fix_if_agreed(*source.alias, {source.span, finding.correction}, diagnostic);
    const std::int64_t definition = aliases_.at(*source.alias).span.from;
    const bool allowed = allows(finding.code, {source.span.from, definition});
    // The first tensor that does not allow it represents the group.
    const auto speaker =
        std::find_if(group.tensors.begin(), group.tensors.end(), [&](std::size_t tensor) {
          return !allows(finding.code, {scan_.tensors[tensor].span.from});
        });
    const bool silenced = allowed || speaker == group.tensors.end();
    diagnostic.tensor =
        scan_.tensors[speaker == group.tensors.end() ? group.tensors.front() : *speaker].span;
    tell(std::move(diagnostic), expected, silenced);
  }

  /// A finding in the tensor's own text is one diagnostic per tensor.
  void report_at_each(const Group& group, const Diagnostic& first, bool expected) {
    const std::int64_t origin = scan_.tensors[group.tensors.front()].span.from;
    for (const std::size_t number : group.tensors) {
      if (told_.size() > 2 * kMaxTold) return;
      const std::int64_t from = scan_.tensors[number].span.from;
      const auto moved = [&](Span span) {
        return Span{span.from + (from - origin), span.to + (from - origin)};
      };
      Diagnostic diagnostic = first;
      diagnostic.span = moved(first.span);
      if (diagnostic.fix) diagnostic.fix->span = moved(first.fix->span);
      const bool silenced = allows(diagnostic.code, {diagnostic.span.from, from});
      tell(std::move(diagnostic), expected, silenced);
    }
  }

  void fix_if_agreed(std::size_t alias, const Edit& edit, Diagnostic& diagnostic) const {
    if (agreement_.unanimous(alias, edit)) {
      diagnostic.fix = edit;
      return;
    }
    std::string others;
    for (const std::size_t group : agreement_.others(alias, edit)) {
      const Span span = scan_.tensors[groups_[group].tensors.front()].span;
      others += cat(others.empty() ? "" : ", ", quote_name(of(span)), " in line ",
                    allowance_.line_of(span.from));
    }
    const std::string right = cat("this tensor needs ", edit.text, " here, but ", others,
                                  " uses the same text and does not: give it a separate layout");
    diagnostic.help = diagnostic.help.empty() ? right : cat(diagnostic.help, "; ", right);
  }

  /// Whether a comment allows the code on the line of one of these bytes.
  bool allows(std::string_view code, std::initializer_list<std::int64_t> bytes) const {
    return std::any_of(bytes.begin(), bytes.end(),
                       [&](std::int64_t byte) { return allowance_.allows(code, byte); });
  }

  void tell(Diagnostic diagnostic, bool expected, bool silenced) {
    told_.push_back({std::move(diagnostic), expected   ? Fate::kExpected
                                            : silenced ? Fate::kSilenced
                                                       : Fate::kReported});
  }

  /// Sorts diagnostics in file order, each once. A diagnostic that is silenced or expected only for
  /// some tensors is reported.
  void finish() {
    const auto what = [](const Told& told) {
      const Diagnostic& d = told.diagnostic;
      return std::tie(d.span.from, d.span.to, d.code, d.message);
    };
    std::sort(told_.begin(), told_.end(), [&](const Told& a, const Told& b) {
      if (what(a) != what(b)) return what(a) < what(b);
      if (a.fate != b.fate) return a.fate < b.fate;
      return a.diagnostic.tensor.value_or(Span{}).from < b.diagnostic.tensor.value_or(Span{}).from;
    });
    told_.erase(std::unique(told_.begin(), told_.end(),
                            [&](const Told& a, const Told& b) { return what(a) == what(b); }),
                told_.end());
    for (Told& told : told_) {
      switch (told.fate) {
        case Fate::kReported:
          report_.diagnostics.push_back(std::move(told.diagnostic));
          break;
        case Fate::kSilenced:
          ++report_.silenced;
          break;
        case Fate::kExpected:
          ++report_.expected;
          break;
      }
    }
    count_occurrences();
  }

  void count_occurrences() {
    std::map<FindingKey, std::int64_t> counts;
    for (const Diagnostic& diagnostic : report_.diagnostics) ++counts[finding_key(diagnostic)];
    for (Diagnostic& diagnostic : report_.diagnostics) {
      diagnostic.occurrences = counts[finding_key(diagnostic)];
    }
  }

  std::string_view text_;
  const CheckOptions& options_;
  MlirScan scan_;
  AliasTable aliases_;
  Allowance allowance_;
  NegativeTests negative_;
  std::size_t budget_;
  std::size_t found_ = 0;
  std::size_t cached_ = 0;
  bool stopped_ = false;
  std::vector<Group> groups_;
  std::unordered_map<std::string, Reading> readings_;
  Agreement agreement_;
  std::vector<Told> told_;
  CheckReport report_;
};

}  // namespace

FindingKey finding_key(const Diagnostic& diagnostic) {
  return {diagnostic.severity, diagnostic.code, diagnostic.message,
          diagnostic.fix ? std::string_view(diagnostic.fix->text) : std::string_view()};
}

Result<CheckReport> check_mlir(std::string_view text, const CheckOptions& options) {
  if (text.size() > kMaxText) {
    return Error{ErrorCode::kTextTooLong,
                 cat("a text of ", text.size(), " bytes; at most ", kMaxText, " are accepted"),
                 Span{0, 0}, "check a file of this size in parts"};
  }
  return Checker(text, options).run();
}

}  // namespace tessera::check
