// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"

/// target/: descriptions of machines. Input is JSON text; output is a Machine, and
/// whether a layout fits it (fit.h). All other folders read machine figures from here and define
/// none of their own. No files, no threads, no notations.
///
/// A figure that is not published is absent (std::optional), never 0. Sizes are in bytes; where
/// text rounds them, 1 KB is 1024 bytes.
namespace tessera::target {

/// How the places of a mesh level are connected.
enum class Network : std::uint8_t {
  kMesh,   ///< each place is connected to its neighbours along every axis
  kTorus,  ///< a mesh whose ends are connected
  kRing,   ///< all places in one ring
  kNoc,    ///< a network on chip; the description does not specify routes
};
/// "mesh", "torus", "ring", "noc".
std::string_view network_name(Network network);

/// The cost of moving data between the places of one mesh level.
struct Links {
  Network network = Network::kMesh;
  std::vector<std::string> ports;              ///< of one place: north, .., ramp; often not given
  std::optional<std::int64_t> hop_cycles;      ///< from a place to its neighbour
  std::optional<std::int64_t> bits_per_cycle;  ///< through one link in one direction
  std::optional<std::int64_t> ramp_cycles;     ///< between a processor and its router, one way
  friend bool operator==(const Links&, const Links&) = default;
};

/// One level of the mesh: the devices of a box, the cores of a device.
struct MeshLevel {
  std::string name;
  std::vector<std::int64_t> extents;  ///< places along each axis, rows before columns
  std::vector<std::string> axes;      ///< names of the coordinates; empty if not given
  std::optional<Links> links;
  friend bool operator==(const MeshLevel&, const MeshLevel&) = default;
};

/// A part of a memory that is not for tensors. Any name is allowed; planners know these: "code",
/// "stack", "routing" (tables, if they are not part of the code), "transform_staging",
/// "receive_queues" and "double_buffers" (memory for these that an op needs and the reserve covers
/// does not count against the data budget).
struct Reserve {
  std::string name;
  std::int64_t bytes = 0;
  friend bool operator==(const Reserve&, const Reserve&) = default;
};

/// A memory that can store tensors.
struct MemorySpace {
  enum class Owner : std::uint8_t {
    kPlace,   ///< one per place
    kBank,    ///< `banks` memories that belong to no place
    kShared,  ///< one for all places
  };
  std::string name;  ///< as in layouts: "l1", "dram"
  Owner owner = Owner::kPlace;
  std::optional<std::int64_t> banks;  ///< how many; present exactly if `owner` is kBank
  std::optional<std::int64_t> bytes;  ///< of one place, of one bank, or of the shared memory
  std::vector<Reserve> reserved;      ///< parts of `bytes` that are not for data
  /// Bytes for data, if known although the use of the rest is unknown.
  std::optional<std::int64_t> usable_bytes;
  std::int64_t align_bytes = 1;  ///< the start and size of every buffer are multiples of this

