// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/rates.h"

#include <algorithm>
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

Timed Rates::timed(double cycles) { return {seconds(cycles), cycles, "", ""}; }

Timed Rates::moved(double bytes, const target::Bandwidth& bandwidth, const std::string& path) {
  if (!bandwidth.known()) return {};
  uses(path);
  if (bandwidth.bytes_per_cycle) return timed(bytes / *bandwidth.bytes_per_cycle);
  Timed time{bytes / *bandwidth.bytes_per_second, std::nullopt, "", ""};
  if (machine_.clock_hz) time.cycles = *time.seconds * static_cast<double>(*machine_.clock_hz);
  return time;
}

namespace {

/// The sum of times, or the longest of them; unknown if one is.
std::optional<double> together(std::initializer_list<std::optional<double>> times, bool sum) {
  double all = 0;
  for (const std::optional<double>& time : times) {
    if (!time) return std::nullopt;
    all = sum ? all + *time : std::max(all, *time);
  }
  return all;
}

}  // namespace

Timed Rates::touch(std::size_t memory, std::int64_t read_bytes, std::int64_t written_bytes) {
  const target::MemorySpace& space = machine_.memory[memory];
  const std::string path = cat("/memory/", memory);
  const auto both =
      static_cast<double>(space.mixed.known() ? std::min(read_bytes, written_bytes) : 0);
  const auto time_of = [&](double bytes, const target::Bandwidth& bandwidth, const char* field) {
    if (bytes == 0) return Timed{0.0, 0.0, "", ""};
    if (!bandwidth.known()) lacks(cat(path, field, ": how fast ", space.name, " is"));
    return moved(bytes, bandwidth, path + field);
  };
  const Timed mixed = time_of(2 * both, space.mixed, "/mixed");
  const Timed read = time_of(static_cast<double>(read_bytes) - both, space.read, "/read");
  const Timed write = time_of(static_cast<double>(written_bytes) - both, space.write, "/write");
  const bool sum = space.mixed.known();
  return {together({mixed.seconds, read.seconds, write.seconds}, sum),
          together({mixed.cycles, read.cycles, write.cycles}, sum), "memory", space.name};
}

std::optional<double> Rates::per_cycle(std::initializer_list<std::string_view> units,
                                       std::initializer_list<std::string_view> dtypes,
                                       Timed& time) {
  for (const std::string_view unit : units) {
    for (const std::string_view dtype : dtypes) {
      for (std::size_t i = 0; i < machine_.compute.size(); ++i) {
        const target::ComputeRate& rate = machine_.compute[i];
        if (rate.unit != unit || rate.dtype != dtype) continue;
        uses(cat("/compute/", i));
        time.busiest = rate.unit;
        return rate.per_cycle;
      }
    }
  }
  return std::nullopt;
}

Timed Rates::cast(const Cast& cast, std::size_t memory) {
  Timed time{std::nullopt, std::nullopt, "compute", ""};
  if (cast.elements == 0) {
    time.seconds = 0;
    time.cycles = 0;
    return time;
  }
  const auto rate =
      per_cycle({"elementwise", "vector"}, {dtype_name(cast.from), dtype_name(cast.to), ""}, time);
  if (!rate) {
    lacks(cat("/compute: how fast ", dtype_name(cast.from), " becomes ", dtype_name(cast.to)));
    return time;
  }
  time.cycles = static_cast<double>(cast.elements) / *rate;
  time.seconds = seconds(*time.cycles);
  Timed moved = touch(memory, cast.read_bytes, cast.written_bytes);
  const bool slower = time.seconds ? moved.seconds && *moved.seconds > *time.seconds
                                   : moved.cycles && *moved.cycles > *time.cycles;
  return slower ? moved : time;
}

std::optional<double> Rates::reduced_per_cycle(DType dtype) {
  Timed unused;
  const auto rate = per_cycle({"reduce", "elementwise", "vector"}, {dtype_name(dtype), ""}, unused);
  if (!rate) lacks(cat("/compute: how fast ", dtype_name(dtype), " are added up"));
  return rate;
}

}  // namespace tessera::moves
