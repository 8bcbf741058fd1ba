// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a file of buffers. An error must point into the text; a problem that is
// read and small must obey
//   the plan that is found has no flaw, its height is as reported, and not below its bounds;
//   written into the file and read again, every buffer is fixed at its offset in the plan, and
//   that is then the only plan; its picture is not larger than the limit for pictures.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/laws.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tools/alloc/alloc_buffers.h"
#include "tools/alloc/alloc_offsets.h"
#include "tools/alloc/alloc_print.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostSolved = 24;
constexpr std::int64_t kNodes = 300;
constexpr std::size_t kLargestPicture = 1'500'000;

memory::SolveOptions few_nodes() {
  memory::SolveOptions options;
  options.minimize = true;
  options.seconds = 1e6;  // the nodes are the limit, so that a finding is reproducible
  options.nodes = kNodes;
  return options;
}

void check_again(const BufferFile& file, const memory::Solution& solution, std::string_view text) {
  const std::string written = with_offsets(file, text, solution.offsets);
  const Result<BufferFile> again = read_buffers(written);
  require(again.ok(), "what is written can be read", written);
  require(again->ids == file.ids, "the ids are the same", written);
  for (std::size_t i = 0; i < file.ids.size(); ++i) {
    require(again->problem.buffers[i].fixed == solution.offsets[i], "offsets are fixed", written);
  }
  const Result<memory::Solution> fixed = memory::solve(again->problem, few_nodes());
  require(fixed.ok() && fixed->peak == solution.peak, "a fixed plan is a plan", written);
}

void check_text(std::string_view text) {
  const Result<BufferFile> file = read_buffers(text);
  if (!file.ok()) {
    check_refusal(file.error(), text);
    return;
  }
  require(file->ids.size() == file->rows.size() && file->ids.size() == file->problem.buffers.size(),
          "every buffer has a row", text);
  if (file->ids.size() > kMostSolved) return;
  const Result<memory::Solution> solution = memory::solve(file->problem, few_nodes());
  require(solution.ok(), "what check accepts is solved", text);
  require(memory::validate(file->problem, solution->offsets, solution->peak).empty(),
          "the plan has no flaw", text);
  require(
      solution->lower_bound <= solution->proven_bound && solution->proven_bound <= solution->peak,
      "bounds are below the peak", text);
  check_again(*file, *solution, text);
  AllocAnswer answer{*file, *solution, solution->peak, false, {}, {}};
  answer.blocks = *placed_blocks(file->problem, solution->offsets);
  answer.ranges = time_ranges_of(answer.blocks);
  require(alloc_svg(answer).size() < kLargestPicture, "pictures are small", text);
  require(!alloc_json(answer).empty() && !alloc_text(answer, Terminal{}).empty(), "it prints",
          text);
}

}  // namespace
}  // namespace tessera::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::tools::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
