// SPDX-License-Identifier: Apache-2.0
// Every ordered pair of notations: random tensors of the one, converted to the other.
//   convert_sweep --quick   1,000 tensors per pair; every 4th is converted back and from native too
//   convert_sweep --full    5,000 tensors per pair, all of them in both directions
// A converted tensor must have every element in the same position: `locate` is compared for every
// index. If a tensor is rejected, counting its elements must confirm the reason, and no tensor of
// the other notation may be the same function. The table in docs/conversions.md is the share of the
// first 1,000 that converts; with TESSERA_UPDATE_DOCS=1 it is rewritten, otherwise compared. Prints
// what was done and how often each reason was given. Returns 1 when a law breaks, after printing up
// to 20 cases.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/convert.h"
#include "tessera/testing/notation/positions.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/notation/refusals.h"
#include "tessera/testing/pages/generated_page.h"

namespace tessera::test {
namespace {

/// The share of random tensors of one notation that another can express, 0 to 1, by names (from,
/// to).
struct ConversionTable {
  std::map<std::pair<std::string, std::string>, double> shares;
};

std::string share_text(double share) {
  if (share == 0) return "-";
  const int percent = static_cast<int>(share * 100 + 1e-9);
  return percent == 0 ? "<1" : std::to_string(percent);
}

std::string axes_text(const notation::Scope& scope) {
  if (scope.most_axes == 0) return "one place";
  std::string most = scope.most_axes > 8 ? "any rank" : cat("rank ", scope.most_axes);
  if (scope.most_axes <= 8 && scope.least_axes < scope.most_axes && scope.least_axes > 0) {
    return cat("rank ", scope.least_axes, " to ", scope.most_axes);
  }
  return most;
}

std::string yes(bool can) { return can ? "yes" : "-"; }

/// The 13x13 table of docs/conversions.md: percent, rounded down but never to 0; `-` for none.
std::string table_text(const ConversionTable& table) {
  std::string text = "| from \\ to |";
  std::string rule = "|---|";
  for (const Notation& to : notations()) {
    text += cat(" ", to.name, " |");
    rule += "---|";
  }
  text += cat("\n", rule, "\n");
  for (const Notation& from : notations()) {
    text += cat("| ", from.name, " |");
    for (const Notation& to : notations()) {
      const auto share = table.shares.find({std::string(from.name), std::string(to.name)});
      text += cat(" ", share_text(share == table.shares.end() ? 0 : share->second), " |");
    }
    text += "\n";
  }
  return text;
}

/// The table of what each notation can express, from Notation::scope.
std::string scopes_text() {
  std::string text =
      "| notation | mesh | padding | copies | partial results | tiles as atoms | shared slots | "
      "boxes |\n|---|---|---|---|---|---|---|---|\n";
  for (const Notation& notation : notations()) {
    const notation::Scope& scope = notation.scope;
    text += cat("| ", notation.name, " | ", axes_text(scope), " | ", yes(scope.pads), " | ",
                yes(scope.replicates), " | ", yes(scope.partial), " | ", yes(scope.tiles), " | ",
                yes(scope.shares), " | ", yes(scope.pieces), " |\n");
  }
  return text;
}

constexpr int kMaxFailures = 20;
constexpr std::size_t kOfTable = 1000;
constexpr std::int64_t kSampledSlots = 16;

/// A random tensor, the list of its positions, and the same tensor in native notation.
struct Sample {
  std::string text;
  Tensor tensor;
  Tensor native;
  Positions positions;
};

struct Totals {
  std::int64_t pairs = 0;
  std::int64_t tensors = 0;
  std::int64_t converted = 0;
  std::int64_t refused = 0;
  std::int64_t elements = 0;  ///< compared
};

class Sweep {
 public:
  Sweep(std::size_t samples, std::size_t back_step) : samples_(samples), back_step_(back_step) {}

