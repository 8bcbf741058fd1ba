// SPDX-License-Identifier: Apache-2.0
// Any bytes are read as a machine. An error must point into the text; what is read must obey
//   check(m) succeeds;
//   parse(to_json(m)) == m, and printing again gives the same text;
//   every figure is finite, and how it is known does not depend on how its path is written;
//   every query about a layout on it has an answer or an error, and whatever fits is not larger
//   than the data budget.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/target/fit.h"
#include "tessera/target/machine.h"

namespace tessera {
namespace {

/// Row-major on one place, rows over a mesh, and rows over a mesh through a device map.
const std::vector<Layout>& layouts() {
  static const std::vector<Layout> list = [] {
    std::vector<Layout> out = {*Layout::row_major(*Shape::make({40, 40}), DType::kF32)};
    LayoutSpec spec;
    spec.form.shape = *Shape::make({12, 5});
    spec.form.mesh = *Shape::make({4, 1});
    spec.form.folds = {
        Fold{{{0, 1}}, 0, {{3, 4, Target::mesh(0), 1, Cause::kGrid}, {1, 3, Target::memory(), 5}}},
        Fold{{{1, 1}}, 0, {{1, 5, Target::memory(), 1}}}};
    for (const char* space : {"", "l1", "dram", "hbm"}) {
      spec.space = space;
      out.push_back(*Layout::make(spec));
    }
    const Fold over_layers{
        {{0, 1}}, 0, {{2, 2, Target::memory(), 1}, {1, 2, Target::mesh(0), 1, Cause::kGrid}}};
    spec.device_map = DeviceMap::folded(*Shape::make({3, 2}), {over_layers}, {1, 1});
    out.push_back(*Layout::make(spec));
    return out;
  }();
  return list;
}

void check_figures(const Machine& machine, std::string_view text) {
  for (std::size_t i = 0; i < machine.mesh.size(); ++i) {
    const std::string level = "/mesh/" + std::to_string(i);
    require(
        machine.evidence(level + "/links/ports") == machine.evidence(level + "/networks/0/ports"),
        "links are the first network", text);
    for (const target::Network& network : machine.mesh[i].networks) {
      require(std::isfinite(network.hop_cycles.value_or(0)), "a figure is finite", text);
      require(std::isfinite(network.bytes_per_second.value_or(0)), "a figure is finite", text);
    }
  }
  require(machine.devices() >= 1, "there is a device", text);
  for (const target::MemorySpace& space : machine.memory) {
    const std::optional<double> cycles = machine.memory_cycles(space, 1e6, 1e6);
    require(!cycles || (std::isfinite(*cycles) && *cycles > 0), "a memory takes time", text);
  }
}

void check_text(std::string_view text) {
  const Result<Machine> machine = parse_machine(text);
  if (!machine.ok()) {
    const Error& error = machine.error();
    check_refusal(error, text);
    return;
  }
  require(machine->check().ok(), "what is read passes check", text);
  const std::string printed = target::to_json(*machine);
  const Result<Machine> again = parse_machine(printed);
  require(again.ok(), "what is printed can be read", printed);
  require(*again == *machine, "parse(to_json(m)) == m", text);
  require(target::to_json(*again) == printed, "printing is stable", printed);
  check_figures(*machine, text);
  for (const Layout& layout : layouts()) {
    const Result<target::Fit> fit = target::fits(layout, *machine);
    if (!fit.ok() || !fit->fits() || !fit->usable_bytes) continue;
    require(fit->held_bytes <= *fit->usable_bytes, "what fits is not too large", text);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
