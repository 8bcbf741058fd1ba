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
/// A figure that is not known is absent (std::optional), never 0. Sizes are in bytes; where text
/// rounds them, 1 KB is 1024 bytes. GB per second and GHz are powers of ten.
namespace tessera::target {

/// How the routers of a mesh level are connected.
enum class NetworkKind : std::uint8_t {
  kMesh,      ///< each router is connected to its neighbours along every axis
  kTorus,     ///< a mesh whose ends are connected
  kRing,      ///< all routers in one ring, in row-major order
  kAllToAll,  ///< a link from every router to every other
  kNoc,       ///< a network on chip; the description does not specify routes
};
/// "mesh", "torus", "ring", "all_to_all", "noc".
std::string_view network_name(NetworkKind kind);

/// The directions that the links of one axis have.
enum class Way : std::uint8_t {
  kBoth,  ///< a route takes the shorter way, on a tie the one to larger coordinates
  kUp,    ///< only from smaller to larger coordinates, and around the end
  kDown,  ///< only from larger to smaller coordinates, and around the end
};
/// "both", "up", "down".
std::string_view way_name(Way way);

/// One of the networks that connect the routers of a mesh level. Routes are deterministic: they
/// take one axis after the other.
struct Network {
  std::string name;  ///< "noc0"; may be empty if it is the only network of its level
  NetworkKind kind = NetworkKind::kMesh;
  std::vector<std::string> ports;  ///< of one place: north, .., ramp; often not given
  /// The axes in the order in which routes take them; only of meshes and tori. Empty: the last axis
  /// first, so that rows x columns is XY routing.
  std::vector<std::int64_t> route;
  /// Of each axis (of a ring: one). Empty: both. Only tori and rings have other ways.
  std::vector<Way> ways;
  std::optional<double> hop_cycles;        ///< from a router to its neighbour
  std::optional<double> bits_per_cycle;    ///< through one link in one direction
  std::optional<double> ramp_cycles;       ///< between a processor and its router, one way
  std::optional<double> hop_seconds;       ///< instead of hop_cycles: links with their own clock
  std::optional<double> bytes_per_second;  ///< instead of bits_per_cycle
  std::int64_t links = 1;                  ///< parallel links between two neighbours
  /// The largest payload of a packet. Every packet also has a header of bits_per_cycle.
  std::optional<std::int64_t> packet_bytes;
  friend bool operator==(const Network&, const Network&) = default;
};

/// How a processor moves data over a network: by n transactions of b bytes each, which take
///
///     overhead + hops · hop_cycles + max((n - 1) · issue, n · b / bytes_per_cycle)    cycles
///
/// `hops` counts the request and the answer: a one-way torus carries the answer around the rest of
/// the ring. The ramps are part of the overhead. A multicast also takes `receiver_cycles` for the
/// acknowledgement of each receiver, another mechanism for the address of each if it goes through
/// several.
struct Mechanism {
  /// "read", "write", "multicast", "multicast_linked"; "read_stateful" and "read_dram" are kinds of
  /// "read": with the address set up once, and from the banks of a memory.
  std::string name;
  std::string network;  ///< the name of its network, empty for the only one
  std::optional<double> overhead_cycles;
  std::optional<double> issue_cycles;
  std::optional<double> bytes_per_cycle;
  std::optional<double> receiver_cycles;
  friend bool operator==(const Mechanism&, const Mechanism&) = default;
};

/// The routers of a level, where they are more than its places.
struct Routers {
  std::vector<std::int64_t> extents;  ///< routers along each axis
  /// For each axis, the router coordinate of each place coordinate, increasing. A row that was
  /// harvested is left out, which shifts all routes.
  /// Example: the 8 columns of Wormhole's workers are at {1, 2, 3, 4, 6, 7, 8, 9} of 10.
  std::vector<std::vector<std::int64_t>> places;
  friend bool operator==(const Routers&, const Routers&) = default;
};

/// Where the links of a level, in one direction, meet the routers of the next inner level. Link i
/// connects router i of a device's gateway with router i of the opposite gateway of its neighbour.
struct Gateway {
  std::int64_t axis = 0;       ///< of a ring: 0
  Way way = Way::kUp;          ///< kUp or kDown: towards the neighbour with that coordinate
  std::vector<Place> routers;  ///< of the inner level, one for each link of the first network
  friend bool operator==(const Gateway&, const Gateway&) = default;
};

/// One level of the mesh: the devices of a box, the cores of a device.
struct MeshLevel {
  std::string name;
  std::vector<std::int64_t> extents;  ///< places along each axis, rows before columns
  std::vector<std::string> axes;      ///< names of the coordinates; empty if not given
  std::optional<Routers> routers;     ///< if absent, every place has a router
  std::vector<Network> networks;      ///< empty: not known how places are connected
  std::vector<Mechanism> mechanisms;  ///< empty: words flow as soon as they are ready
  std::vector<Gateway> gateways;  ///< never of the innermost level; both ways of an axis, or none
  friend bool operator==(const MeshLevel&, const MeshLevel&) = default;

