// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/carries.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tessera/base/sort_stably.h"

namespace tessera::reshard {
namespace {

/// Lists what one dispatch carries; `places` are its destinations by column, then row.
class CarryLister {
 public:
  CarryLister(Carries& out, std::uint32_t item, std::int32_t row, std::int32_t col)
      : out_(out), item_(item), row_(row), col_(col) {}

  using Places = std::vector<std::pair<std::int32_t, std::int32_t>>;
  void along_rows(const Places& places) {
    begin();
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool repeats = i > 0 && places[i - 1].first == places[i].first;
      if (!repeats && places[i].first != col_) out_.ends.push_back(places[i].first);
    }
    end(row_, col_);
  }
  void along_columns(const Places& places) {
    for (std::size_t i = 0; i < places.size();) {
      const std::int32_t line = places[i].first;
      begin();
      for (; i < places.size() && places[i].first == line; ++i) {
        if (places[i].second != row_) out_.ends.push_back(places[i].second);
      }
      end(line, row_);
    }
  }

 private:
  void begin() { first_ = out_.ends.size(); }
  void end(std::int32_t line, std::int32_t start) {
    const auto count = static_cast<std::uint32_t>(out_.ends.size() - first_);
    if (count == 0) return;
    out_.list.push_back({item_, line, start, static_cast<std::uint32_t>(first_), count});
  }

  Carries& out_;
  std::uint32_t item_;
  std::int32_t row_;
  std::int32_t col_;
  std::size_t first_ = 0;
};

void keep_larger(std::vector<std::int64_t>& list, std::size_t at, std::int64_t value) {
  if (list.size() <= at) list.resize(at + 1);
  list[at] = std::max(list[at], value);
}

}  // namespace

Carries carries_of(const Dispatches& dispatches, const fabric::FabricMesh& mesh, Axis axis) {
  Carries carries;
  carries.lines = Lines::of(mesh, axis);
  CarryLister::Places places;
  for (std::uint32_t item = 0; item < dispatches.list.size(); ++item) {
    const Dispatch& dispatch = dispatches.list[item];
    places.clear();
    for (const std::int64_t place : dispatches.sets[dispatch.set]) {
      places.emplace_back(static_cast<std::int32_t>(place % mesh.cols),
                          static_cast<std::int32_t>(place / mesh.cols));
    }
    std::sort(places.begin(), places.end());
    CarryLister lister(carries, item, static_cast<std::int32_t>(dispatch.source / mesh.cols),
                       static_cast<std::int32_t>(dispatch.source % mesh.cols));
    if (axis == Axis::kAlongRows) {
      lister.along_rows(places);
    } else {
      lister.along_columns(places);
    }
  }
  sort_stably(carries.list, [](const Carry& x, const Carry& y) {
    return std::tie(x.line, x.start) < std::tie(y.line, y.start);
  });
  return carries;
}

LineLoad CarriedLoads::load_of(std::span<const Carry> line) const {
  LineLoad load;
  std::map<std::int32_t, LineReceiver> receivers;
  Carries::for_each_start(line, [&](std::span<const Carry> carries) {
    const std::int32_t start = carries.front().start;
    LineSender& sender = load.senders.emplace_back(LineSender{start, start, start, 0, 0});
    for (const Carry& carry : carries) {
      const std::int64_t elements = dispatches_.list[carry.item].elements;
      const auto ends = carries_.ends_of(carry);
      if (ends.back() > start) sender.up += elements;
      if (ends.front() < start) sender.down += elements;
      sender.up_reach = std::max(sender.up_reach, ends.back());
      sender.down_reach = std::min(sender.down_reach, ends.front());
      for (const std::int32_t end : ends) {
        LineReceiver& receiver = receivers[end];
        receiver.position = end;
        (end > start ? receiver.from_below : receiver.from_above) = true;
      }
    }
  });
  for (const auto& [position, receiver] : receivers) load.receivers.push_back(receiver);
  return load;
}

void CarriedLoads::for_each_line(const Visit& visit) const {
  bool goes_on = true;
  carries_.for_each_line(
      [&](std::span<const Carry> line) { goes_on = goes_on && visit(load_of(line)); });
}

StepLoads CarriedLoads::steps() const {
  StepLoads loads;
  std::vector<std::pair<std::int32_t, std::int64_t>> reaches;  // steps to the farthest, elements
  const auto see = [&](std::span<const Carry> carries) {
    for (const bool up : {true, false}) {
      reaches.clear();
      for (const Carry& carry : carries) {
        const auto ends = carries_.ends_of(carry);
        const std::int32_t reach = up ? ends.back() - carry.start : carry.start - ends.front();
        if (reach > 0) reaches.emplace_back(reach, dispatches_.list[carry.item].elements);
      }
      std::sort(reaches.rbegin(), reaches.rend());
      std::int64_t passing = 0;
      for (const auto& [reach, elements] : reaches) {
        passing += elements;
        keep_larger(up ? loads.up : loads.down, static_cast<std::size_t>(reach), passing);
      }
    }
  };
  carries_.for_each_line([&](std::span<const Carry> line) { Carries::for_each_start(line, see); });
  for (auto* list : {&loads.up, &loads.down}) {
    for (std::size_t d = list->size(); d-- > 1;) {
      (*list)[d - 1] = std::max((*list)[d - 1], (*list)[d]);
    }
  }
  return loads;
}

}  // namespace tessera::reshard
