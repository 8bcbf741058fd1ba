// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/device/device.h"

namespace tessera::test {

/// A device that asks before every step, so that a test can let any of them fail, wait or be
/// counted. It does what the device inside does.
class WatchedDevice final : public device::Device {
 public:
  using BufferId = device::BufferId;
  explicit WatchedDevice(device::Device& inside) : inside_(inside) {}

  /// Called with the name of the function; an error is the answer of the step.
  std::function<Status(std::string_view step)> before = [](std::string_view) {
    return ok_status();
  };
  /// Called with what is sent.
  std::function<void(const device::BorderCall&, std::span<const std::byte>)> sent =
      [](const device::BorderCall&, std::span<const std::byte>) {};

  const Machine& machine() const override { return inside_.machine(); }
  bool checked() const override { return inside_.checked(); }
  Result<BufferId> add(device::BufferSpec spec) override {
    TESSERA_CHECK_OK(before("add"));
    return inside_.add(std::move(spec));
  }
  Status release(BufferId buffer) override {
    TESSERA_CHECK_OK(before("release"));
    return inside_.release(buffer);
  }
  std::shared_ptr<const device::BufferFacts> find(BufferId buffer) const override {
    return before("find") ? inside_.find(buffer) : nullptr;
  }
  Status read(BufferId buffer, std::int64_t place, const device::SlotBox& box,
              std::span<std::byte> to) const override {
    TESSERA_CHECK_OK(before("read"));
    return inside_.read(buffer, place, box, to);
  }
  Status write(BufferId buffer, std::int64_t place, const device::SlotBox& box,
               std::span<const std::byte> from) override {
    TESSERA_CHECK_OK(before("write"));
    return inside_.write(buffer, place, box, from);
  }
  Result<const std::byte*> input(BufferId buffer, std::int64_t place,
                                 const device::SlotBox& box) const override {
    TESSERA_CHECK_OK(before("input"));
    return inside_.input(buffer, place, box);
  }
  Result<std::byte*> output(BufferId buffer, std::int64_t place,
                            const device::SlotBox& box) override {
    TESSERA_CHECK_OK(before("output"));
    return inside_.output(buffer, place, box);
  }
  /// Whether transfers are carried out in place; otherwise they are staged.
  bool has_addresses = false;
  bool is_addressable() const override { return has_addresses; }
  Status in_place(std::span<const BufferId> buffers, const UseInPlace& use) override {
    TESSERA_CHECK_OK(before("in_place"));
    return inside_.in_place(buffers, [&](std::span<device::PinnedBuffer* const> pinned) {
      std::deque<Pinned> watched;
      std::vector<device::PinnedBuffer*> list;
      for (device::PinnedBuffer* const each : pinned) {
        list.push_back(&watched.emplace_back(*this, *each));
      }
      return use(list);
    });
  }
  Status send(BufferId buffer, const device::BorderCall& call,
              std::span<const std::byte> data) override {
    TESSERA_CHECK_OK(before("send"));
    sent(call, data);
    return inside_.send(buffer, call, data);
  }
  Status receive(BufferId buffer, const device::BorderCall& call,
                 std::span<std::byte> data) const override {
    TESSERA_CHECK_OK(before("receive"));
    return inside_.receive(buffer, call, data);
  }
  Status forget(BufferId buffer) override {
    Status asked = before("forget");
    TESSERA_CHECK_OK(inside_.forget(buffer));
    return asked;
  }
  device::MemoryUse use() const override { return inside_.use(); }

 private:
  class Pinned final : public device::PinnedBuffer {
   public:
    Pinned(const WatchedDevice& device, device::PinnedBuffer& inside)
        : device_(device), inside_(inside) {}
    std::byte* address(std::int64_t place) const override { return inside_.address(place); }
    Result<const std::byte*> input(std::int64_t place, const device::SlotBox& box) const override {
      TESSERA_CHECK_OK(device_.before("input"));
      return inside_.input(place, box);
    }
    Result<std::byte*> output(std::int64_t place, const device::SlotBox& box) override {
      TESSERA_CHECK_OK(device_.before("output"));
      return inside_.output(place, box);
    }

   private:
    const WatchedDevice& device_;
    device::PinnedBuffer& inside_;
  };

  device::Device& inside_;
};

}  // namespace tessera::test
