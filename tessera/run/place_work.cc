// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/place_work.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/run/elements.h"
#include "tessera/run/held_boxes.h"
#include "tessera/run/host_tensor.h"
#include "tessera/run/shares.h"
#include "tessera/run/tile_memory.h"

namespace tessera::run {
namespace {

/// The box around what blocks of iterations touch of an operand; empty if they touch nothing.
std::optional<Box> touched_box(const ops::Access& access, const Shape& shape,
                               const std::vector<ops::Range>& reading,
                               const std::vector<Box>& blocks) {
  std::optional<Box> all;
  for (Box block : blocks) {
    bool is_empty = false;
    for (std::size_t f = 0; f < reading.size(); ++f) {
      block.from[f] = std::max(block.from[f], reading[f].from);
      block.to[f] = std::min(block.to[f], reading[f].to);
      is_empty = is_empty || block.from[f] >= block.to[f];
    }
    Box box;
    for (std::size_t d = 0; !is_empty && d < access.dims.size(); ++d) {
      std::int64_t low = access.dims[d].start;
      std::int64_t high = low;
      for (const Term& term : access.dims[d].terms) {
        const auto f = static_cast<std::size_t>(term.dim);
        const std::int64_t first = term.coef * block.from[f];
        const std::int64_t last = term.coef * (block.to[f] - 1);
        low += std::min(first, last);
        high += std::max(first, last);
      }
      box.from.push_back(std::max<std::int64_t>(low, 0));
      box.to.push_back(std::min(high + 1, shape[d]));
      is_empty = box.from[d] >= box.to[d];
    }
    if (is_empty) continue;
    if (!all) {
      all = std::move(box);
      continue;
    }
    for (std::size_t d = 0; d < box.from.size(); ++d) {
      all->from[d] = std::min(all->from[d], box.from[d]);
      all->to[d] = std::max(all->to[d], box.to[d]);
    }
  }
  return all;
}

/// What places hold of the operands of a step, and which iterations and results are theirs.
struct StepBoxes {
  HeldBoxes work;
  std::vector<std::optional<HeldBoxes>> inputs;  ///< of those that are read without halos
  struct Output {
    HeldBoxes boxes;
    std::vector<ops::PartialAxis> partial;
  };
  std::vector<Output> outputs;

  StepBoxes(const Execution& execution, const Step& step)
      : work(step.iterations, HeldBoxes::Slots::kLeftOut) {
    for (const std::optional<OperandSource>& source : step.inputs) {
      inputs.emplace_back();
      if (!source || source->extended) continue;
      inputs.back().emplace(execution.buffers[source->buffer].layout);
    }
    for (const BufferNumber result : step.results) {
      const Layout& layout = execution.buffers[result].layout;
      outputs.push_back({HeldBoxes(layout), ops::partial_axes(layout)});
    }
  }
};

/// One step on one place after the other, by one thread.
class Worker {
 public:
  Worker(const Execution& execution, const Step& step, const StepBoxes& boxes, std::size_t panel,
         device::Device& device, const LiveBuffers& live)
      : execution_(execution),
        step_(step),
        boxes_(boxes),
        panel_(panel),
        device_(device),
        live_(live) {
    const graph::Node& node = execution.graph.nodes[step.node];
    for (const graph::ValueId v : node.inputs) {
      types_.push_back(v == graph::kAbsent ? nullptr : &execution.graph.values[v].type);
    }
    for (const graph::ValueId v : node.outputs) {
      outputs_.push_back(execution.graph.values[v].type);
    }
    for (std::size_t i = 0; i < types_.size(); ++i) {
      reading_.emplace_back();
      if (step.loops.inputs[i]) {
        reading_.back() = ops::reading_ranges(step.loops, *step.loops.inputs[i], types_[i]->shape);
      }
    }
  }

  Status run(std::int64_t number) {
    const graph::Node& node = execution_.graph.nodes[step_.node];
    const graph::Call call(node.op, types_, node.attributes, outputs_.size());
    const Place place = execution_.mesh.delinear(number);
    TESSERA_TRY(std::vector<LocalBox> work, boxes_.work.at(place));
    Task task{&call, &outputs_, &step_.loops, {}, {}, {}};
    for (LocalBox& box : work) task.blocks.push_back(std::move(box.box));
    if (step_.panels) {
      const std::size_t f = step_.panels->factor;
      for (Box& block : task.blocks) {
        block.from[f] = std::max(block.from[f], first_of_panel());
        block.to[f] = std::min(block.to[f], first_of_panel() + step_.panels->length);
        block.to[f] = std::max(block.to[f], block.from[f]);
      }
    }
    std::erase_if(task.blocks, [](const Box& block) { return block.elements() == 0; });
    inputs_.resize(types_.size());
    results_.resize(outputs_.size());
    std::vector<std::vector<LocalBox>> stored(outputs_.size());
    for (std::size_t i = 0; i < types_.size(); ++i) {
      TESSERA_TRY(run::Tile tile, input_tile(i, number, place, task.blocks));
      task.inputs.push_back(std::move(tile));
    }
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      TESSERA_TRY(run::Tile tile, result_tile(o, number, place, task.blocks, stored[o]));
      task.results.push_back(std::move(tile));
    }
    if (!task.blocks.empty()) {
      std::string_view used;
      TESSERA_CHECK_OK(perform(task, &used));
      if (std::ranges::find(kernels_, used) == kernels_.end()) kernels_.push_back(used);
    }
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
      if (stored[o].empty()) continue;
      const Buffer& buffer = execution_.buffers[step_.results[o]];
      if (panel_ > 0) TESSERA_CHECK_OK(add_earlier(o, number, stored[o], task.results[o]));
      TESSERA_CHECK_OK(store(device_, *live_[step_.results[o]], number, stored[o],
                             buffer.layout.atom().storage, task.results[o]));
    }
    return ok_status();
  }

