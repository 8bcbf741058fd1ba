// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tessera/base/text.h"
#include "tools/bench/bench_relayout.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// A loop in bytes.
struct ByteLoop {
  std::int64_t extent = 1;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

template <int kBytes>
void run_loops(const std::byte* from, std::byte* to, std::span<const ByteLoop> loops) {
  if (loops.empty()) {
    std::memcpy(to, from, kBytes);
    return;
  }
  const ByteLoop& loop = loops.front();
  for (std::int64_t i = 0; i < loop.extent; ++i) {
    if (loops.size() == 1) {
      std::memcpy(to + i * loop.to, from + i * loop.from, kBytes);
    } else {
      run_loops<kBytes>(from + i * loop.from, to + i * loop.to, loops.subspan(1));
    }
  }
}

void run_loops(int element_bytes, const std::byte* from, std::byte* to,
               std::span<const ByteLoop> loops) {
  if (element_bytes == 1) return run_loops<1>(from, to, loops);
  if (element_bytes == 2) return run_loops<2>(from, to, loops);
  run_loops<4>(from, to, loops);
}

/// Loops with the smallest destination steps innermost; the outermost is divided among threads.
Status run_shared(int element_bytes, const std::byte* from, std::byte* to,
                  std::vector<ByteLoop> loops, ThreadPool& pool) {
  std::sort(loops.begin(), loops.end(),
            [](const ByteLoop& a, const ByteLoop& b) { return a.to > b.to; });
  if (loops.empty()) loops.push_back({});
  return pool.run([&](int worker) {
    const auto range = ThreadPool::share(loops.front().extent, worker, pool.threads());
    std::vector<ByteLoop> mine = loops;
    mine.front().extent = range.to - range.from;
    run_loops(element_bytes, from + range.from * mine.front().from,
              to + range.from * mine.front().to, mine);
  });
}

Error wrong_program(const RelayoutCase& bench_case, const Index& index) {
  return {ErrorCode::kContradiction,
          cat("the program of ", bench_case.name, " does not move element ", bracketed(index)),
          std::nullopt, kBugHelp};
}

}  // namespace

Result<BenchBuffer> BenchBuffer::make(std::int64_t bytes) {
  BenchBuffer buffer;
  buffer.mapped_bytes_ = static_cast<std::size_t>(bytes) + 2 * kHugePage;
  void* mapped = mmap(nullptr, buffer.mapped_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return Error{ErrorCode::kOutOfMemory,
                 cat("not enough memory for a buffer of ", bytes, " bytes"), std::nullopt,
                 "give a smaller --size"};
  }
  buffer.mapped_ = mapped;
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t skip = (kHugePage - address % kHugePage) % kHugePage;
  buffer.bytes_ = {static_cast<std::byte*>(mapped) + skip, buffer.mapped_bytes_ - skip};
  // Where the system has no huge pages, small ones are used.
  (void)madvise(mapped, buffer.mapped_bytes_, MADV_HUGEPAGE);
  std::memset(buffer.bytes_.data(), 0, buffer.bytes_.size());
  return buffer;
}

BenchBuffer::~BenchBuffer() {
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
}

void fill_with_numbers(std::span<std::byte> bytes) {
  std::mt19937_64 random(5);
  // The highest bit of every exponent is zero, the next is one.
  constexpr std::uint64_t kFinite = 0xbfffbfffbfffbfff;
  constexpr std::uint64_t kNormal = 0x2000200020002000;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = (random() & kFinite) | kNormal;
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

Status make_reference(const RelayoutCase& bench_case, const relayout::Program& program,
                      std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) {
  const auto element_bytes = static_cast<int>(*dtype_bits(bench_case.dtype) / 8);
  const auto in_bytes = [&](const relayout::Memory& memory, Position spot) {
    return memory.flat(spot) * element_bytes;
  };
  if (!program.fills.empty() && program.padding != 0) {
    return Error{ErrorCode::kNotSupported, "the suite supports only zeros as padding"};
  }
  std::memset(to.data(), static_cast<int>(kUntouched), to.size());
  const std::vector<std::byte> zero(static_cast<std::size_t>(element_bytes));
  for (const relayout::FillNest& fill : program.fills) {
    std::vector<ByteLoop> loops;
    for (const relayout::FillLoop& loop : fill.loops) {
      loops.push_back({loop.extent, 0, in_bytes(program.to, loop.step)});
    }
    TESSERA_CHECK_OK(run_shared(element_bytes, zero.data(),
                                to.data() + in_bytes(program.to, fill.at), loops, pool));
  }
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    std::vector<ByteLoop> loops;
    for (const Loop& loop : nest.loops) {
      loops.push_back(
          {loop.extent, in_bytes(program.from, loop.move.a), in_bytes(program.to, loop.move.b)});
    }
    TESSERA_CHECK_OK(run_shared(element_bytes, from.data() + in_bytes(program.from, nest.at.a),
                                to.data() + in_bytes(program.to, nest.at.b), loops, pool));
  }
  std::mt19937_64 random(6);
  const Shape& shape = bench_case.from.shape();
  for (int i = 0; i < 4096; ++i) {
    const auto elements = static_cast<std::uint64_t>(shape.elements());
    const Index index = shape.delinear(static_cast<std::int64_t>(random() % elements));
    TESSERA_TRY(const Location a, bench_case.from.locate(index));
    TESSERA_TRY(const Location b, bench_case.to.locate(index));
    const Position source = {program.from.mesh.linear(a.places.front()), a.slot};
    const Position destination = {program.to.mesh.linear(b.places.front()), b.slot};
    if (std::memcmp(from.data() + in_bytes(program.from, source),
                    to.data() + in_bytes(program.to, destination),
                    static_cast<std::size_t>(element_bytes)) != 0) {
      return wrong_program(bench_case, index);
    }
  }
  return ok_status();
}

}  // namespace tessera::tools
