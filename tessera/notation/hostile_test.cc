// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/process.h"

/// A hostile text of 1 MB is rejected or parsed within 1 s and 64 MB.
namespace tessera::notation {
namespace {

constexpr std::size_t kMegabyte = 1'000'000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||
                            __has_feature(memory_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

/// `head`, then `piece` until a megabyte is full, then `tail`.
std::string filled(std::string head, std::string_view piece, std::string_view tail = "") {
  while (head.size() + piece.size() + tail.size() <= kMegabyte) head += piece;
  head += tail;
  return head;
}

std::string noise(std::string head, std::string_view alphabet) {
  std::mt19937_64 random(42);
  while (head.size() < kMegabyte) head += alphabet[random() % alphabet.size()];
  return head;
}

std::int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void expect_quick(const std::string& text) {
  const std::int64_t peak_before = peak_kilobytes();
  const double start = test::cpu_seconds();
  const Result<Tensor> tensor = parse_tensor(text);
  const std::string answer =
      tensor.ok() ? print_native(tensor->placement) : render(tensor.error(), text);
  const double seconds = test::cpu_seconds() - start;
  const std::string shown = answer.substr(0, 400);
  EXPECT_FALSE(answer.empty());
  if (!tensor.ok()) {
    EXPECT_LT(answer.size(), 4096) << shown;
  }
  EXPECT_LT(seconds, kSanitized ? 10 : 1) << shown;
  if (!kSanitized) {
    EXPECT_LT(peak_kilobytes() - peak_before, 64 * 1024) << shown;
  }
}

TEST(Hostile, AMegabyteOfAnythingIsAnsweredQuickly) {
  std::string many_entries = "tensor<f32, native<device=table([1000000], [";
  for (int i = 0; many_entries.size() < kMegabyte - 20; ++i) {
    many_entries += "[" + std::to_string(i) + "],";
  }
  many_entries.back() = ']';
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"blanks", std::string(kMegabyte, ' ')},
      {"zero bytes", std::string(kMegabyte, '\0')},
      {"deep angles", filled("tensor<f32, native", "<")},
      {"deep angles inside", filled("tensor<f32, ", "native<", ">")},
      {"deep squares", filled("tensor<f32, native<mesh=", "[")},
      {"deep braces", filled("tensor<f32, native<", "{")},
      {"deep parentheses", filled("tensor<f32, native<{}/", "(")},
      {"deep tensors", filled("", "tensor<")},
      {"closing brackets", filled("tensor<f32, native<>", ">")},
      {"digits of an extent", filled("tensor<", "9", "xf32, native<>>")},
      {"zeros of an extent", filled("tensor<", "0", "1xf32, strided<[1]>>")},
      {"digits of a width", filled("tensor<f32, native<{}/(", "1", "->mem)>>")},
      {"digits of a padding value", filled("tensor<f32, native<pad=", "1", ">>")},
      {"digits after the point", filled("tensor<f32, native<pad=0.", "1", ">>")},
      {"digits of a dim", filled("tensor<f32, native<{d", "0", "}/(1->mem)>>")},
      {"minus signs", filled("tensor<f32, native<{", "-", "}/(1->mem)>>")},
      {"a sum of constants", filled("tensor<f32, native<{0", "+1", "}/(1#1000000->none)>>")},
      {"commas", filled("tensor<f32, native<", ",")},
      {"commas in a list", filled("tensor<f32, native<mesh=[", ",")},
      {"ones in a list", filled("tensor<f32, native<mesh=[1", ",1", "]>>")},
      {"ones as strides", filled("tensor<f32, strided<[1", ",1", "]>>")},
      {"extents of 1", filled("tensor<", "1x", "f32, native<>>")},
      {"extents of 0", filled("tensor<", "0x", "f32, native<>>")},
      {"terms", filled("tensor<4xf32, native<{d0", "+d0", "}/(1->mem)>>")},
      {"cuts", filled("tensor<f32, native<{}/(1->none", ",1->none", ")>>")},
      {"folds", filled("tensor<f32, native<{}/(1->none)", ",{}/(1->none)", ">>")},
      {"fills", filled("tensor<f32, native<mesh=[1]", ",fixed(m0=0)", ">>")},
      {"items said twice", filled("tensor<f32, native<offset=0", ",offset=0", ">>")},
      {"a long name", filled("tensor<f32, native<", "a", "=1>>")},
      {"a long space", filled("tensor<f32, native<space=", "a", ">>")},
      {"a long element type", filled("tensor<", "f", ", native<>>")},
      {"a long notation", filled("tensor<f32, ", "x", "<>>")},
      {"empty entries of a table", filled("tensor<f32, native<device=table([],[[]", ",[]", "])>>")},
      {"entries of a table, mesh unsaid", many_entries + ")>>"},
      {"entries of a table, mesh said",
       filled("tensor<f32, native<mesh=[3],device=table([9],[[0]", ",[0]", "])>>")},
      {"device folds", filled("tensor<f32, native<device=folded([1]", ",{}/(1->none)", ")>>")},
      {"random bytes of the grammar", noise("tensor<4xf32, native<", "<>[](){},=/#*!-+x01dm \n")},
      {"random bytes", noise("", std::string_view("\x00\xFF\x80\x1B[31m\n\r\t\"'`", 14))},
  };
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    EXPECT_GT(text.size(), kMegabyte * 9 / 10);
    expect_quick(text);
  }
}