  /// The kernels that ran, each once.
  const std::vector<std::string_view>& kernels() const { return kernels_; }

 private:
  static std::size_t size_of(const Box& box, DType dtype) {
    return static_cast<std::size_t>(box.elements() * compute_bytes(compute_type(dtype)));
  }
  /// Kernels access whole numbers; a memory may have a smaller alignment.
  static bool is_aligned(const std::byte* address, DType dtype) {
    return reinterpret_cast<std::uintptr_t>(address) %
               static_cast<std::uintptr_t>(compute_bytes(dtype)) ==
           0;
  }
  static run::Tile dense(const Box& box, std::vector<std::byte>& memory, DType dtype) {
    memory.assign(size_of(box, dtype), std::byte{0});
    run::Tile tile{memory.data(), box, std::vector<std::int64_t>(box.from.size(), 1)};
    for (std::size_t d = box.from.size(); d-- > 1;) {
      tile.strides[d - 1] = tile.strides[d] * (box.to[d] - box.from[d]);
    }
    return tile;
  }

  Result<std::vector<LocalBox>> boxes_of(std::size_t i, const Place& place) const {
    const OperandSource& source = *step_.inputs[i];
    if (source.extended) return local_boxes(*source.extended, place);
    TESSERA_TRY(std::vector<LocalBox> boxes, boxes_.inputs[i]->at(place));
    for (LocalBox& box : boxes) {
      if (source.panel_dim) {
        box.box.from[*source.panel_dim] += first_of_panel();
        box.box.to[*source.panel_dim] += first_of_panel();
      }
      if (source.part) {
        box.box.from[source.part->dim] += source.part->start;
        box.box.to[source.part->dim] += source.part->start;
      }
    }
    return boxes;
  }
  BufferNumber buffer_of(const OperandSource& source) const {
    return source.panel_dim && panel_ % 2 == 1 ? source.second : source.buffer;
  }
  std::int64_t first_of_panel() const {
    return static_cast<std::int64_t>(panel_) * step_.panels->length;
  }

  /// Combines a result with what the panels before have left, which comes first.
  Status add_earlier(std::size_t o, std::int64_t number, const std::vector<LocalBox>& boxes,
                     const run::Tile& tile) {
    const BufferNumber b = step_.results[o];
    const DType dtype = execution_.buffers[b].layout.dtype();
    std::vector<std::byte> memory;
    const run::Tile earlier = dense(tile.box, memory, dtype);
    TESSERA_CHECK_OK(load(device_, *live_[b], number, boxes, dtype, earlier));
    combine_compute(earlier.data, tile.data, dtype, tile.box.elements(), Reduction::kSum);
    std::ranges::copy(memory, tile.data);
    return ok_status();
  }

  /// What the place reads of an input: in the device's memory where kernels can read it there, else
  /// a copy as numbers.
  Result<run::Tile> input_tile(std::size_t i, std::int64_t number, const Place& place,
                               const std::vector<Box>& blocks) {
    run::Tile none;
    if (!step_.inputs[i]) return none;
    const std::optional<Box> needed =
        touched_box(*step_.loops.inputs[i], types_[i]->shape, reading_[i], blocks);
    if (!needed) return none;
    const OperandSource& source = *step_.inputs[i];
    TESSERA_TRY(const std::vector<LocalBox> held, boxes_of(i, place));
    const std::vector<LocalBox> boxes = clipped(held, *needed);
    if (boxes.empty()) return none;
    const DType dtype = types_[i]->dtype;
    const BufferNumber buffer = buffer_of(source);
    const DType storage = execution_.buffers[buffer].layout.atom().storage;
    if (boxes.size() == 1 && compute_type(dtype) == dtype && storage == dtype) {
      const std::vector<device::SlotLoop> loops = loops_of(boxes[0]);
      TESSERA_TRY(const std::byte* const start,
                  device_.input(*live_[buffer], number, {boxes[0].first, loops}));
      if (is_aligned(start, dtype)) {
        // Kernels only read from the tiles of inputs.
        std::byte* const data =
            const_cast<std::byte*>(start) + boxes[0].first * compute_bytes(dtype);
        return run::Tile{data, boxes[0].box, boxes[0].steps};
      }
    }
    run::Tile tile = dense(around(boxes), inputs_[i], dtype);
    TESSERA_CHECK_OK(load(device_, *live_[buffer], number, boxes, storage, tile));
    return tile;
  }