  /// Routers along each axis: those of `routers`, or `extents`.
  const std::vector<std::int64_t>& router_extents() const {
    return routers ? routers->extents : extents;
  }
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

/// How fast a memory is, in cycles of the machine's clock or in seconds; at most one is given.
struct Bandwidth {
  std::optional<double> bytes_per_cycle;
  std::optional<double> bytes_per_second;
  bool known() const { return bytes_per_cycle || bytes_per_second; }
  friend bool operator==(const Bandwidth&, const Bandwidth&) = default;
};

/// A memory that can store tensors.
struct MemorySpace {
  enum class Owner : std::uint8_t {
    kPlace,   ///< one per place
    kBank,    ///< `banks` memories that belong to no place; where there are several levels, each
              ///< place of the outer levels (a device) has `banks` of them
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
  // Of one place, one bank, or the shared memory, as the memory sees it: what goes from the host to
  // a device is read from the host's memory.
  Bandwidth read;
  Bandwidth write;
  /// Reads and writes in equal parts, both counted. Unknown: they do not slow each other down.
  Bandwidth mixed;
  /// The routers of the innermost level at which the memory is reached: for each bank (a shared
  /// memory counts as one) a list of alternatives, of which a message takes the nearest. Never of a
  /// memory per place. A router of a shared memory may also name its device, with the coordinates
  /// of all levels; otherwise every device has one.
  std::vector<std::vector<Place>> at;

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

/// Arithmetic of one place.
struct ComputeRate {
  std::string unit;   ///< "matrix" (multiply-adds), "elementwise", "reduce", "vector"
  std::string dtype;  ///< of the operands, as in tensors: "bf16"; empty: any
  std::string mode;   ///< such as "hifi4"; empty: the only one
  double per_cycle = 1;
  friend bool operator==(const ComputeRate&, const ComputeRate&) = default;
};

/// How a figure is known.
enum class Evidence : std::uint8_t { kPublished, kMeasured, kFitted, kAssumed };
/// "published", "measured", "fitted", "assumed".
std::string_view evidence_name(Evidence evidence);

/// The source or the meaning of a figure.
struct Note {
  /// The field, as a path: "/memory/0/bytes"; "/" is the whole machine. "/mesh/0/links" is the same
  /// as "/mesh/0/networks/0".
  std::string about;
  std::string text;                  ///< may be empty
  std::optional<Evidence> evidence;  ///< of the field and of everything inside it
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
  std::optional<std::int64_t> clock_hz;  ///< of places, and of links without a clock of their own
  std::vector<MemorySpace> memory;       ///< at least one
  std::string data_space;                ///< the memory of tensors whose layout names none
  std::vector<ComputeRate> compute;
  std::optional<double> op_gap_seconds;  ///< between the end of an op and the start of the next
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
  /// How the figure at a path is known: by the note about the longest prefix of the path that says
  /// so. Empty: not stated.
  /// Example: a note about "/memory/1" says so of "/memory/1/bytes", not of "/memory/10".
  std::optional<Evidence> evidence(std::string_view path) const;
  /// Bytes per cycle of the machine's clock; empty if it takes a figure that is unknown.
  std::optional<double> per_cycle(const Bandwidth& bandwidth) const;
  /// The cycles in which a memory of this machine reads and writes so many bytes; empty if it takes
  /// a figure that is unknown. With `mixed`, equal parts of both take that and the rest its own
  /// bandwidth; without, the slower of both decides.
  /// Example: read = write = 150, mixed = 105 bytes per cycle: 300 read take 2 cycles, 210 read and
  /// 210 written take 4.
  std::optional<double> memory_cycles(const MemorySpace& space, double read_bytes,
                                      double written_bytes) const;
  /// The number of devices: places of all levels but the innermost.
  std::int64_t devices() const;
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
inline constexpr std::size_t kMaxNetworks = 16;    ///< of one level
inline constexpr std::size_t kMaxMechanisms = 16;  ///< of one level
inline constexpr std::size_t kMaxComputeRates = 256;
inline constexpr std::int64_t kMaxLinks = 4096;     ///< parallel ones
inline constexpr std::int64_t kMaxBanks = 4096;     ///< for which routers are listed
inline constexpr std::size_t kMaxRoutersAt = 4096;  ///< of one bank or shared memory
/// Figures that are not whole numbers are 0, where that makes sense, or in this range.
inline constexpr double kMinFigure = 1e-20;
inline constexpr double kMaxFigure = 1e20;
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

/// The machines that Tessera knows, ordered by name: blackhole, spyre, wormhole, wormhole-8,
/// wormhole-n300, wse2, wse3.
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
