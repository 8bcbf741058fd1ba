// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/device/device.h"
#include "tessera/device/mover.h"
#include "tessera/device/transfer_manager.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/device/devices.h"

namespace tessera::device {
namespace {

void on_threads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back([&, t] { work(t); });
  for (std::thread& thread : all) thread.join();
}

TEST(DeviceThreads, NeighboursMayBeWrittenAtTheSameTime) {
  const auto device =
      *make_embedded(test::plain_machine({1}, test::kPlainBytes), {.checked = true});
  // Elements of one byte: two of them share a byte of the table of what was written.
  const Layout layout = *Layout::row_major(*Shape::make({997}), DType::kI8);
  const BufferId x = *device->add({.name = "x", .placement = layout, .space = ""});
  constexpr int kThreads = 3;
  on_threads(kThreads, [&](int t) {
    for (std::int64_t i = t; i < 997; i += kThreads) {
      EXPECT_TRUE(
          test::write_element(*device, x, 0, i, 8, static_cast<std::uint64_t>(i % 251)).ok());
    }
  });
  for (std::int64_t i = 0; i < 997; ++i) {
    EXPECT_EQ(*test::read_element(*device, x, 0, i, 8), static_cast<std::uint64_t>(i % 251));
  }
}

TEST(DeviceThreads, BuffersComeAndGoWhileOthersAreUsed) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  const Layout layout = *parse_tensor("tensor<8x8xf32, pyflame.Grid(2, 2)>")->placement.layout();
  on_threads(3, [&](int t) {
    for (int i = 0; i < 50; ++i) {
      const auto x = device->add(
          {.name = cat("x", t), .placement = layout, .space = "", .offsets = std::int64_t{t} * 64});
      ASSERT_TRUE(x.ok());
      ASSERT_TRUE(test::write_all(*device, *x, [&](std::int64_t e) {
                    return test::value_of(e + t, 32);
                  }).ok());
      EXPECT_EQ(
          test::content_mistake(
              *device, *x, [&](std::int64_t e) { return test::value_of(e + t, 32); }, std::nullopt),
          "");
      ASSERT_TRUE(device->release(*x).ok());
    }
  });
  EXPECT_EQ(device->use().buffers, 0);
}

TEST(DeviceThreads, TransfersAreBegunFromAnyThread) {
  const auto device =
      *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes), {.checked = true});
  const Layout layout = *parse_tensor("tensor<37x41xf32, pyflame.Grid(2, 2)>")->placement.layout();
  const auto transfers = *TransferManager::make(*device, {.block_bytes = 1024});
  on_threads(3, [&](int t) {
    const BufferId x = *device->add(
        {.name = cat("x", t), .placement = layout, .space = "", .offsets = std::int64_t{t} * 4096});
    std::vector<float> host(std::size_t{37} * 41, static_cast<float>(t));
    std::vector<float> back(host.size());
    for (int i = 0; i < 10; ++i) {
      host[5] = static_cast<float>(i);
      const auto there = transfers->host_to_device_async(x, std::as_bytes(std::span(host)));
      const auto again =
          transfers->device_to_host_async(x, std::as_writable_bytes(std::span(back)));
      EXPECT_TRUE(again.wait().ok());
      EXPECT_TRUE(there.is_complete());
      EXPECT_EQ(back, host);
    }
  });
  EXPECT_EQ(transfers->total_bytes_transferred(), 3U * 20 * 37 * 41 * 4);
}

TEST(DeviceThreads, MovesAreTheSameForAnyNumberOfThreads) {
  const auto device =
      *make_embedded(test::plain_machine({5, 4}, test::kPlainBytes), {.checked = true});
  const auto layout = [](const char* text) { return *parse_tensor(text)->placement.layout(); };
  const BufferId x = *device->add(
      {.name = "x", .placement = layout("tensor<33x29xi8, pyflame.Grid(5, 4)>"), .space = ""});
  const BufferId y =
      *device->add({.name = "y",
                    .placement = layout("tensor<33x29xi8, pyflame.BlockCyclic(4, 3, 2, 5)>"),
                    .space = "",
                    .offsets = 1024});
  const auto value = [](std::int64_t e) { return test::value_of(e, 8); };
  ASSERT_TRUE(test::write_all(*device, x, value).ok());
  const Mover mover = *Mover::make(*device, {x, {}}, {y, {}});
  for (const int threads : {1, 2, 8}) {
    ThreadPool pool(threads);
    ASSERT_TRUE(device->forget(y).ok());
    ASSERT_TRUE(mover.run(*device, x, y, pool).ok());
    EXPECT_EQ(test::content_mistake(*device, y, value, std::nullopt), "");
  }
}

}  // namespace
}  // namespace tessera::device
