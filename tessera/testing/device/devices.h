// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/device/device.h"
#include "tessera/layout/placement.h"
#include "tessera/target/machine.h"

/// testing/device/: what the tests of device/ share. Placements and devices come in; contents by
/// naive loops over elements, and what broke, as text, go out.
namespace tessera::test {

/// Enough for every test.
inline constexpr std::int64_t kPlainBytes = std::int64_t{1} << 20;

/// A machine of one level with a memory `sram` of so many bytes per place, aligned to 4.
Machine plain_machine(const std::vector<std::int64_t>& mesh, std::int64_t bytes,
                      const std::vector<std::int64_t>& dead = {});

/// The smallest plain machine that has the places of a placement; nothing where no machine has.
std::optional<Machine> machine_for(const Placement& placement, std::int64_t bytes);

/// Elements of `bits` bits, counted from the lowest bit of the first byte.
std::uint64_t bits_at(const std::byte* memory, std::int64_t element, std::int64_t bits);
void set_bits(std::byte* memory, std::int64_t element, std::int64_t bits, std::uint64_t value);

/// A value that depends on every bit of `number`, in the lowest `bits` bits.
std::uint64_t value_of(std::int64_t number, std::int64_t bits);

/// The slots of every place that hold elements, by the definition: held[place][slot] is the
/// row-major number of the element, or -1. Views may hold several; the last one counts.
std::vector<std::vector<std::int64_t>> held_elements(const Placement& placement);

/// One element of a buffer, written or read alone.
Status write_element(device::Device& device, device::BufferId buffer, std::int64_t place,
                     std::int64_t slot, std::int64_t bits, std::uint64_t value);
Result<std::uint64_t> read_element(const device::Device& device, device::BufferId buffer,
                                   std::int64_t place, std::int64_t slot, std::int64_t bits);

/// Writes element e of every place that holds it as value(e).
Status write_all(device::Device& device, device::BufferId buffer,
                 const std::function<std::uint64_t(std::int64_t)>& value);

/// What is wrong unless every place holds value(e) for its elements e and, on a checked device, its
/// padding is `padding` or was never written.
std::string content_mistake(const device::Device& device, device::BufferId buffer,
                            const std::function<std::uint64_t(std::int64_t)>& value,
                            std::optional<std::uint64_t> padding);

/// "code: message", for answers of tests.
std::string failure(const Error& error);

}  // namespace tessera::test
