// SPDX-License-Identifier: Apache-2.0
// The C functions are compiled by the machine's C compiler and compared with plain loops.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/relayout/program.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/generate.h"

namespace tessera::relayout {
namespace {

using test::Dice;

/// Functions as machine code.
class Library {
 public:
  explicit Library(const std::string& source) {
    std::string folder = (std::filesystem::temp_directory_path() / "tessera.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return;
    std::ofstream(folder + "/f.c") << source;
    const std::string command =
        cat("cc -std=c99 -Wall -Wextra -Werror -pedantic -shared -fPIC -o '", folder, "/f.so' '",
            folder, "/f.c'");
    compiled_ = std::system(command.c_str()) == 0;  // NOLINT(cert-env33-c)
    if (compiled_) handle_ = dlopen((folder + "/f.so").c_str(), RTLD_NOW);
    std::filesystem::remove_all(folder);
  }
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool compiled() const { return compiled_; }
  using Function = void (*)(const void*, void*);
  Function find(const std::string& name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name.c_str()));
  }

 private:
  bool compiled_ = false;
  void* handle_ = nullptr;
};

bool has_compiler() {
  return std::system("cc --version > /dev/null 2>&1") == 0;  // NOLINT(cert-env33-c)
}

using Bytes = std::vector<unsigned char>;

/// Elements of whole bytes, or of 4 or 2 bits with the first in the lowest bits.
void move_element(const Bytes& from, std::int64_t i, Bytes& to, std::int64_t j, std::int64_t bits) {
  for (std::int64_t b = 0; b < bits; ++b) {
    const auto bit_from = static_cast<std::size_t>(i * bits + b);
    const auto bit_to = static_cast<std::size_t>(j * bits + b);
    const int bit = from[bit_from / 8] >> (bit_from % 8) & 1;
    const auto mask = static_cast<unsigned char>(1U << (bit_to % 8));
    to[bit_to / 8] =
        static_cast<unsigned char>(bit != 0 ? to[bit_to / 8] | mask : to[bit_to / 8] & ~mask);
  }
}

/// Every combination of the loops' counters.
template <typename Loops>
void for_each_step(const Loops& loops, const std::function<void(const Index&)>& visit) {
  Index at(loops.size(), 0);
  for (const auto& loop : loops) {
    if (loop.extent == 0) return;
  }
  while (true) {
    visit(at);
    std::size_t l = loops.size();
    while (l > 0 && ++at[l - 1] == loops[l - 1].extent) at[--l] = 0;
    if (l == 0) return;
  }
}

/// What the program means: one element after another.
void run_plainly(const Program& program, const Bytes& from, Bytes& to, const Bytes& padding) {
  const std::int64_t bits = *dtype_bits(program.to.storage());
  for (const FillNest& fill : program.fills) {
    for_each_step(fill.loops, [&](const Index& at) {
      Position position = fill.at;
      for (std::size_t l = 0; l < at.size(); ++l) position += fill.loops[l].step * at[l];
      move_element(padding, 0, to, program.to.flat(position), bits);
    });
  }
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    for_each_step(nest.loops, [&](const Index& at) {
      PositionPair positions = nest.at;
      for (std::size_t l = 0; l < at.size(); ++l) {
        positions.a += nest.loops[l].move.a * at[l];
        positions.b += nest.loops[l].move.b * at[l];
      }
      move_element(from, program.from.flat(positions.a), to, program.to.flat(positions.b), bits);
    });
  }
}

struct Padded {
  DType dtype;
  double number;
  Bytes bytes;  ///< the number in that type, by hand
};

const std::vector<Padded>& paddings() {
  static const std::vector<Padded> list = {
      {DType::kF32, 1, {0, 0, 0x80, 0x3F}},
      {DType::kF32, 0, {0, 0, 0, 0}},
      {DType::kF64, -std::numeric_limits<double>::infinity(), {0, 0, 0, 0, 0, 0, 0xF0, 0xFF}},
      {DType::kBF16, 1.5, {0xC0, 0x3F}},
      {DType::kF16, -2, {0, 0xC0}},
      {DType::kI8, -1, {0xFF}},
      {DType::kU16, 258, {2, 1}},
      {DType::kI4, -3, {0x0D}},
      {DType::kI2, 1, {0x01}},
  };
  return list;
}

/// A layout of `shape`, or of a random one, with that padding.
std::optional<Layout> random_padded(Dice& dice, const Padded& padded) {
  LayoutSpec spec = random_spec(dice, {});
  spec.dtype = padded.dtype;
  spec.atom = Atom::scalar(padded.dtype);
  spec.padding = PaddingValue::of(padded.number);
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout) return std::nullopt;
  return *std::move(layout);
}

struct Case {
  Program program;
  Bytes padding;
};

std::vector<Case> random_cases(int count) {
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; cases.size() < static_cast<std::size_t>(count); ++seed) {
    Dice dice(seed);
    const Padded& padded = paddings()[seed % paddings().size()];
    const std::optional<Layout> layout = random_padded(dice, padded);
    if (!layout) continue;
    const Result<Layout> plain = Layout::row_major(layout->shape(), padded.dtype);
    if (!plain) continue;
    const bool inward = seed % 3 != 0;
    const Result<Program> program =
        inward ? make_program(*plain, *layout) : make_program(*layout, *plain);
    if (program) cases.push_back({*program, padded.bytes});
  }
  return cases;
}