  int run() {
    for (const Notation& notation : notations()) draw(notation);
    ConversionTable table;
    for (const Notation& from : notations()) {
      for (const Notation& to : notations()) {
        const std::size_t said = convert_all(from, to);
        table.shares[{std::string(from.name), std::string(to.name)}] =
            static_cast<double>(said) / kOfTable;
      }
    }
    const std::string page = page_mistake(
        "docs/conversions.md", {{"scopes", scopes_text()}, {"shares", table_text(table)}});
    if (!page.empty()) fail(page);
    return report();
  }

 private:
  void draw(const Notation& notation) {
    progress("drawing", notation.name, "");
    std::vector<Sample>& samples = drawn_[std::string(notation.name)];
    for (std::size_t i = 0; i < samples_; ++i) {
      Dice dice(i * 1009 + notation.name.size() * 7 + static_cast<unsigned char>(notation.name[0]));
      std::string text = random_text(notation.name, dice);
      Result<Tensor> tensor = parse_tensor(text);
      Result<Tensor> native = parse_tensor(print_native(tensor->placement));
      Result<Positions> positions = positions_of(*tensor);
      if (!native || !positions) {
        fail(cat(text, ": ", native ? positions.error().message : native.error().message));
        continue;
      }
      const std::string mistake = contents_mistake(*tensor, *positions, kSampledSlots);
      if (!mistake.empty()) fail(cat(text, ": ", mistake));
      for (const bool by_number : {false, true}) {
        said_[std::string(notation.name)].emplace(key_of(*positions, by_number), text);
      }
      samples.push_back(
          {std::move(text), *std::move(tensor), *std::move(native), *std::move(positions)});
    }
  }

  /// Returns how many of the first 1,000 convert.
  std::size_t convert_all(const Notation& from, const Notation& to) {
    progress("converting", from.name, to.name);
    const std::vector<Sample>& samples = drawn_[std::string(from.name)];
    std::size_t said = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& sample = samples[i];
      const Result<Conversion> conversion = convert(sample.tensor, to);
      std::string mistake;
      if (conversion) {
        if (i < kOfTable) ++said;
        mistake = conversion_mistake(sample, *conversion, from, to, i % back_step_ == 0);
      } else {
        mistake = mistake_in(sample, to, conversion.error());
      }
      if (from.name == to.name) continue;
      ++totals_.tensors;
      ++(conversion ? totals_.converted : totals_.refused);
      if (!mistake.empty()) fail(cat(sample.text, "\n    to ", to.name, ": ", mistake));
    }
    if (from.name != to.name) ++totals_.pairs;
    return said;
  }

  std::string conversion_mistake(const Sample& sample, const Conversion& conversion,
                                 const Notation& from, const Notation& to, bool back) {
    const Result<Tensor> tensor = parse_tensor(conversion.text);
    if (!tensor) return cat(conversion.text, " is refused: ", tensor.error().message);
    if (tensor->notation != to.name) return cat(conversion.text, " is ", tensor->notation);
    std::string mistake = same_mistake(sample.positions, *tensor);
    const Result<Positions> there = positions_of(*tensor);
    if (mistake.empty()) mistake = contents_mistake(*tensor, *there, kSampledSlots);
    if (!mistake.empty()) return cat(conversion.text, ": ", mistake);
    if (!back) return {};
    const Result<Conversion> returned = convert(*tensor, from);
    if (!returned) {
      // Only a lost property, tiles, may make the conversion back impossible.
      const Sample other{conversion.text, *tensor, *tensor, *there};
      mistake = mistake_in(other, from, returned.error());
      return mistake.empty() ? mistake : cat(conversion.text, " back: ", mistake);
    }
    const Result<Tensor> again = parse_tensor(returned->text);
    if (!again) return cat(returned->text, " is refused: ", again.error().message);
    mistake = same_mistake(*there, *again);
    // Places that were numbered have lost their coordinates, but not their numbers.
    const bool was_numbered =
        to.numbers_places || there->device.size() != sample.positions.device.size();
    if (mistake.empty() && !was_numbered) mistake = same_mistake(sample.positions, *again);
    if (!mistake.empty()) return cat("back as ", returned->text, ": ", mistake);
    if (from.name == to.name || to.name == "native") return {};
    // The places of native have coordinates, so only the same mesh is sure to be the same tensor.
    if (from.numbers_places && tensor->placement.mesh() != sample.tensor.placement.mesh())
      return {};
    const Result<Conversion> by_native = convert(sample.native, to);
    if (!by_native) return cat("from native: ", by_native.error().message);
    return by_native->text == conversion.text
               ? ""
               : cat(conversion.text, ", but from native ", by_native->text);
  }

