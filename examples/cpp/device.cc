// SPDX-License-Identifier: Apache-2.0
// The snippets of docs/device.md, each a function: compiled, run, and checked by the lines after
// it.
#include "tessera/device/device.h"

#include <cstddef>
#include <iostream>
#include <memory>
#include <numeric>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "tessera/device/mover.h"
#include "tessera/device/transfer_manager.h"
#include "tessera/tessera.h"

namespace {

using tessera::device::BufferId;
using tessera::device::Device;

int wrong = 0;

void expect(bool claim, std::source_location at = std::source_location::current()) {
  if (claim) return;
  std::cerr << at.function_name() << ", line " << at.line() << ": not as docs/device.md says\n";
  ++wrong;
}

tessera::Status buffers() {
  TESSERA_TRY(const tessera::Machine* const wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const std::unique_ptr<Device> device,
              tessera::device::make_embedded(*wafer, {.checked = true}));
  TESSERA_TRY(const tessera::Tensor tensor,
              tessera::parse_tensor("tensor<6x8xf32, pyflame.Grid(2, 2)>"));
  TESSERA_TRY(
      const BufferId x,
      device->add({.name = "x", .placement = tensor.placement, .space = "sram", .offsets = 128}));
  // Slot 7 of place 3, which is PE (1, 1): nothing was written there yet.
  float value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  const tessera::Status early = device->read(x, 3, {.first = 7}, bytes);
  std::cout << early.error().message << "\n";
  value = 2.5F;
  TESSERA_CHECK_OK(device->write(x, 3, {.first = 7}, bytes));
  TESSERA_CHECK_OK(device->read(x, 3, {.first = 7}, bytes));
  expect(!early.ok() && value == 2.5F);
  expect(early.error().message == "x: slot 7 (byte 156) of place [1, 1] was never written");
  return tessera::ok_status();
}

tessera::Status kernels(Device& device, BufferId a, BufferId b) {
  // Rows of 4 elements: b[row, :] = 2·a[row, :] on every place.
  const std::vector<tessera::device::SlotLoop> rows = {{3, 4}, {4, 1}};
  for (std::int64_t place = 0; place < 4; ++place) {
    TESSERA_TRY(const std::byte* const in, device.input(a, place, {0, rows}));
    TESSERA_TRY(std::byte* const out, device.output(b, place, {0, rows}));
    const auto* const from = reinterpret_cast<const float*>(in);
    auto* const to = reinterpret_cast<float*>(out);
    for (int i = 0; i < 12; ++i) to[i] = 2 * from[i];
  }
  return tessera::ok_status();
}

tessera::Status transfers_and_moves() {
  TESSERA_TRY(const tessera::Machine* const wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const std::unique_ptr<Device> device,
              tessera::device::make_embedded(*wafer, {.checked = true}));
  TESSERA_TRY(const tessera::Tensor grid,
              tessera::parse_tensor("tensor<6x8xf32, pyflame.Grid(2, 2)>"));
  TESSERA_TRY(const tessera::Tensor rows,
              tessera::parse_tensor("tensor<6x8xf32, pyflame.RowPartition(6)>"));
  TESSERA_TRY(const BufferId a,
              device->add({.name = "a", .placement = grid.placement, .space = ""}));
  TESSERA_TRY(const BufferId b,
              device->add({.name = "b", .placement = grid.placement, .space = "", .offsets = 64}));
  TESSERA_TRY(const BufferId c,
              device->add({.name = "c", .placement = rows.placement, .space = "", .offsets = 128}));

  TESSERA_TRY(const auto transfers, tessera::device::TransferManager::make(*device));
  std::vector<float> host(48);
  std::iota(host.begin(), host.end(), 0.0F);
  TESSERA_CHECK_OK(transfers->host_to_device(a, std::as_bytes(std::span(host))));

  TESSERA_CHECK_OK(kernels(*device, a, b));

  TESSERA_TRY(const auto mover, tessera::device::Mover::make(*device, {b, {}}, {c, {}}));
  tessera::ThreadPool pool(2);
  TESSERA_CHECK_OK(mover.run(*device, b, c, pool));
  std::cout << mover.totals().messages << " messages, " << mover.totals().crossing_bytes
            << " bytes\n";

  std::vector<float> result(48);
  const auto handle = transfers->device_to_host_async(c, std::as_writable_bytes(std::span(result)));
  // .. other work ..
  TESSERA_CHECK_OK(handle.wait());
  expect(result[47] == 94 &&
         transfers->total_bytes_transferred() == 2 * result.size() * sizeof(float));
  return tessera::ok_status();
}

tessera::Status part_of_a_buffer() {
  TESSERA_TRY(const tessera::Machine* const wafer, tessera::find_machine("wse2"));
  TESSERA_TRY(const std::unique_ptr<Device> device, tessera::device::make_embedded(*wafer));
  TESSERA_TRY(const tessera::Tensor whole,
              tessera::parse_tensor("tensor<6x8xf32, pyflame.Grid(2, 2)>"));
  TESSERA_TRY(const tessera::Tensor panel,
              tessera::parse_tensor("tensor<6x2xf32, pyflame.Grid(2, 2, replicate=[1], "
                                    "dim_to_pe=[0, -1])>"));
  TESSERA_TRY(const BufferId a,
              device->add({.name = "a", .placement = whole.placement, .space = ""}));
  TESSERA_TRY(
      const BufferId p,
      device->add({.name = "panel", .placement = panel.placement, .space = "", .offsets = 64}));
  // Columns 4 and 5 of a, to both columns of PEs.
  TESSERA_TRY(const tessera::View columns,
              tessera::View::of(*whole.placement.layout()).slice(1, 4, 2));
  TESSERA_TRY(const auto mover, tessera::device::Mover::make(*device, {a, columns}, {p, {}}));
  tessera::ThreadPool pool(1);
  TESSERA_CHECK_OK(mover.run(*device, a, p, pool));
  expect(mover.totals().messages == 2 && mover.totals().crossing_bytes == 48);
  return tessera::ok_status();
}

}  // namespace

int main() {
  for (const auto snippet : {buffers, transfers_and_moves, part_of_a_buffer}) {
    const tessera::Status status = snippet();
    if (!status) std::cerr << tessera::render(status.error(), "");
    expect(status.ok());
  }
  return wrong == 0 ? 0 : 1;
}
