// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/target/machine.h"

/// device/: memory of a machine that holds tensors, moves between its places, and transfers between
/// it and the host. In: a Machine, layouts, offsets from memory/. Out: bytes at those offsets. It
/// computes nothing and chooses no layouts, offsets or algorithms.
namespace tessera::device {

// clang-format off
// =================================================================================================
// What a device is
//
// A machine has memories: one per place, one per bank, or a single shared one. Every such memory is
// a *part*; the parts of all memories are numbered together, as moves/stored.h numbers endpoints
// (places first, row-major). The bytes of a part that are not reserved are numbered from 0 to its
// data budget. That is the whole address space of a device: (memory, part, byte).
//
// A *buffer* is a tensor at an offset. Its placement says on which places of the layout's mesh each
// element is, the device map (and the rules of moves/stored.h) on which part each of these places
// is, and the offset where the slots of the place begin there:
//
//     byte of (place, slot) = offset(part) + layer·round_up(shard bytes, alignment) + byte of slot
//
// where places that a device map stacks on one part are its layers 0, 1, ...  Every place of the
// mesh has all slots that the layout allocates, so memory plans use SizeRule::allocated. A buffer
// may be restricted to a box of places: then others have no memory for it.
//
//     [6, 8] f32 on Grid(2, 2) at offset 128 of wse2's sram: place 3, which is PE (1, 1), has 3x4
//     elements; element (3, 4) of the tensor is its slot 0, bytes [128, 132) of part 751.
//
// Buffers that live at the same time never share a byte, unless one is an alias of the other.
//
// What is read must have been written. A device in checked mode knows for every element whether it
// was, and answers with an error that names the tensor, the place and the offset when something
// reads what was never written, goes outside a buffer, or past the memory of a place. Memory that
// belongs to no buffer, and padding that nobody has filled, is poisoned with bytes 0xFF, which are
// a NaN in every float type, so that code that reads it through an address shows. Unchecked, a
// device checks ranges but not what was written.
//
// Law: after any sequence of writes, moves and transfers, each element of each buffer reads as the
// last value written to it, whatever happened to other buffers.
// =================================================================================================
// clang-format on

/// One buffer of a device. Ids are never used again.
enum class BufferId : std::uint32_t {};

/// Offsets from a memory plan: one for all parts, or one for each class of parts.
struct Offsets {
  std::int64_t same = 0;  ///< in bytes from the start of the data budget
  /// If not empty: offset by_class[class_of[place]], where `class_of` has an entry for each place
  /// of the machine, row-major. Only for memories per place.
  std::vector<std::int64_t> by_class = {};
  std::shared_ptr<const std::vector<std::uint32_t>> class_of = nullptr;

  Offsets(std::int64_t offset = 0) : same(offset) {}  // NOLINT: a number is the same offset
};

/// A tensor that is to be placed.
struct BufferSpec {
  std::string name;      ///< of the tensor, for errors
  Placement placement;   ///< its places are places of the machine, by coordinates or by number
  std::string space;     ///< the memory; empty: the one that the layout names, else data_space
  Offsets offsets = {};  ///< multiples of the memory's alignment
  /// Shares memory with this live buffer: a view, or an output that is computed in place. What was
  /// written through one is written for the other. The memory is freed with the last of them.
  std::optional<BufferId> alias = std::nullopt;
  /// Only these coordinates of the placement's mesh have memory for it; default: all. For layouts
  /// in memories of places, whose coordinates are those of the machine.
  std::optional<Box> places = std::nullopt;
};

/// A buffer as it is on the device.
struct BufferFacts {
  std::string name;
  /// Its places and slots are those that the functions below take: the placement as it was
  /// specified or, where pages are interleaved over banks, one with a place for each page.
  Placement placement;
  Placement on_parts;                ///< the same on the numbers of parts (moves/stored.h)
  std::size_t space = 0;             ///< index in Machine::memory
  std::int64_t shard_bytes = 0;      ///< of one place
  std::int64_t allocated_bytes = 0;  ///< of all places, each rounded up to the alignment
  /// Where each coordinate is one of the machine, and has a memory: the places that have the
  /// buffer.
  std::optional<Box> places = {};
};

/// One loop of a box of slots.
struct SlotLoop {
  std::int64_t extent = 1;
  std::int64_t stride = 1;  ///< in slots; may be negative
  friend bool operator==(const SlotLoop&, const SlotLoop&) = default;
};

/// The slots first + Σ i·stride of one place, the last loop fastest. No loops: one slot.
/// Example: rows 1 and 2 of a 4x8 shard, columns 0 to 3: first 8, loops 2 (8) and 4 (1).
struct SlotBox {
  std::int64_t first = 0;
  std::span<const SlotLoop> loops = {};
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const SlotLoop& loop : loops) n *= loop.extent;
    return n;
  }
};

/// How much of a device's memory is in use.
struct MemoryUse {
  std::int64_t buffers = 0;          ///< that are live
  std::int64_t allocated_bytes = 0;  ///< of these buffers
  std::int64_t peak_bytes = 0;       ///< one past the highest byte that any buffer had on a part
  std::int64_t resident_bytes = 0;   ///< of host memory behind the device, tables of checked mode
                                     ///< included
};

/// What goes through the border of the device at a time: slots [first_slot, first_slot + slots) of
/// some places, padding included. The data are place after place, as they are in memory; with
/// `words`, each element of 16 bits is in a word of 32 bits of its own, in the lower half.
struct BorderCall {
  std::span<const std::int64_t> places;
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
  bool words = false;
};