  std::string same_mistake(const Positions& before, const Tensor& tensor) {
    const Result<Positions> after = positions_of(tensor);
    if (!after) return after.error().message;
    totals_.elements += static_cast<std::int64_t>(before.positions.size());
    return difference(before, *after);
  }

  std::string mistake_in(const Sample& sample, const Notation& to, const Error& error) {
    // A tensor has no text, so there is nothing that a span could refer to.
    if (error.span) return cat("'", error.message, "' has a span");
    if (error.code != ErrorCode::kNotSupported) {
      return cat("the code of '", error.message, "' is ", code_name(error.code));
    }
    for (const Reason& reason : error.reasons) ++reasons_[cat(to.name, " | ", reason.name)];
    const std::string mistake =
        test::refusal_mistake({sample.tensor, sample.positions, to.name}, error.reasons);
    if (!mistake.empty()) return cat("'", error.message, "', but ", mistake);
    const auto& known = said_[std::string(to.name)];
    // Other meshes and device maps that leave every place in its position are not searched for,
    // except on the single axis of GSPMD.
    if (sample.positions.is_mapped()) return {};
    const bool by_number = to.name == "gspmd" && !sample.positions.positions.empty();
    for (const Positions& positions : {sample.positions, untiled(sample.positions)}) {
      const auto twin = known.find(key_of(positions, by_number));
      if (twin != known.end()) return cat("'", error.message, "', but it is ", twin->second);
    }
    return {};
  }

  static std::string key_of(const Positions& positions, bool by_number) {
    return cat(by_number ? "by number " : "by coordinates ", positions.key(by_number));
  }

  void fail(const std::string& what) {
    if (failures_++ < kMaxFailures) std::printf("BROKEN: %s\n", what.c_str());
  }

  void progress(const char* what, std::string_view from, std::string_view to) const {
    if (isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "\r\033[K%s %s %s", what, std::string(from).c_str(),
                 std::string(to).c_str());
  }

  int report() const {
    if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K");
    for (const auto& [reason, times] : reasons_) {
      std::printf("%8lld  %s\n", static_cast<long long>(times), reason.c_str());
    }
    std::printf(
        "%lld pairs of notations, %lld conversions: %lld said, %lld refused; %lld elements "
        "compared\n",
        static_cast<long long>(totals_.pairs), static_cast<long long>(totals_.tensors),
        static_cast<long long>(totals_.converted), static_cast<long long>(totals_.refused),
        static_cast<long long>(totals_.elements));
    if (failures_ > 0) std::printf("%d FAILURES\n", failures_);
    return failures_ > 0 ? 1 : 0;
  }

  std::size_t samples_;
  std::size_t back_step_;
  std::map<std::string, std::vector<Sample>> drawn_;
  std::map<std::string, std::unordered_map<std::string, std::string>> said_;  // key → text
  std::map<std::string, std::int64_t> reasons_;
  Totals totals_;
  int failures_ = 0;
};

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--quick") == 0) {
    return tessera::test::Sweep(1000, 4).run();
  }
  if (argc == 2 && std::strcmp(argv[1], "--full") == 0) return tessera::test::Sweep(5000, 1).run();
  std::fprintf(stderr, "usage: %s --quick | --full\n", argv[0]);
  return 2;
}