  /// The data budget: `usable_bytes` if given, else `bytes` minus the reserves, at least 0. Empty
  /// if the size is not published. Example: 48 KB - 8 KB code - 4 KB stack = 36864.
  std::optional<std::int64_t> data_bytes() const;
  /// Bytes of the reserve with this name; 0 if there is none.
  std::int64_t reserved_bytes(std::string_view reserve_name) const;
  friend bool operator==(const MemorySpace&, const MemorySpace&) = default;
};
/// "place", "bank", "shared".
std::string_view owner_name(MemorySpace::Owner owner);

/// Rows and columns of the tiles that the machine computes on.
struct TileSize {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  friend bool operator==(const TileSize&, const TileSize&) = default;
};

/// The mesh inside the whole fabric, in the vendor's coordinates: x counts columns, y counts rows.
/// cerebras.h converts the coordinates.
struct Fabric {
  std::int64_t offset_x = 0;  ///< columns west of the mesh
  std::int64_t offset_y = 0;  ///< rows north of the mesh
  std::int64_t width = 0;     ///< columns of the whole fabric
  std::int64_t height = 0;    ///< rows of the whole fabric
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

/// What the machine requires of programs and layouts.
struct Rules {
  std::optional<std::int64_t> wavelet_bits;    ///< payload of the smallest message
  std::optional<std::int64_t> colours;         ///< routes that a router can distinguish
  std::vector<std::int64_t> reserved_colours;  ///< increasing; not for programs
  std::optional<Fabric> fabric;
  std::optional<TileSize> tile;
  std::optional<std::int64_t> stick_bytes;       ///< the unit in which tensors are stored
  std::optional<std::int64_t> span_limit_bytes;  ///< of one tensor that one place may address
  friend bool operator==(const Rules&, const Rules&) = default;
};

/// All places from `from` to `to`, both included, on every axis of every level.
struct PlaceRange {
  Place from;
  Place to;
  bool contains(const Place& place) const;
  friend bool operator==(const PlaceRange&, const PlaceRange&) = default;
};

/// The source or the meaning of a figure.
struct Note {
  std::string about;  ///< the field, as a path: "/memory/0/bytes"
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

/// A machine: places on a mesh of one or more levels, memories, links, rules.
///
/// A place has one coordinate per axis of each level, outermost level first: with 2 devices of 8x8
/// cores, {1, 3, 5} is core (3, 5) of device 1.
/// Example: wse2 has one level of 994x750, and `sram` of 49152 bytes per place, 36864 of them for
/// data.
struct Machine {
  std::string name;
  std::string title;                     ///< one line for lists
  std::vector<MeshLevel> mesh;           ///< outermost first
  std::optional<std::int64_t> clock_hz;  ///< of places and links
  std::vector<MemorySpace> memory;       ///< at least one
  std::string data_space;                ///< the memory of tensors whose layout names none
  Rules rules;
  std::vector<PlaceRange> dead;  ///< places that do not work; ranges may overlap
  std::vector<Note> notes;
  friend bool operator==(const Machine&, const Machine&) = default;

  /// Checks that every figure is in range, names are distinct and plain, nothing contradicts
  /// anything else, and no number of places or bytes overflows. Errors name the field:
  /// "/memory/0/bytes: ..".
  Status check() const;

  // Only for machines that `check` accepts.

  /// The extents of all levels, concatenated.
  Shape shape() const;
  std::int64_t places() const { return shape().elements(); }
  const MemorySpace* find_space(std::string_view space_name) const;  ///< or null
  const MemorySpace& default_space() const { return *find_space(data_space); }
  bool is_dead(const Place& place) const;
  /// The row-major numbers of all dead places, increasing, each once.
  std::vector<std::int64_t> dead_places() const;
};

// Limits of a description. Real machines are far below them; hostile texts are not.
inline constexpr std::size_t kMaxMachineBytes = std::size_t{4} << 20;  ///< of JSON text
inline constexpr std::size_t kMaxMeshLevels = 8;
inline constexpr std::size_t kMaxLevelAxes = 8;
inline constexpr std::size_t kMaxMemorySpaces = 32;
inline constexpr std::size_t kMaxReserves = 32;  ///< of one memory
inline constexpr std::size_t kMaxPorts = 64;
inline constexpr std::size_t kMaxNotes = 256;
inline constexpr std::int64_t kMaxColours = 4096;
inline constexpr std::size_t kMaxDeadRanges = std::size_t{1} << 16;
inline constexpr std::int64_t kMaxDeadPlaces = std::int64_t{1} << 20;  ///< of all ranges together
inline constexpr std::size_t kMaxNameBytes = 64;
inline constexpr std::size_t kMaxNoteBytes = 4096;  ///< of a title, path or note

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
using target::Machine;
using target::machines;
using target::parse_machine;
}  // namespace tessera
