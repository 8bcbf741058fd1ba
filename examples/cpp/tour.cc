// SPDX-License-Identifier: Apache-2.0
// A tour of the library in five steps. What can fail returns a Result; TESSERA_TRY declares its
// value or returns its error, and TESSERA_CHECK_OK returns the error of a Status.
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include "tessera/tessera.h"

namespace {

using tessera::Error, tessera::ErrorCode, tessera::Location, tessera::Status, tessera::Tensor;
namespace relayout = tessera::relayout;
namespace reshard = tessera::reshard;
namespace memory = tessera::memory;

/// 1. A layout says where each element is: on which place of a mesh, and in which slot there.
Status locate(const Tensor& tensor) {
  TESSERA_TRY(const Location at, tensor.placement.locate({40, 33}));
  std::cout << tessera::print_tensor(tensor) << "\n  element [40, 33] is in slot " << at.slot
            << " of place " << tensor.placement.mesh().linear(at.places.front()) << "\n";
  return tessera::ok_status();
}

/// 2. The same placement of every element, in the words of another system.
Status translate(const Tensor& tensor) {
  TESSERA_TRY(const tessera::Conversion converted, tessera::convert(tensor, "dtensor"));
  std::cout << "in PyTorch's words\n  " << converted.text << "\n";
  return tessera::ok_status();
}

/// 3. A program says what moves where, a plan makes it fast, and run() moves the bytes.
Status move(const Tensor& source, const Tensor& destination) {
  TESSERA_TRY(relayout::Program program,
              relayout::make_program(source.placement, destination.placement));
  TESSERA_TRY(const relayout::Plan plan, relayout::Plan::make(std::move(program)));
  std::vector<float> from(static_cast<std::size_t>(plan.program().from.elements()));
  std::vector<float> to(static_cast<std::size_t>(plan.program().to.elements()));
  std::iota(from.begin(), from.end(), 0.0F);  // row-major: element i holds the number i
  tessera::ThreadPool pool(/*threads=*/1);
  TESSERA_CHECK_OK(
      plan.run(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)), pool));
  std::cout << "moved " << plan.program().elements() << " elements\n";
  for (const tessera::Index& index : {tessera::Index{0, 0}, {40, 33}, {63, 63}}) {
    TESSERA_TRY(const Location at, destination.placement.locate(index));
    const std::int64_t place = destination.placement.mesh().linear(at.places.front());
    const float moved = to[static_cast<std::size_t>(plan.program().to.flat({place, at.slot}))];
    const auto expected = static_cast<float>(source.shape().linear(index));
    if (moved != expected) return Error{ErrorCode::kContradiction, "an element is in a wrong slot"};
  }
  return tessera::ok_status();
}

/// 4. What a machine needs to move a tensor between its places.
Status price(const Tensor& source, const Tensor& destination) {
  TESSERA_TRY(const tessera::Machine* wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const reshard::PhysicalMesh physical, reshard::PhysicalMesh::of(*wafer));
  TESSERA_TRY(const reshard::Reshard change,
              reshard::Reshard::make(source.placement, destination.placement, physical));
  TESSERA_TRY(const reshard::ReshardKind kind, reshard::kind_of(change));
  TESSERA_TRY(const reshard::ReshardCost cost, reshard::cost_of(change));
  if (!cost.fabric) return Error{ErrorCode::kNotSupported, physical.why_no_fabric};
  std::cout << reshard::kind_name(kind) << " on " << wafer->name << ": " << cost.bytes
            << " bytes in " << cost.messages << " messages, " << cost.fabric->cycles << " cycles\n";
  return tessera::ok_status();
}

/// 5. Offsets for buffers, each {first moment, first moment after its life, bytes}.
Status plan_buffers() {
  const memory::Problem problem{{{0, 2, 24}, {1, 4, 32}, {3, 5, 24}}};
  TESSERA_TRY(const memory::Solution plan, memory::solve(problem, {.capacity = 64}));
  std::cout << "three buffers in 64 bytes: " << memory::outcome_name(plan.outcome) << ", offsets";
  for (const std::int64_t offset : plan.offsets) std::cout << " " << offset;
  std::cout << ", peak " << plan.peak << "\n";
  const bool fits = plan.outcome == memory::Outcome::kFits;
  return fits ? tessera::ok_status() : Error{ErrorCode::kDoesNotFit, "64 bytes are not enough"};
}

Status tour() {
  TESSERA_TRY(const Tensor rows, tessera::parse_tensor("tensor<64x64xf32, strided<[64, 1]>>"));
  TESSERA_TRY(const Tensor grid, tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(2, 2)>"));
  TESSERA_CHECK_OK(locate(rows));
  TESSERA_CHECK_OK(locate(grid));
  TESSERA_CHECK_OK(translate(grid));
  TESSERA_CHECK_OK(move(rows, grid));
  TESSERA_TRY(const Tensor strips, tessera::parse_tensor("tensor<64x64xf32, pyflame.Grid(4, 1)>"));
  TESSERA_CHECK_OK(price(grid, strips));
  return plan_buffers();
}

}  // namespace

int main() {
  const Status done = tour();
  if (!done) std::cerr << tessera::render(done.error(), "");
  return done ? 0 : 1;
}