void expect_same(const Library& library, const std::vector<Case>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Program& program = cases[i].program;
    const Library::Function function = library.find(cat("move", i));
    ASSERT_NE(function, nullptr);
    Bytes from(static_cast<std::size_t>(program.from.bytes) + 1);
    for (std::size_t b = 0; b < from.size(); ++b) from[b] = static_cast<unsigned char>(b * 37 + 11);
    Bytes expected(static_cast<std::size_t>(program.to.bytes) + 1, 0xA5);
    Bytes found = expected;
    run_plainly(program, from, expected, cases[i].padding);
    function(from.data(), found.data());
    EXPECT_EQ(found, expected) << "case " << i;
  }
}

std::string source_of(const std::vector<Case>& cases) {
  std::string source;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Result<std::string> text = emit_c(cases[i].program, cat("move", i),
                                            "a */ b /* c ?"
                                            "?/ \\\n\x1b[1m\n");
    EXPECT_TRUE(text) << (text ? "" : text.error().message);
    if (text) source += *text;
  }
  return source;
}

TEST(EmitC, DoesWhatTheProgramSays) {
  ASSERT_TRUE(has_compiler()) << "cc comes with g++, which packages/build.txt names";
  const std::vector<Case> cases = random_cases(300);
  const Library library(source_of(cases));
  ASSERT_TRUE(library.compiled());
  expect_same(library, cases);
}

Result<Layout> one_dim(std::int64_t extent, std::vector<std::int64_t> widths,
                       std::vector<std::int64_t> strides, DType dtype) {
  TESSERA_TRY(Shape shape, Shape::make({extent}));
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  Fold fold;
  fold.terms = {{0, 1}};
  for (std::size_t i = 0; i < widths.size(); ++i) {
    fold.cuts.push_back({widths[i], 1, Target::memory(), strides[i]});
  }
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t i = 0; i < widths.size(); ++i) fold.cuts[i].count = needed[i];
  spec.form.folds = {fold};
  return Layout::make(std::move(spec));
}

// Pieces of 97 against pieces of 101 share no boundary but the first: many nests of many lengths.
TEST(EmitC, ManyNestsBecomeATable) {
  ASSERT_TRUE(has_compiler()) << "cc comes with g++, which packages/build.txt names";
  const Result<Layout> a = one_dim(9797, {97, 1}, {100, 1}, DType::kF32);
  const Result<Layout> b = one_dim(9797, {101, 1}, {1, 97}, DType::kF32);
  ASSERT_TRUE(a && b) << (a ? b.error().message : a.error().message);
  const Result<Program> program = make_program(*a, *b);
  ASSERT_TRUE(program) << program.error().message;
  ASSERT_GT(program->nests(), 150);
  const Result<std::string> text = emit_c(*program, "move0");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_NE(text->find("static const int64_t table"), std::string::npos);
  EXPECT_LT(text->size(), static_cast<std::size_t>(program->nests()) * 40);
  const Library library(*text);
  ASSERT_TRUE(library.compiled());
  expect_same(library, {{*program, {}}});
}

// 4 rows of 6 by columns: 6 columns of 4, written in order.
TEST(EmitC, ReadsLikeLoops) {
  const Shape shape = *Shape::make({4, 6});
  const Result<Program> program = make_program(*Layout::row_major(shape, DType::kF32),
                                               *Layout::strided(shape, DType::kF32, {1, 4}));
  ASSERT_TRUE(program);
  EXPECT_EQ(*emit_c(*program, "turn", "from rows\nto columns"),
            "#include <stdint.h>\n"
            "#include <string.h>\n"
            "\n"
            "/* from rows */\n"
            "/* to columns */\n"
            "/* src: 96 bytes, dst: 96 bytes, elements of f32 */\n"
            "void turn(const void* src, void* dst) {\n"
            "  const unsigned char* const from = (const unsigned char*)src;\n"
            "  unsigned char* const to = (unsigned char*)dst;\n"
            "  for (int64_t i0 = 0; i0 < 6; ++i0) {\n"
            "    for (int64_t i1 = 0; i1 < 4; ++i1) {\n"
            "      memcpy(to + 16 * i0 + 4 * i1, from + 4 * i0 + 24 * i1, 4);\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(EmitC, WhatItCannotSay) {
  const Shape shape = *Shape::make({32, 32});
  const Layout f32 = *Layout::row_major(shape, DType::kF32);
  const Layout f16 = *Layout::row_major(shape, DType::kF16);
  const Result<Program> converts = make_program(f32, f16);
  ASSERT_TRUE(converts);
  EXPECT_EQ(emit_c(*converts, "f").error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(test::figures(emit_c(*converts, "f").error().message), "f32 f16");

  LayoutSpec tile = f32.spec();
  tile.atom = Atom::tile(32, 32, DType::kBfpBf8);
  const Result<Layout> block = Layout::make(tile);
  ASSERT_TRUE(block) << block.error().message;
  const Result<Program> blocks = make_program(*block, *block);
  ASSERT_TRUE(blocks);
  EXPECT_EQ(test::figures(emit_c(*blocks, "f").error().message), "bfp_bf8");

  const Result<Program> copy = make_program(f32, f32);
  for (const std::string name : {"", "2x", "a-b", "f(", "for", "memcpy", "\xC3\xA4"}) {
    EXPECT_EQ(emit_c(*copy, name).error().code, ErrorCode::kSyntax) << name;
  }

  const Result<Layout> a = one_dim(std::int64_t{1} << 30, {16411, 1}, {16420, 1}, DType::kI8);
  const Result<Layout> b = one_dim(std::int64_t{1} << 30, {16417, 1}, {1, 70000}, DType::kI8);
  ASSERT_TRUE(a && b);
  const Result<Program> long_one = make_program(*a, *b);
  ASSERT_TRUE(long_one) << long_one.error().message;
  ASSERT_GT(long_one->nests(), 1 << 14);
  EXPECT_EQ(emit_c(*long_one, "f").error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::relayout