  /// Where the place makes its part of an output. `stored` are the boxes to be stored afterwards:
  /// none where kernels write to the device's memory.
  Result<run::Tile> result_tile(std::size_t o, std::int64_t number, const Place& place,
                                const std::vector<Box>& blocks, std::vector<LocalBox>& stored) {
    const BufferNumber b = step_.results[o];
    const Layout& layout = execution_.buffers[b].layout;
    TESSERA_TRY(std::vector<LocalBox> boxes, boxes_.outputs[o].boxes.at(place));
    if (boxes.empty()) return run::Tile{};
    const DType dtype = layout.dtype();
    const std::vector<ops::PartialAxis>& partial = boxes_.outputs[o].partial;
    const bool is_all_made = !blocks.empty() && partial.empty() && !step_.panels;
    const bool is_own = compute_type(dtype) == dtype && layout.atom().storage == dtype;
    if (boxes.size() == 1 && is_own && is_all_made) {
      const std::vector<device::SlotLoop> loops = loops_of(boxes[0]);
      TESSERA_TRY(std::byte* const start,
                  device_.output(*live_[b], number, {boxes[0].first, loops}));
      if (is_aligned(start, dtype)) {
        return run::Tile{start + boxes[0].first * compute_bytes(dtype), boxes[0].box,
                         boxes[0].steps};
      }
    }
    run::Tile tile = dense(around(boxes), results_[o], dtype);
    if (!is_all_made) {
      fill_compute(tile.data, dtype, tile.box.elements(), neutral_of(reduction(partial)));
    }
    stored = std::move(boxes);
    return tile;
  }

  /// How shares combine: where nothing is partial, what an empty sum is.
  Reduction reduction(const std::vector<ops::PartialAxis>& partial) const {
    if (!partial.empty()) return partial[0].reduction;
    for (const ops::Factor& factor : step_.loops.factors) {
      if (factor.kind == ops::FactorKind::kReduce) return factor.reduction;
    }
    return Reduction::kSum;
  }

  const Execution& execution_;
  const Step& step_;
  const StepBoxes& boxes_;
  std::size_t panel_;
  device::Device& device_;
  const LiveBuffers& live_;
  std::vector<const graph::TensorType*> types_;
  graph::Types outputs_;
  std::vector<std::vector<ops::Range>> reading_;  ///< per input
  std::vector<std::vector<std::byte>> inputs_;    ///< memory of copies
  std::vector<std::vector<std::byte>> results_;
  std::vector<std::string_view> kernels_;
};

/// The places that hold a part of a result, each once.
Result<std::vector<std::int64_t>> working_places(const Execution& execution, const Step& step) {
  std::vector<std::int64_t> places;
  for (const BufferNumber result : step.results) {
    TESSERA_TRY(const std::vector<std::int64_t> more, places_of(execution.buffers[result].layout));
    places.insert(places.end(), more.begin(), more.end());
  }
  std::ranges::sort(places);
  const auto repeated = std::ranges::unique(places);
  places.erase(repeated.begin(), repeated.end());
  return places;
}

}  // namespace

void add_kernels(const std::vector<std::string_view>& names, std::vector<std::string_view>& all) {
  for (const std::string_view name : names) {
    const auto at = std::ranges::lower_bound(all, name);
    if (at == all.end() || *at != name) all.insert(at, name);
  }
}

Result<Computed> compute_step(const Execution& execution, const Step& step, std::size_t panel,
                              device::Device& device, const LiveBuffers& live, ThreadPool& pool) {
  TESSERA_TRY(const std::vector<std::int64_t> places, working_places(execution, step));
  const StepBoxes boxes(execution, step);
  std::vector<std::optional<Error>> errors(static_cast<std::size_t>(pool.threads()));
  std::vector<std::vector<std::string_view>> kernels(errors.size());
  const Status ran = pool.run([&](int worker) {
    Worker one(execution, step, boxes, panel, device, live);
    const ThreadPool::Range range = ThreadPool::share(std::ssize(places), worker, pool.threads());
    for (std::int64_t p = range.from; p < range.to; ++p) {
      const std::int64_t number = places[static_cast<std::size_t>(p)];
      if (Status status = one.run(number); !status) {
        Error error = status.error();
        error.message =
            cat("on place ", bracketed(execution.mesh.delinear(number)), ": ", error.message);
        errors[static_cast<std::size_t>(worker)] = std::move(error);
        return;
      }
    }
    kernels[static_cast<std::size_t>(worker)] = one.kernels();
  });
  if (!ran) return ran.error();
  for (std::optional<Error>& error : errors) {
    if (error) return *std::move(error);
  }
  Computed computed{std::ssize(places)};
  for (const std::vector<std::string_view>& names : kernels) add_kernels(names, computed.kernels);
  return computed;
}

}  // namespace tessera::run