/// A buffer while Device::in_place runs, at addresses that the host uses like those of its own
/// memory.
class PinnedBuffer {
 public:
  virtual ~PinnedBuffer() = default;
  PinnedBuffer() = default;
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  /// Slot 0 of a place that the buffer has. Nothing is checked, nor does anything count as written.
  virtual std::byte* address(std::int64_t place) const = 0;
  /// As in Device, without looking the buffer up each time.
  virtual Result<const std::byte*> input(std::int64_t place, const SlotBox& box) const = 0;
  virtual Result<std::byte*> output(std::int64_t place, const SlotBox& box) = 0;
};

/// See the essay above. Places are numbers on the buffer's own mesh, row-major.
///
/// Threads: every function may be called from several threads at a time, except that no two of them
/// may write the same byte, and none may read what another writes. Addresses are valid until their
/// buffer is released.
class Device {
 public:
  virtual ~Device() = default;
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  virtual const Machine& machine() const = 0;
  virtual bool checked() const = 0;

  /// Places a buffer. Nothing of it is written yet, except what its alias has written.
  /// Errors: kUnknownName for a memory that the machine does not have; those of on_endpoints
  /// (moves/stored.h) for places that it does not have; kBadAlignment; kDoesNotFit, which names the
  /// place and how many bytes are missing; kBadBuffer for a range that a live buffer has, which
  /// names both; kOutOfRange for classes that do not match, and for places that the mesh does not
  /// have; kNotSupported for places of another placement or memory; kOutOfMemory.
  virtual Result<BufferId> add(BufferSpec spec) = 0;
  /// Frees a buffer. kBadBuffer for one that does not exist (any more).
  virtual Status release(BufferId buffer) = 0;
  /// Null for a buffer that does not exist.
  virtual std::shared_ptr<const BufferFacts> find(BufferId buffer) const = 0;

  /// Copies the elements of a box, packed in the order of its loops. Elements smaller than a byte
  /// are packed from the lowest bits up; of block floats, boxes consist of whole tiles.
  /// Errors: kBadBuffer; kOutOfRange for a place or slot that the buffer does not have, for data of
  /// another size and for elements that were never written (see `forget`); kNotSupported for boxes
  /// that divide tiles of block floats.
  virtual Status read(BufferId buffer, std::int64_t place, const SlotBox& box,
                      std::span<std::byte> to) const = 0;
  virtual Status write(BufferId buffer, std::int64_t place, const SlotBox& box,
                       std::span<const std::byte> from) = 0;

  /// For kernels: the address of slot 0 of a place, to read the slots of the box; or to write all
  /// of them, which then count as written. The same errors. Slots outside the box are not for the
  /// caller.
  virtual Result<const std::byte*> input(BufferId buffer, std::int64_t place,
                                         const SlotBox& box) const = 0;
  virtual Result<std::byte*> output(BufferId buffer, std::int64_t place, const SlotBox& box) = 0;

  /// Whether the host has the memory of the device in its own address space, for `in_place`.
  virtual bool is_addressable() const { return false; }
  /// Calls `use` with these buffers. None of them is released before it returns, and no buffer is
  /// added: it must not wait for that, nor call other functions of the device. Threads may share
  /// what it gets. Errors: kBadBuffer; those of `use`; kNotSupported unless is_addressable().
  using UseInPlace = std::function<Status(std::span<PinnedBuffer* const> pinned)>;
  virtual Status in_place(std::span<const BufferId> /*buffers*/, const UseInPlace& /*use*/) {
    return Error{ErrorCode::kNotSupported, "the host cannot address the memory of this device"};
  }

  /// Bytes through the border, for transfers. What is sent does not count as written: `output` says
  /// which of it are elements. What is received is not checked: `input` does that. kNotSupported
  /// for words of other than 16 bits, and for slots that do not begin at a byte.
  virtual Status send(BufferId buffer, const BorderCall& call, std::span<const std::byte> data) = 0;
  virtual Status receive(BufferId buffer, const BorderCall& call,
                         std::span<std::byte> data) const = 0;

  /// All elements become unwritten, as when the buffer was placed: for what a failed move or
  /// transfer has left. Reading them is an error, in checked mode until they are written again,
  /// otherwise until any of them is.
  virtual Status forget(BufferId buffer) = 0;

  virtual MemoryUse use() const = 0;
};

/// The bytes of each part of one memory that a plan uses.
struct PlannedSpace {
  std::string space;
  std::int64_t bytes = 0;  ///< at most the data budget
};

struct DeviceOptions {
  bool checked = false;
  /// What a memory plan needs of each part (its peak). Offsets beyond are refused, and parts are
  /// this far apart in host memory, so that small tensors on many places share pages. Memories that
  /// are not listed have their whole data budget.
  std::vector<PlannedSpace> planned = {};
  /// The data budget of memories whose size is not published.
  std::int64_t unpublished_bytes = std::int64_t{1} << 36;
};

/// A device inside this process. Each memory is one reservation of address space, part after part,
/// in which pages become resident when they are first written: a wafer of 745,500 places costs what
/// its tensors cost.
/// Errors: a machine that `check` rejects; kUnknownName and kDoesNotFit for planned spaces.
///
/// Example:
///     TESSERA_TRY(const Machine* const wafer, find_machine("wse2"));
///     TESSERA_TRY(const std::unique_ptr<Device> device, make_embedded(*wafer, {.checked = true}));
///     TESSERA_TRY(const BufferId x, device->add({.name = "x", .placement = layout, .space = ""}));
///     TESSERA_CHECK_OK(device->write(x, 0, {.first = 0}, bytes_of(1.5F)));
Result<std::unique_ptr<Device>> make_embedded(const Machine& machine,
                                              const DeviceOptions& options = {});

}  // namespace tessera::device
