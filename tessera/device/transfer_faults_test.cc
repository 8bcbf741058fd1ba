// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/host_memory_pool.h"
#include "tessera/base/text.h"
#include "tessera/device/transfer_manager.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/device/devices.h"
#include "tessera/testing/device/watched_device.h"

namespace tessera::device {
namespace {

/// How a tensor moves: through staging memory, or in place.
enum class Way : std::uint8_t { kStaged, kInPlace };
constexpr std::array kWays = {Way::kStaged, Way::kInPlace};

/// The call during which a transfer changes the buffer.
std::string_view sending(Way way) { return way == Way::kStaged ? "send" : "in_place"; }

/// A tensor on 2x3 places whose transfers take several calls.
struct FaultCase {
  std::unique_ptr<Device> inside;
  std::unique_ptr<test::WatchedDevice> device;
  BufferId x = {};
  std::vector<std::byte> host;
  std::unique_ptr<TransferManager> transfers;

  FaultCase(const std::string& text, bool checked, Way way = Way::kStaged,
            DType storage = DType::kF32)
      : inside(
            *make_embedded(test::plain_machine({2, 3}, test::kPlainBytes), {.checked = checked})),
        device(std::make_unique<test::WatchedDevice>(*inside)) {
    LayoutSpec spec = parse_tensor(text)->placement.layout()->spec();
    spec.atom = Atom::scalar(storage);
    x = *inside->add({.name = "x", .placement = *Layout::make(spec), .space = ""});
    device->has_addresses = way == Way::kInPlace;
    transfers = *TransferManager::make(*device, {.block_bytes = 64});
    host.resize(static_cast<std::size_t>(*transfers->host_bytes(x)));
    for (std::size_t i = 0; i < host.size(); i += 4) host[i + 3] = std::byte{0x3F};  // 0.5
  }
};

Error injected() { return {ErrorCode::kIo, "a fault of the test"}; }

constexpr const char* kSeveralParts = "tensor<70x110xf32, pyflame.Grid(2, 3)>";
constexpr const char* kTwoParts = "tensor<35x30xf32, pyflame.Grid(2, 3)>";
/// At distances that are not regular, so that it moves box by box.
constexpr const char* kBoxByBox =
    "tensor<60x18xf32, pyflame.Custom(2, 2, [(0, 0), (0, 2), (1, 0), (1, 1)])>";

/// Lets step after step fail until a transfer goes through without meeting the fault.
int faults_to_device(const std::string& text, bool checked, Way way, DType storage = DType::kF32) {
  FaultCase a(text, checked, way, storage);
  std::vector<std::byte> back(a.host.size());
  int faults = 0;
  for (int fails = 0;; ++fails) {
    // A whole tensor is there before; what a failed transfer leaves must not pass for it.
    EXPECT_TRUE(a.transfers->host_to_device(a.x, a.host).ok());
    const std::size_t bytes = a.transfers->total_bytes_transferred();
    int step = 0;
    bool sent = false;
    a.device->before = [&](std::string_view name) -> Status {
      // A call that sends may have done so in part; one that is in place has not begun.
      const bool is_failing = step++ == fails;
      sent = sent || (name == sending(way) && (way == Way::kStaged || !is_failing));
      if (is_failing) return injected();
      return ok_status();
    };
    const Status done = a.transfers->host_to_device(a.x, a.host);
    a.device->before = [](std::string_view) { return ok_status(); };
    if (done) {
      EXPECT_LE(step, fails);
      return faults;
    }
    ++faults;
    EXPECT_EQ(a.transfers->total_bytes_transferred(), bytes);
    const Status received = a.transfers->device_to_host(a.x, back);
    EXPECT_EQ(received.ok(), !sent) << "step " << fails;
    if (fails > 10000) return -1;
  }
}

TEST(TransferFaults, EveryStepTowardsTheDeviceMayFail) {
  for (const bool checked : {true, false}) {
    const std::string ragged = "tensor<7x11xf32, pyflame.Grid(2, 3)>";
    EXPECT_GE(faults_to_device(ragged, checked, Way::kStaged), checked ? 20 : 6);
    EXPECT_GE(faults_to_device(ragged, checked, Way::kStaged, DType::kF16), checked ? 8 : 4);
    EXPECT_GE(faults_to_device("tensor<100xf32, pyflame.SinglePE()>", checked, Way::kStaged), 7);
    // Parts of 4 KiB, and one step to mark what was written.
    EXPECT_GE(faults_to_device(checked ? kTwoParts : kSeveralParts, checked, Way::kInPlace), 9);
    EXPECT_GE(faults_to_device(kBoxByBox, checked, Way::kInPlace), checked ? 8 : 3);
  }
}

TEST(TransferFaults, EveryStepTowardsTheHostMayFail) {
  struct Case {
    const char* text;
    Way way;
    DType storage;
  };
  for (const Case& one :
       {Case{"tensor<7x11xf32, pyflame.Grid(2, 3)>", Way::kStaged, DType::kF32},
        Case{"tensor<7x11xf32, pyflame.Grid(2, 3)>", Way::kStaged, DType::kF16},
        Case{kTwoParts, Way::kInPlace, DType::kF32}, Case{kBoxByBox, Way::kInPlace, DType::kF32}}) {
    FaultCase a(one.text, true, one.way, one.storage);
    ASSERT_TRUE(a.transfers->host_to_device(a.x, a.host).ok());
    std::vector<std::byte> back(a.host.size());
    ASSERT_TRUE(a.transfers->device_to_host(a.x, back).ok());
    const std::size_t bytes = a.transfers->total_bytes_transferred();
    int fails = 0;
    for (;; ++fails) {
      int step = 0;
      a.device->before = [&](std::string_view) -> Status {
        if (step++ == fails) return injected();
        return ok_status();
      };
      std::fill(back.begin(), back.end(), std::byte{0});
      if (a.transfers->device_to_host(a.x, back)) break;
      EXPECT_EQ(a.transfers->total_bytes_transferred(), bytes);
      ASSERT_LT(fails, 10000);
    }
    EXPECT_GE(fails, one.text == kBoxByBox ? 7 : 9);
    EXPECT_EQ(back, a.host);
  }
}

/// Memory of a pool that refuses after some blocks.
struct ScarceMemory {
  int left = 0;
  static void* take(void* context, std::size_t bytes, std::size_t alignment) {
    auto& scarce = *static_cast<ScarceMemory*>(context);
    if (scarce.left-- <= 0) return nullptr;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void give_back(void*, void* memory) { std::free(memory); }
};

TEST(TransferFaults, StagingMemoryMayBeRefused) {
  const auto device = *make_embedded(test::plain_machine({2, 2}, test::kPlainBytes));
  int made = 0;
  for (int left = 0; left < 20; ++left) {
    ScarceMemory scarce{left};
    PoolOptions staging;
    staging.source = {ScarceMemory::take, ScarceMemory::give_back, &scarce};
    const auto transfers = TransferManager::make(*device, {.staging = &staging});
    if (transfers) {
      ++made;
    } else {
      EXPECT_EQ(transfers.error().code, ErrorCode::kOutOfMemory);
      EXPECT_EQ(made, 0);
    }
  }
  EXPECT_GT(made, 0);
  EXPECT_LT(made, 20);
}

/// Lets the first call of a step wait until `open` is called.
class Gate {
 public:
  Status wait(std::string_view name, std::string_view step) {
    if (name != step || passed_) return ok_status();
    passed_ = true;
    reached_.set_value();
    opened_.get_future().wait();
    return ok_status();
  }
  void reached() { reached_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  bool passed_ = false;
  std::promise<void> reached_;
  std::promise<void> opened_;
};

constexpr const char* kLong = "tensor<200xf32, pyflame.SinglePE()>";

TEST(TransferFaults, ACancelledTransferSaysSo) {
  for (const Way way : kWays) {
    FaultCase a(kLong, true, way);
    Gate gate;
    a.device->before = [&](std::string_view name) { return gate.wait(name, sending(way)); };
    const TransferHandle running = a.transfers->host_to_device_async(a.x, a.host);
    std::vector<std::byte> back(a.host.size());
    const TransferHandle waiting = a.transfers->device_to_host_async(a.x, back);
    gate.reached();
    EXPECT_FALSE(running.is_complete());
    EXPECT_FALSE(waiting.is_complete());
    EXPECT_EQ(running.id() + 1, waiting.id());
    running.cancel();
    gate.open();
    EXPECT_EQ(running.wait().error().reasons.at(0).name, "cancelled");
    // What was sent is not there for the next transfer.
    EXPECT_EQ(waiting.wait().error().reasons.at(0).name, "never_written");
    EXPECT_TRUE(running.is_complete());
    EXPECT_EQ(a.transfers->total_bytes_transferred(), 0U);
    // A transfer that is complete cannot be cancelled.
    const TransferHandle again = a.transfers->host_to_device_async(a.x, a.host);
    ASSERT_TRUE(again.wait().ok());
    again.cancel();
    EXPECT_TRUE(again.wait().ok());
    EXPECT_EQ(again.border_bytes(), 800);
    EXPECT_TRUE(a.transfers->device_to_host(a.x, back).ok());
    EXPECT_EQ(back, a.host);
  }
}

TEST(TransferFaults, ATransferInPlaceStopsBetweenItsParts) {
  for (const bool is_checked : {true, false}) {
    FaultCase a(kSeveralParts, is_checked, Way::kInPlace);
    ASSERT_TRUE(a.transfers->host_to_device(a.x, a.host).ok());
    std::optional<TransferHandle> running;
    int parts = 0;
    std::promise<void> has_handle;
    a.device->before = [&](std::string_view name) -> Status {
      if (name == "in_place" && ++parts == 3) {
        has_handle.get_future().wait();
        running->cancel();
      }
      return ok_status();
    };
    running = a.transfers->host_to_device_async(a.x, a.host);
    has_handle.set_value();
    EXPECT_EQ(running->wait().error().reasons.at(0).name, "cancelled");
    EXPECT_EQ(parts, 3);
    EXPECT_GT(running->border_bytes(), 0);
    std::vector<std::byte> back(a.host.size());
    EXPECT_FALSE(a.transfers->device_to_host(a.x, back).ok());
    a.device->before = [](std::string_view) { return ok_status(); };
    EXPECT_TRUE(a.transfers->host_to_device(a.x, a.host).ok());
    EXPECT_TRUE(a.transfers->device_to_host(a.x, back).ok());
    EXPECT_EQ(back, a.host);
  }
}

TEST(TransferFaults, TheLastHandleWaitsForBorrowedMemory) {
  for (const Way way : kWays) {
    FaultCase a(kLong, true, way);
    {
      std::vector<std::byte> borrowed = a.host;
      const std::vector<TransferHandle> handles(2,
                                                a.transfers->host_to_device_async(a.x, borrowed));
    }  // the handles first, then the memory
    EXPECT_EQ(a.transfers->total_bytes_transferred(), a.host.size());
  }
}

TEST(TransferFaults, ATransferKeepsTheMemoryThatItOwns) {
  for (const Way way : kWays) {
    FaultCase a(kLong, true, way);
    Gate gate;
    a.device->before = [&](std::string_view name) { return gate.wait(name, sending(way)); };
    auto owned = std::make_shared<std::vector<std::byte>>(a.host);
    const std::weak_ptr<std::vector<std::byte>> seen = owned;
    const std::span<const std::byte> bytes = *owned;
    // The handle is dropped at once, and does not wait.
    static_cast<void>(a.transfers->host_to_device_async(a.x, bytes, std::move(owned)));
    gate.reached();
    EXPECT_FALSE(seen.expired());
    gate.open();
    std::vector<std::byte> back(a.host.size());
    ASSERT_TRUE(a.transfers->device_to_host(a.x, back).ok());
    EXPECT_EQ(back, a.host);
    EXPECT_TRUE(seen.expired());
  }
}

TEST(TransferFaults, TheManagerCancelsWhatIsNotComplete) {
  FaultCase a(kLong, true);
  Gate gate;
  a.device->before = [&](std::string_view name) { return gate.wait(name, "send"); };
  const TransferHandle running = a.transfers->host_to_device_async(a.x, a.host);
  const TransferHandle waiting = a.transfers->host_to_device_async(a.x, a.host);
  gate.reached();
  auto ended = std::async(std::launch::async, [&] { a.transfers.reset(); });
  gate.open();
  ended.wait();
  // The destructor may come after the last step of the one that was running, not of the other.
  EXPECT_TRUE(running.is_complete());
  EXPECT_TRUE(waiting.is_complete());
  if (!running.wait()) {
    EXPECT_EQ(running.wait().error().reasons.at(0).name, "cancelled");
  }
}

TEST(TransferFaults, ABufferMayBeReleasedMeanwhile) {
  for (const Way way : kWays) {
    FaultCase a(kLong, true, way);
    Gate gate;
    a.device->before = [&](std::string_view name) { return gate.wait(name, sending(way)); };
    const TransferHandle running = a.transfers->host_to_device_async(a.x, a.host);
    gate.reached();
    ASSERT_TRUE(a.inside->release(a.x).ok());
    gate.open();
    EXPECT_EQ(running.wait().error().code, ErrorCode::kBadBuffer);
  }
}

}  // namespace
}  // namespace tessera::device
