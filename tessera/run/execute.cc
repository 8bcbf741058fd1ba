// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/execute.h"

#include <chrono>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/device/mover.h"
#include "tessera/layout/view.h"
#include "tessera/run/elements.h"
#include "tessera/run/local_boxes.h"
#include "tessera/run/memory_plan.h"
#include "tessera/run/place_work.h"
#include "tessera/run/tile_memory.h"

namespace tessera::run {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The elements of a value that the graph has.
Result<HostTensor> data_of(const graph::Value& value) {
  HostTensor tensor{value.type, {}};
  using Form = graph::Data::Form;
  const graph::Data& data = value.data;
  if (data.form == Form::kBytes && data.bytes) {
    tensor.bytes = *data.bytes;
    return tensor;
  }
  if (data.form == Form::kFill && data.bytes) {
    const std::int64_t count = value.type.shape.elements();
    if (!graph::element_bytes(value.type.dtype)) {
      return Error{ErrorCode::kNotSupported,
                   cat("value '", value.name, "' is a fill of elements smaller than a byte")};
    }
    for (std::int64_t i = 0; i < count; ++i) tensor.bytes += *data.bytes;
    return tensor;
  }
  return Error{ErrorCode::kBadGraph,
               cat(graph::kind_name(value.kind), " '", value.name, "' ", value.type.to_string(),
                   " has no elements"),
               std::nullopt, "give its elements by name"};
}

class Runner {
 public:
  Runner(const Execution& execution, device::Device& device, ThreadPool& pool)
      : execution_(execution), device_(device), pool_(pool), live_(execution.buffers.size()) {}
  ~Runner() {
    for (std::optional<device::BufferId>& id : live_) {
      if (id) (void)device_.release(*id);
    }
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Result<RunResult> run(const std::map<std::string, HostTensor>& given, Observer* observer) {
    const Clock::time_point begin = Clock::now();
    TESSERA_CHECK_OK(check_given(given));
    TESSERA_CHECK_OK(at_moment(0));
    TESSERA_CHECK_OK(write_given(given));
    if (observer != nullptr) {
      TESSERA_CHECK_OK(observer->begins([this](graph::ValueId v) { return value(v); }));
    }
    RunResult result;
    for (std::size_t k = 0; k < execution_.steps.size(); ++k) {
      if (observer != nullptr && observer->stops()) {
        return Error{ErrorCode::kIo,
                     cat("interrupted before step ", k + 1, " of ", execution_.steps.size())};
      }
      const Step& step = execution_.steps[k];
      StepReport report;
      report.begin = seconds_since(begin);
      if (Status status = run_step(static_cast<std::int64_t>(k), step, report, observer); !status) {
        Error error = status.error();
        error.message = cat(graph::node_text(execution_.graph, execution_.graph.nodes[step.node]),
                            ": ", error.message);
        return error;
      }
      result.steps.push_back(report);
    }
    for (const graph::ValueId v : execution_.graph.outputs) {
      TESSERA_TRY(HostTensor tensor, value(v));
      result.outputs.push_back(std::move(tensor));
    }
    result.memory = device_.use();
    result.seconds = seconds_since(begin);
    return result;
  }

 private:
  Status check_given(const std::map<std::string, HostTensor>& given) const {
    std::size_t known = 0;
    for (const graph::Value& each : execution_.graph.values) {
      if (each.kind == graph::Kind::kComputed) continue;
      const auto found = given.find(each.name);
      if (found == given.end()) {
        if (each.data.form == graph::Data::Form::kBytes ||
            each.data.form == graph::Data::Form::kFill) {
          continue;
        }
        return data_of(each).error();
      }
      ++known;
      if (Status status = check_tensor(found->second, each.type); !status) {
        Error error = status.error();
        error.message = cat(graph::kind_name(each.kind), " '", each.name, "': ", error.message);
        return error;
      }
    }
    if (known == given.size()) return ok_status();
    for (const auto& [name, tensor] : given) {
      bool found = false;
      for (const graph::Value& each : execution_.graph.values) {
        found = found || (each.name == name && each.kind != graph::Kind::kComputed);
      }
      if (!found) {
        return Error{ErrorCode::kBadGraph, cat("the graph has no input '", name, "'")};
      }
    }
    return ok_status();
  }

  Status write_given(const std::map<std::string, HostTensor>& given) {
    for (std::size_t v = 0; v < execution_.graph.values.size(); ++v) {
      const graph::Value& each = execution_.graph.values[v];
      if (each.kind == graph::Kind::kComputed) continue;
      const auto found = given.find(each.name);
      if (found != given.end()) {
        TESSERA_CHECK_OK(
            write_tensor(device_, *live_[v], execution_.buffers[v].layout, found->second));
        continue;
      }
      TESSERA_TRY(const HostTensor tensor, data_of(each));
      TESSERA_CHECK_OK(write_tensor(device_, *live_[v], execution_.buffers[v].layout, tensor));
    }
    return ok_status();
  }

  /// Releases the buffers that are not needed any more, then places those that now are.
  Status at_moment(std::int64_t moment) {
    for (std::size_t b = 0; b < live_.size(); ++b) {
      if (!live_[b] || execution_.buffers[b].to > moment) continue;
      TESSERA_CHECK_OK(device_.release(*live_[b]));
      live_[b].reset();
    }
    for (std::size_t b = 0; b < live_.size(); ++b) {
      const Buffer& buffer = execution_.buffers[b];
      if (live_[b] || buffer.from != moment) continue;
      device::BufferSpec spec{buffer.name, Placement(buffer.layout), buffer.space,
                              device::Offsets(buffer.offset)};
      if (is_in_places(buffer, execution_.machine)) spec.places = buffer.places;
      TESSERA_TRY(live_[b], device_.add(std::move(spec)));
    }
    return ok_status();
  }

  /// A side of a move that takes `count` elements of a dim, from `start` on. The device says how
  /// the buffer is placed: pages may have places of their own.
  Result<device::MoveSide> sliced(device::BufferId buffer, const Slice& slice) const {
    const std::shared_ptr<const device::BufferFacts> facts = device_.find(buffer);
    const Layout* const layout = facts ? facts->placement.layout() : nullptr;
    if (layout == nullptr) {
      return Error{ErrorCode::kBadBuffer, "a panel of a buffer that is not on the device"};
    }
    if (slice.start == 0 && slice.count == layout->shape()[slice.dim]) {
      return device::MoveSide{buffer, std::nullopt};
    }
    TESSERA_TRY(View part,
                View::of(*layout).slice(static_cast<int>(slice.dim), slice.start, slice.count));
    return device::MoveSide{buffer, Placement(std::move(part))};
  }

  Status run_moves(const std::vector<Move>& moves, StepReport& report) {
    for (const Move& move : moves) {
      const device::BufferId from = *live_[move.from];
      const device::BufferId to = *live_[move.to];
      device::MoveSide source{from, move.from_part};
      device::MoveSide destination{to, move.to_part};
      if (move.slice) {
        TESSERA_TRY(source, sliced(from, *move.slice));
        TESSERA_TRY(destination, sliced(to, {move.slice->dim, 0, move.slice->count}));
      }
      TESSERA_TRY(const device::Mover mover,
                  device::Mover::make(device_, source, destination, {.pool = &pool_}));
      TESSERA_CHECK_OK(mover.run(device_, from, to, pool_));
      report.messages += mover.totals().messages;
      report.crossing_bytes += mover.totals().crossing_bytes;
      report.local_bytes += mover.totals().local_bytes;
    }
    return ok_status();
  }

  /// Slot by slot where both are in the memory of kernels, in elements with an address of their
  /// own; else element by element.
  Status run_retype(const Retype& retype) {
    const Layout& from = execution_.buffers[retype.from].layout;
    const Layout& to = execution_.buffers[retype.to].layout;
    const bool is_plain = from.atom().storage == from.dtype() && to.atom().storage == to.dtype();
    if (!is_plain) {
      TESSERA_TRY(const HostTensor tensor, read_tensor(device_, *live_[retype.from], from));
      return write_tensor(device_, *live_[retype.to], to, tensor);
    }
    TESSERA_TRY(const std::vector<std::int64_t> places, places_of(to));
    for (const std::int64_t number : places) {
      TESSERA_TRY(const std::vector<LocalBox> boxes, local_boxes(to, to.mesh().delinear(number)));
      for (const LocalBox& box : boxes) {
        const std::int64_t count = box.box.elements();
        const std::vector<device::SlotLoop> loops = loops_of(box);
        std::vector<std::byte> old(
            static_cast<std::size_t>(dtype_bytes(from.dtype(), count).value_or(0)));
        std::vector<std::byte> made(
            static_cast<std::size_t>(dtype_bytes(to.dtype(), count).value_or(0)));
        std::vector<std::byte> numbers(static_cast<std::size_t>(8 * count));
        TESSERA_CHECK_OK(device_.read(*live_[retype.from], number, {box.first, loops}, old));
        TESSERA_CHECK_OK(to_compute(old, from.dtype(), numbers.data(), count));
        TESSERA_CHECK_OK(from_compute(numbers.data(), to.dtype(), made, count));
        TESSERA_CHECK_OK(device_.write(*live_[retype.to], number, {box.first, loops}, made));
      }
    }
    return ok_status();
  }

  Status run_step(std::int64_t k, const Step& step, StepReport& report, Observer* observer) {
    report.node = step.node;
    Clock::time_point begin = Clock::now();
    TESSERA_CHECK_OK(at_moment(4 * k));
    for (const Retype& retype : step.unpack) TESSERA_CHECK_OK(run_retype(retype));
    TESSERA_CHECK_OK(run_moves(step.bring, report));
    report.bring_seconds = seconds_since(begin);
    const double brought = report.bring_seconds;
    begin = Clock::now();
    TESSERA_CHECK_OK(at_moment(4 * k + 1));
    const auto compute = [&](std::size_t panel) -> Status {
      TESSERA_TRY(const Computed computed,
                  compute_step(execution_, step, panel, device_, live_, pool_));
      report.places = computed.places;
      add_kernels(computed.kernels, report.kernels);
      return ok_status();
    };
    if (step.panels) {
      for (std::size_t p = 0; p < step.panels->bring.size(); ++p) {
        const Clock::time_point arriving = Clock::now();
        TESSERA_CHECK_OK(run_moves(step.panels->bring[p], report));
        report.bring_seconds += seconds_since(arriving);
        TESSERA_CHECK_OK(compute(p));
      }
    } else {
      TESSERA_CHECK_OK(compute(0));
    }
    report.compute_seconds = seconds_since(begin);
    if (step.panels) report.compute_seconds -= report.bring_seconds - brought;
    begin = Clock::now();
    TESSERA_CHECK_OK(at_moment(4 * k + 2));
    TESSERA_CHECK_OK(run_moves(step.settle, report));
    TESSERA_CHECK_OK(at_moment(4 * k + 3));
    for (const Retype& retype : step.retype) TESSERA_CHECK_OK(run_retype(retype));
    TESSERA_CHECK_OK(run_moves(step.deliver, report));
    report.settle_seconds = seconds_since(begin);
    if (observer == nullptr) return ok_status();
    return observer->after(report, [this](graph::ValueId v) { return value(v); });
  }

  Result<HostTensor> value(graph::ValueId v) const {
    if (!live_[v]) {
      return Error{ErrorCode::kBadBuffer, cat("value '", execution_.graph.values[v].name,
                                              "' is not on the device any more")};
    }
    return read_tensor(device_, *live_[v], execution_.buffers[v].layout);
  }

  const Execution& execution_;
  device::Device& device_;
  ThreadPool& pool_;
  LiveBuffers live_;
};

}  // namespace

Result<std::unique_ptr<device::Device>> device_for(const Execution& execution, bool checked) {
  device::DeviceOptions options;
  options.checked = checked;
  for (const SpaceNeed& need : execution.spaces) {
    options.planned.push_back({need.space, need.peak_bytes});
  }
  return device::make_embedded(execution.machine, options);
}

Result<RunResult> execute(const Execution& execution, device::Device& device,
                          const std::map<std::string, HostTensor>& given, ThreadPool& pool,
                          Observer* observer) {
  Runner runner(execution, device, pool);
  return runner.run(given, observer);
}

}  // namespace tessera::run