/// Texts within every limit of the grammar, whose strides are expensive to analyse.
TEST(Hostile, EntangledLayoutsAreAnsweredQuickly) {
  std::mt19937_64 random(43);
  const auto number = [&](std::uint64_t low, std::uint64_t high) {
    return std::to_string(low + random() % (high - low));
  };
  const auto items = [](int count, const std::function<std::string(int)>& item) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i == 0 ? "" : ", ") + item(i);
    return out;
  };
  const auto twos = [](int rank) {
    std::string out = "tensor<";
    for (int i = 0; i < rank; ++i) out += "2x";
    return out + "f32, native<";
  };
  const std::string line = "tensor<1048576xf32, native<";
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"as many cuts as fit",
       "tensor<f32, native<" +
           items(256,
                 [&](int) {
                   return "{} / (" + items(64, [](int) { return std::string("1 -> mem"); }) + ")";
                 }) +
           ">>"},
      {"random strides of 40 dims", twos(40) +
                                        items(40,
                                              [&](int i) {
                                                return "{d" + std::to_string(i) + "} / (1 -> mem*" +
                                                       number(1, 1ULL << 45) + ")";
                                              }) +
                                        ">>"},
      {"random strides of 19 dims", twos(19) +
                                        items(19,
                                              [&](int i) {
                                                return "{d" + std::to_string(i) + "} / (1 -> mem*" +
                                                       number(1, 1ULL << 45) + ")";
                                              }) +
                                        ">>"},
      {"one dim in 256 folds", line +
                                   items(256,
                                         [&](int) {
                                           return "{d0} / (" + number(2, 1000) + " -> mem*" +
                                                  number(1, 1ULL << 30) + ", 1 -> none)";
                                         }) +
                                   ">>"},
      {"one dim in 16,000 cuts", line +
                                     items(250,
                                           [&](int) {
                                             return "{d0} / (" +
                                                    items(63,
                                                          [&](int) {
                                                            return number(2, 1000) + " -> mem*" +
                                                                   number(1, 1ULL << 30);
                                                          }) +
                                                    ", 1 -> mem)";
                                           }) +
                                     ">>"},
      {"19 dims in 256 folds",
       twos(19) +
           items(256,
                 [&](int) {
                   std::string sum;
                   for (int d = 0; d < 19; ++d)
                     sum += "+" + number(1, 1000000) + "*d" + std::to_string(d);
                   return "{0" + sum + "} / (" + number(2, 1000) + " -> mem*" +
                          number(1, 1ULL << 30) + ", 1 -> none)";
                 }) +
           ">>"},
      {"an entangled device map",
       "tensor<1048576xf32, native<mesh=[1048576], {d0} / (1 -> m0), device=folded([100000000000], "
       "{3*d0} / (1024 -> m0*7, 17 -> m0*1023, 1 -> m0*5))>>"},
  };
  for (const auto& [name, text] : texts) {
    SCOPED_TRACE(name);
    expect_quick(text);
  }
}

