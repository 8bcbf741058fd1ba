// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

namespace tessera::target {

/// Reads a machine from JSON; docs/targets.md describes every field. A minimal machine:
///
///     {"name": "mine", "mesh": [4, 4], "memory": [{"name": "sram", "bytes": 65536}]}
///
/// Errors have the span of the invalid text and name the field: "/memory/0/bytes: expected a number
/// of at least 1, found 0". An unknown key is an error that names the nearest known one. The result
/// passes `Machine::check`.
Result<Machine> parse_machine(std::string_view json);

/// The machine as JSON, indented, without fields that hold their defaults; ends with a newline.
/// Law: parse_machine(to_json(m)) = m for every machine that `check` accepts.
std::string to_json(const Machine& machine);

/// The machines that Tessera knows: wse2, wse3, wormhole, blackhole, spyre.
const std::vector<Machine>& machines();
/// The machine with this name, or kUnknownTarget with the nearest name as help.
Result<const Machine*> find_machine(std::string_view name);

}  // namespace tessera::target

namespace tessera {
using target::find_machine;
using target::machines;
using target::parse_machine;
}  // namespace tessera
