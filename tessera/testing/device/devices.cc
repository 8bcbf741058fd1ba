// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/device/devices.h"

#include <array>

#include "tessera/base/text.h"
#include "tessera/testing/reshard/naive_reshard.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {

Machine plain_machine(const std::vector<std::int64_t>& mesh, std::int64_t bytes,
                      const std::vector<std::int64_t>& dead) {
  Machine machine;
  machine.name = "plain";
  target::MeshLevel level;
  level.name = "cores";
  level.extents = mesh.empty() ? std::vector<std::int64_t>{1} : mesh;
  machine.mesh = {level};
  target::MemorySpace memory;
  memory.name = "sram";
  memory.bytes = bytes;
  memory.align_bytes = 4;
  machine.memory = {memory};
  machine.data_space = "sram";
  for (const std::int64_t place : dead) {
    const Place at = machine.shape().delinear(place);
    machine.dead.push_back({at, at});
  }
  return machine;
}

std::optional<Machine> machine_for(const Placement& placement, std::int64_t bytes) {
  std::optional<Shape> mesh = naive_around(placement, placement);
  if (const Layout* layout = placement.layout()) {
    const DeviceMap& map = layout->spec().device_map;
    if (map.kind() != DeviceMap::Kind::kIdentity) mesh = map.physical();
  }
  if (!mesh || mesh->empty()) return std::nullopt;
  return plain_machine(mesh->extents(), bytes);
}

std::uint64_t bits_at(const std::byte* memory, std::int64_t element, std::int64_t bits) {
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < bits; ++i) {
    const std::int64_t at = element * bits + i;
    const auto bit = std::to_integer<std::uint64_t>(memory[at / 8]) >> (at % 8) & 1;
    value |= bit << i;
  }
  return value;
}

void set_bits(std::byte* memory, std::int64_t element, std::int64_t bits, std::uint64_t value) {
  for (std::int64_t i = 0; i < bits; ++i) {
    const std::int64_t at = element * bits + i;
    const auto mask = static_cast<std::byte>(1 << (at % 8));
    memory[at / 8] = (value >> i & 1) != 0 ? memory[at / 8] | mask : memory[at / 8] & ~mask;
  }
}

std::uint64_t value_of(std::int64_t number, std::int64_t bits) {
  std::uint64_t mixed = static_cast<std::uint64_t>(number + 1) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29;
  return bits == 64 ? mixed : mixed & ((std::uint64_t{1} << bits) - 1);
}

std::vector<std::vector<std::int64_t>> held_elements(const Placement& placement) {
  std::vector<std::vector<std::int64_t>> held(
      static_cast<std::size_t>(placement.mesh().elements()),
      std::vector<std::int64_t>(static_cast<std::size_t>(placement.slots()), -1));
  for (std::int64_t e = 0; e < placement.shape().elements(); ++e) {
    const Home home = home_of(placement, placement.shape().delinear(e));
    for (const std::vector<std::int64_t>& share : home.shares) {
      for (const std::int64_t place : share) {
        held[static_cast<std::size_t>(place)][static_cast<std::size_t>(home.slot)] = e;
      }
    }
  }
  return held;
}

Status write_element(device::Device& device, device::BufferId buffer, std::int64_t place,
                     std::int64_t slot, std::int64_t bits, std::uint64_t value) {
  std::array<std::byte, 8> element{};
  set_bits(element.data(), 0, bits, value);
  const auto bytes = static_cast<std::size_t>((bits + 7) / 8);
  return device.write(buffer, place, {slot, {}}, std::span(element).first(bytes));
}

Result<std::uint64_t> read_element(const device::Device& device, device::BufferId buffer,
                                   std::int64_t place, std::int64_t slot, std::int64_t bits) {
  std::array<std::byte, 8> element{};
  const auto bytes = static_cast<std::size_t>((bits + 7) / 8);
  TESSERA_CHECK_OK(device.read(buffer, place, {slot, {}}, std::span(element).first(bytes)));
  return bits_at(element.data(), 0, bits);
}

Status write_all(device::Device& device, device::BufferId buffer,
                 const std::function<std::uint64_t(std::int64_t)>& value) {
  const Placement& placement = device.find(buffer)->placement;
  const std::int64_t bits = dtype_bits(placement.atom().storage).value_or(8);
  const auto held = held_elements(placement);
  for (std::size_t place = 0; place < held.size(); ++place) {
    for (std::size_t slot = 0; slot < held[place].size(); ++slot) {
      if (held[place][slot] < 0) continue;
      TESSERA_CHECK_OK(write_element(device, buffer, static_cast<std::int64_t>(place),
                                     static_cast<std::int64_t>(slot), bits,
                                     value(held[place][slot])));
    }
  }
  return ok_status();
}

std::string content_mistake(const device::Device& device, device::BufferId buffer,
                            const std::function<std::uint64_t(std::int64_t)>& value,
                            std::optional<std::uint64_t> padding) {
  const Placement& placement = device.find(buffer)->placement;
  const std::int64_t bits = dtype_bits(placement.atom().storage).value_or(8);
  const auto held = held_elements(placement);
  for (std::size_t place = 0; place < held.size(); ++place) {
    for (std::size_t slot = 0; slot < held[place].size(); ++slot) {
      const std::int64_t element = held[place][slot];
      const Result<std::uint64_t> found = read_element(
          device, buffer, static_cast<std::int64_t>(place), static_cast<std::int64_t>(slot), bits);
      if (element < 0 && !padding) {
        if (!found && found.error().code == ErrorCode::kOutOfRange) continue;
        return cat("padding slot ", slot, " of place ", place, " was written\n");
      }
      if (!found) return failure(found.error());
      const std::uint64_t expected = element < 0 ? *padding : value(element);
      if (*found != expected) {
        return cat("place ", place, " slot ", slot, " has ", *found, ", expected ", expected, "\n");
      }
    }
  }
  return "";
}

std::string failure(const Error& error) {
  return cat(code_name(error.code), ": ", error.message, "\n");
}

}  // namespace tessera::test
