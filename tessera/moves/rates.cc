// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/rates.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::moves {
namespace {

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

}  // namespace

void Rates::lacks(std::string what) { add_once(missing_, std::move(what)); }

void Rates::uses(const std::string& path) { add_once(used_, path); }

std::optional<double> Rates::seconds(double cycles) {
  if (!machine_.clock_hz) {
    lacks("/clock_hz: cycles are not seconds without a clock");
    return std::nullopt;
  }
  uses("/clock_hz");
  return cycles / static_cast<double>(*machine_.clock_hz);
}

std::optional<double> Rates::bytes_per_second(const target::Bandwidth& bandwidth,
                                              const std::string& path) {
  if (!bandwidth.known()) return std::nullopt;
  uses(path);
  if (bandwidth.bytes_per_second) return bandwidth.bytes_per_second;
  if (!machine_.clock_hz) {
    lacks("/clock_hz: bytes per cycle are not seconds without a clock");
    return std::nullopt;
  }
  uses("/clock_hz");
  return *bandwidth.bytes_per_cycle * static_cast<double>(*machine_.clock_hz);
}

Timed Rates::copy(std::size_t memory, std::int64_t bytes) {
  const target::MemorySpace& space = machine_.memory[memory];
  const std::string path = cat("/memory/", memory);
  Timed time{std::nullopt, "memory", space.name};
  const auto size = static_cast<double>(bytes);
  if (const auto mixed = bytes_per_second(space.mixed, path + "/mixed")) {
    time.seconds = 2 * size / *mixed;
    return time;
  }
  const auto read = bytes_per_second(space.read, path + "/read");
  const auto write = bytes_per_second(space.write, path + "/write");
  if (!read || !write) {
    lacks(cat(path, read ? "/write" : "/read", ": how fast ", space.name, " is"));
    return time;
  }
  time.seconds = std::max(size / *read, size / *write);
  return time;
}

Timed Rates::cast(std::int64_t elements, DType from, DType to) {
  Timed time{std::nullopt, "compute", ""};
  constexpr std::array<std::string_view, 2> kUnits = {"elementwise", "vector"};
  const std::array<std::string_view, 3> dtypes = {dtype_name(from), dtype_name(to), ""};
  for (const std::string_view unit : kUnits) {
    for (const std::string_view dtype : dtypes) {
      for (std::size_t i = 0; i < machine_.compute.size(); ++i) {
        const target::ComputeRate& rate = machine_.compute[i];
        if (rate.unit != unit || rate.dtype != dtype) continue;
        uses(cat("/compute/", i));
        time.busiest = rate.unit;
        time.seconds = seconds(static_cast<double>(elements) / rate.per_cycle);
        return time;
      }
    }
  }
  lacks(cat("/compute: how fast ", dtype_name(from), " becomes ", dtype_name(to)));
  return time;
}

}  // namespace tessera::moves
