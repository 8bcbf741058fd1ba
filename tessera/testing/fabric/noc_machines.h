// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tessera/target/machine.h"

/// testing/fabric/: machines and references for tests of routes, loads and fits.
namespace tessera::test {

/// Two one-way tori as on Tenstorrent's chips: noc0 goes right, then down, noc1 up, then left. Only
/// what routes need, and networks for reads and writes, whose figures are to be fitted.
inline const std::string kWormholeNoc = R"({"name": "wormhole_noc", "mesh": [{
  "name": "cores", "extents": [8, 8], "axes": ["row", "col"],
  "routers": {"extents": [12, 10],
              "places": [[1, 2, 3, 4, 5, 7, 8, 9], [1, 2, 3, 4, 6, 7, 8, 9]]},
  "networks": [
    {"name": "noc0", "network": "torus", "route": [1, 0], "ways": ["up", "up"],
     "hop_cycles": 9, "bits_per_cycle": 256, "packet_bytes": 8192},
    {"name": "noc1", "network": "torus", "route": [0, 1], "ways": ["down", "down"],
     "hop_cycles": 9, "bits_per_cycle": 256, "packet_bytes": 8192}],
  "mechanisms": [{"name": "read", "network": "noc1"}, {"name": "write", "network": "noc0"}]}],
  "clock_hz": 1000000000,
  "memory": [
    {"name": "l1", "bytes": 1499136},
    {"name": "dram", "per": "bank", "banks": 4, "bytes": 1073741824,
     "read": {"bytes_per_second": 24e9}, "write": {"bytes_per_second": 24e9},
     "at": [[[0, 0], [11, 0]], [[5, 0]], [[0, 5]], [[5, 5]]]}]})";

inline const std::string kBlackholeNoc = R"({"name": "blackhole_noc", "mesh": [{
  "name": "cores", "extents": [10, 13], "axes": ["row", "col"],
  "routers": {"extents": [12, 17], "places": [[2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
                                              [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15]]},
  "networks": [
    {"name": "noc0", "network": "torus", "route": [1, 0], "ways": ["up", "up"],
     "hop_cycles": 9, "bits_per_cycle": 512, "packet_bytes": 16384},
    {"name": "noc1", "network": "torus", "route": [0, 1], "ways": ["down", "down"],
     "hop_cycles": 9, "bits_per_cycle": 512, "packet_bytes": 16384}],
  "mechanisms": [{"name": "read", "network": "noc1"}, {"name": "write", "network": "noc0"}]}],
  "memory": [{"name": "l1", "bytes": 1572864}]})";

inline Machine noc_machine(const std::string& json) {
  const Result<Machine> machine = parse_machine(json);
  EXPECT_TRUE(machine.ok()) << (machine.ok() ? "" : machine.error().message);
  return machine.ok() ? *machine : Machine{};
}

}  // namespace tessera::test
