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

/// target/: what machines are like. JSON text comes in (machine_json.h); a Machine goes out, and
/// whether a layout fits it (fit.h). Every other room reads its machine figures here and has none
/// of its own. No files, no threads, no notations.
///
/// A figure that is not published is absent (std::optional), never 0. Sizes are in bytes; where
/// words round them, 1 KB is 1024 bytes.
namespace tessera::target {

/// How the places of a mesh level are joined.
enum class Network : std::uint8_t {
  kMesh,   ///< each place to its neighbours along every axis
  kTorus,  ///< a mesh whose ends are joined
  kRing,   ///< all places in one circle
  kNoc,    ///< a network on chip whose routes the description does not fix
};
/// "mesh", "torus", "ring", "noc".
std::string_view network_name(Network network);

/// What it costs to move data between the places of one mesh level.
struct Links {
  Network network = Network::kMesh;
  std::vector<std::string> ports;              ///< of one place: north, .., ramp; often unsaid
  std::optional<std::int64_t> hop_cycles;      ///< from a place to its neighbour
  std::optional<std::int64_t> bits_per_cycle;  ///< through one link in one direction
  std::optional<std::int64_t> ramp_cycles;     ///< between a processor and its router, one way
  friend bool operator==(const Links&, const Links&) = default;
};

/// One level of the mesh: the devices of a box, the cores of a device.
struct MeshLevel {
  std::string name;
  std::vector<std::int64_t> extents;  ///< places along each axis, rows before columns
  std::vector<std::string> axes;      ///< what the coordinates are called; empty when unsaid
  std::optional<Links> links;
  friend bool operator==(const MeshLevel&, const MeshLevel&) = default;
};

/// A part of a memory that is not for tensors. Names are free; planners know these: "code",
/// "stack", "routing" (tables, where they are not part of the code), "transform_staging",
/// "receive_queues" and "double_buffers" (what an op needs of these and the reserve covers takes
/// nothing of the data budget).
struct Reserve {
  std::string name;
  std::int64_t bytes = 0;
  friend bool operator==(const Reserve&, const Reserve&) = default;
};

/// A memory that tensors can live in.
struct MemorySpace {
  enum class Owner : std::uint8_t {
    kPlace,   ///< every place has one
    kBank,    ///< `banks` of them, which belong to no place
    kShared,  ///< one for all places
  };
  std::string name;  ///< as layouts say it: "l1", "dram"
  Owner owner = Owner::kPlace;
  std::optional<std::int64_t> banks;  ///< how many; said exactly when `owner` is kBank
  std::optional<std::int64_t> bytes;  ///< of one place, of one bank, or of all that is shared
  std::vector<Reserve> reserved;      ///< what of `bytes` is taken, and by what
  /// Bytes for data, where they are known without knowing what takes the rest.
  std::optional<std::int64_t> usable_bytes;
  std::int64_t align_bytes = 1;  ///< every buffer begins at a multiple of this and fills whole ones

  /// The data budget: `usable_bytes` where said, else `bytes` less what is reserved, at least 0;
  /// nothing when the size is not published. Example: 48 KB - 8 KB code - 4 KB stack = 36864.
  std::optional<std::int64_t> data_bytes() const;
  /// Bytes reserved under a name; 0 when there is no such reserve.
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
/// See cerebras.h for the way across.
struct Fabric {
  std::int64_t offset_x = 0;  ///< columns west of the mesh
  std::int64_t offset_y = 0;  ///< rows north of the mesh
  std::int64_t width = 0;     ///< columns in all
  std::int64_t height = 0;    ///< rows in all
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

/// What the machine demands of programs and layouts.
struct Rules {
  std::optional<std::int64_t> wavelet_bits;    ///< payload of the smallest message
  std::optional<std::int64_t> colours;         ///< routes that a router can tell apart
  std::vector<std::int64_t> reserved_colours;  ///< rising; not for programs
  std::optional<Fabric> fabric;
  std::optional<TileSize> tile;
  std::optional<std::int64_t> stick_bytes;       ///< the unit in which tensors are stored
  std::optional<std::int64_t> span_limit_bytes;  ///< most that one place may reach of one tensor
  friend bool operator==(const Rules&, const Rules&) = default;
};

/// All places from `from` to `to`, both included, on every axis of every level.
struct PlaceRange {
  Place from;
  Place to;
  bool contains(const Place& place) const;
  friend bool operator==(const PlaceRange&, const PlaceRange&) = default;
};

/// Where a figure comes from or how it is meant.
struct Note {
  std::string about;  ///< the field, as a path: "/memory/0/bytes"
  std::string text;
  friend bool operator==(const Note&, const Note&) = default;
};

/// A machine: places on a mesh of one or more levels, memories, links, rules.
///
/// A place is one coordinate for each axis of each level, outermost level first: with 2 devices of
/// 8x8 cores, {1, 3, 5} is core (3, 5) of device 1.
/// Example: wse2 has one level of 994x750, and `sram` of 49152 bytes a place, 36864 for data.
struct Machine {
  std::string name;
  std::string title;                     ///< one line for lists
  std::vector<MeshLevel> mesh;           ///< outermost first
  std::optional<std::int64_t> clock_hz;  ///< of places and links
  std::vector<MemorySpace> memory;       ///< at least one
  std::string data_space;                ///< where tensors live unless their layout says otherwise
  Rules rules;
  std::vector<PlaceRange> dead;  ///< places that do not work; ranges may overlap
  std::vector<Note> notes;
  friend bool operator==(const Machine&, const Machine&) = default;

  /// Every figure is in range, names are distinct and plain, nothing contradicts anything else, and
  /// no number of places or bytes overflows. Errors name the field: "/memory/0/bytes: ..".
  Status check() const;

  // Only for machines that `check` accepts.

  /// The extents of all levels in a row.
  Shape shape() const;
  std::int64_t places() const { return shape().elements(); }
  const MemorySpace* find_space(std::string_view space_name) const;  ///< or null
  const MemorySpace& default_space() const { return *find_space(data_space); }
  bool is_dead(const Place& place) const;
  /// The row-major numbers of all dead places, rising, each once.
  std::vector<std::int64_t> dead_places() const;
};

// Limits of a description. Real machines stay far below them; hostile texts do not.
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

}  // namespace tessera::target

namespace tessera {
using target::Machine;
}  // namespace tessera