/// Short texts with large demands: numbers near the end of the range in every position.
TEST(Hostile, HugeNumbersAreErrorsOrAnswers) {
  const std::vector<std::string> numbers = {"0",
                                            "1",
                                            "2",
                                            "1000000007",
                                            "4611686018427387904",
                                            "9223372036854775807",
                                            "-1",
                                            "-9223372036854775808"};
  const std::vector<std::string> patterns = {
      "tensor<@xf32, strided<[#]>>",
      "tensor<@x2xf32, strided<[#, 1], offset: @>>",
      "tensor<2x3xf32, strided<[#, @], offset: #>>",
      "tensor<@xf32, native<{#*d0 + @} / (1 -> mem)>>",
      "tensor<4xf32, native<{@*d0 + #} / (1 -> mem)>>",
      "tensor<4xf32, native<{d0} / (@ -> mem*#, 1 -> mem)>>",
      "tensor<4xf32, native<{d0} / (1#@ -> mem*#)>>",
      "tensor<4xf32, native<{d0} / (3#@ -> none*#, 1 -> mem)>>",
      "tensor<4xf32, native<{d0 - #} / (1 -> mem), {} / (1#@ -> mem*#)>>",
      "tensor<4xf32, native<mesh=[@, #], {d0} / (1 -> m0*#), fixed(m1=0)>>",
      "tensor<1xf32, native<mesh=[1, @], {d0} / (1 -> m0*#), replicate(m1)>>",
      "tensor<4xf32, native<mesh=[@], {d0} / (1 -> mem), replicate(m0#@*#)>>",
      "tensor<4xf32, native<mesh=[@], {d0} / (1 -> mem), replicate(m0*#)>>",
      "tensor<4xf32, native<mesh=[@], {d0} / (1 -> mem), partial(m0#2*#, sum)>>",
      "tensor<4xf32, native<mesh=[@], {d0} / (1 -> mem), fixed(m0=#)>>",
      "tensor<4xf32, native<{d0} / (1 -> mem), offset=@, slots=#>>",
      "tensor<4xf32, native<{d0} / (1 -> mem), slots=@, atom=tile(#x1, f32)>>",
      "tensor<4xf32, native<{d0} / (1 -> mem), slots=@, atom=tile(32x32, bfp_bf8)>>",
      "tensor<4xf32, native<{d0} / (1 -> mem), atom=tile(@x#, f32)>>",
      "tensor<4xf32, native<mesh=[4], {d0} / (1 -> m0), device=folded([@], {#*d0} / (1 -> m0))>>",
      "tensor<4xi8, native<mesh=[4],{d0}/(1->m0),device=folded([4,@],{d0}/(1->m0),origin=[0,#])>>",
      "tensor<4xf32, native<mesh=[4], {d0}/(1->m0), device=folded([@], {d0}/(@->mem*#, 1->m0))>>",
      "tensor<1xf32, native<mesh=[1], device=table([@, #], [[@, #]])>>",
  };
  int texts = 0;
  int layouts = 0;
  for (const std::string& pattern : patterns) {
    for (const std::string& a : numbers) {
      for (const std::string& b : numbers) {
        std::string text;
        for (const char c : pattern) text += c == '@' ? a : c == '#' ? b : std::string(1, c);
        SCOPED_TRACE(text);
        ++texts;
        const Result<Tensor> tensor = parse_tensor(text);
        if (!tensor.ok()) {
          EXPECT_TRUE(tensor.error().span.has_value());
          continue;
        }
        ++layouts;
        const Result<Tensor> again = parse_tensor(print_native(tensor->placement));
        ASSERT_TRUE(again.ok()) << render(again.error(), print_native(tensor->placement));
        EXPECT_TRUE(again->placement == tensor->placement);
      }
    }
  }
  EXPECT_EQ(texts, static_cast<int>(patterns.size() * numbers.size() * numbers.size()));
  EXPECT_GT(layouts, 100);
}

}  // namespace
}  // namespace tessera::notation
