// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/packets.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/jobs/flat_nest.h"
#include "tessera/reshard/part.h"

namespace tessera::exchange {
namespace {

/// Data are aligned to cache lines, also those of the second slab of a packet.
std::int64_t line_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

/// The number of elements that `bytes` bytes hold.
std::int64_t elements_in(std::int64_t bytes, const Atom& atom) {
  if (is_block_float(atom.storage)) {
    return bytes / tile_bytes_32x32(atom.storage) * slot_grain(atom);
  }
  return bytes * 8 / dtype_bits(atom.storage).value_or(8);
}

std::optional<Reduction> reduction_of(const RankPlan& plan, const Parcel& parcel) {
  const reshard::Shares& shares = plan.reshard().parts()[parcel.part].shares;
  return shares.reduces() ? std::optional(shares.reduction) : std::nullopt;
}

/// The first slot of a place in the memory of its rank.
std::int64_t first_slot(const RankSide& side, std::int64_t place) {
  return side.position(place) * side.memory.slots;
}

/// Cuts the parcels of one route into packets.
class RouteCutter {
 public:
  RouteCutter(const RankPlan& plan, const RankRoute& route, std::int64_t packet_bytes,
              std::vector<PacketPlan>& packets, std::vector<SlabMovers::Use>& uses)
      : plan_(plan),
        route_(route),
        packet_bytes_(packet_bytes),
        atom_(plan.from().memory.atom),
        packets_(packets),
        uses_(uses) {}

  /// Calls add(parcel, slab, start of its data in the packet), which appends the uses.
  template <typename Add>
  Status cut(const Add& add) {
    const std::int64_t most = elements_in(packet_bytes_ - PacketHeader::kBytes, atom_);
    if (most < slot_grain(atom_)) {
      return Error{ErrorCode::kOutOfRange,
                   cat("packets of ", packet_bytes_, " bytes have no room for data"), std::nullopt,
                   "use larger packets"};
    }
    const std::int64_t grain = is_block_float(atom_.storage) ? slot_grain(atom_) : 1;
    const std::int64_t width = dtype_bits(atom_.storage).value_or(0) / 8;
    for (const Parcel& parcel : plan_.parcels(route_)) {
      const ParcelShape shape = ParcelShape::of(plan_.flows(parcel), plan_.groups(parcel), width);
      const auto take = [&](const Slab& slab) -> Status {
        const std::int64_t bytes = plan_.reshard().bytes(slab.elements);
        const std::int64_t at = room_for(bytes);
        TESSERA_CHECK_OK(add(parcel, slab, at));
        PacketPlan& packet = packets_.back();
        packet.count = uses_.size() - packet.first;
        packet.bytes = at + bytes;
        packet.moved_bytes += bytes * parcel.destinations;
        return ok_status();
      };
      TESSERA_CHECK_OK(for_each_slab(shape, most, grain, take));
    }
    return ok_status();
  }

 private:
  /// The position of the next data, in this packet or a new one.
  std::int64_t room_for(std::int64_t bytes) {
    if (open_) {
      const std::int64_t at = line_up(packets_.back().bytes);
      if (at + bytes <= packet_bytes_) return at;
    }
    open_ = true;
    packets_.push_back({route_.rank, index_++, PacketHeader::kBytes, uses_.size(), 0, 0});
    return PacketHeader::kBytes;
  }

  const RankPlan& plan_;
  const RankRoute& route_;
  const std::int64_t packet_bytes_;
  const Atom atom_;
  std::vector<PacketPlan>& packets_;
  std::vector<SlabMovers::Use>& uses_;
  bool open_ = false;
  std::int64_t index_ = 0;
};

/// Packets are listed one by one: a rank may have as many as can be planned in seconds.
Status check_count(const RankPlan& plan, std::int64_t packet_bytes) {
  constexpr std::int64_t kMostPackets = std::int64_t{1} << 23;
  const std::int64_t most = std::max<std::int64_t>(
      elements_in(packet_bytes - PacketHeader::kBytes, plan.from().memory.atom), 1);
  Checked count(0);
  const auto add = [&](const RankRoute& route) { count += route.elements / most + 1; };
  add(plan.local());
  for (const RankRoute& route : plan.sends()) add(route);
  for (const RankRoute& route : plan.receives()) add(route);
  if (count.saturated() <= kMostPackets) return ok_status();
  return Error{
      ErrorCode::kTooLarge,
      cat(count.saturated(), " packets of ", packet_bytes, " bytes are more than ", kMostPackets),
      std::nullopt, "use more ranks, or larger packets"};
}

/// Elements of block floats have no address: they move as whole tiles.
Status check_tiles(const relayout::Program& program) {
  const Atom& atom = program.to.atom;
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const relayout::FlatNest nest = relayout::flatten(program.nest(i), program.from, program.to);
    if (relayout::in_tiles(nest, atom.elements(), tile_bytes_32x32(atom.storage))) continue;
    return Error{ErrorCode::kNotSupported,
                 cat("tiles of ", dtype_name(atom.storage), " are split between ranks"),
                 std::nullopt, "shard whole tiles of 32x32, or use a type with addresses"};
  }
  return ok_status();
}

/// Sorts packets in the order of the essay; `distance` is from this rank to a peer.
template <typename Distance>
void order(std::vector<PacketPlan>& packets, const Distance& distance) {
  std::sort(packets.begin(), packets.end(), [&](const PacketPlan& x, const PacketPlan& y) {
    return x.index != y.index ? x.index < y.index : distance(x.peer) < distance(y.peer);
  });
}

}  // namespace

Result<SlabMovers::Use> SlabMovers::add(const Slab& slab, SlabMove move, std::int64_t source,
                                        std::int64_t destination,
                                        std::optional<Reduction> reduction) {
  SlabAt at = slab_at(slab, move, atom_, source, destination);
  at.key.push_back(reduction ? 1 + static_cast<std::int64_t>(*reduction) : 0);
  const Use use{static_cast<std::uint32_t>(movers_.size()), *atom_.bytes(at.from_slot),
                *atom_.bytes(at.to_slot)};
  const auto [entry, is_new] = known_.try_emplace(at.key, use.mover);
  if (!is_new) return Use{entry->second, use.from_byte, use.to_byte};
  relayout::Program program = slab_program(slab, move, atom_, at);
  if (is_block_float(atom_.storage)) TESSERA_CHECK_OK(check_tiles(program));
  const std::int64_t from_bytes = program.from.bytes;
  const std::int64_t to_bytes = program.to.bytes;
  if (reduction) {
    TESSERA_TRY(relayout::Accumulate mover,
                relayout::Accumulate::make(std::move(program), *reduction));
    movers_.push_back({std::move(mover), from_bytes, to_bytes});
  } else {
    relayout::PlanOptions options;
    options.stores = stores_;
    options.part = true;
    TESSERA_TRY(relayout::Plan mover, relayout::Plan::make(std::move(program), options));
    movers_.push_back({std::move(mover), from_bytes, to_bytes});
  }
  return use;
}

Status SlabMovers::run(const Use& use, std::span<const std::byte> from, std::span<std::byte> to,
                       ThreadPool& pool) const {
  const Sized& sized = movers_[use.mover];
  const auto source = from.subspan(static_cast<std::size_t>(use.from_byte),
                                   static_cast<std::size_t>(sized.from_bytes));
  const auto destination =
      to.subspan(static_cast<std::size_t>(use.to_byte), static_cast<std::size_t>(sized.to_bytes));
  return std::visit([&](const auto& mover) { return mover.run(source, destination, pool); },
                    sized.mover);
}

Result<Packets> Packets::make(const RankPlan& plan, int ranks, std::int64_t packet_bytes,
                              SlabMovers& movers) {
  TESSERA_CHECK_OK(check_count(plan, packet_bytes));
  Packets made;
  for (const reshard::ReshardPart& part : plan.reshard().parts()) {
    made.combines = made.combines || part.shares.reduces();
  }
  for (const RankRoute& route : plan.sends()) {
    RouteCutter cutter(plan, route, packet_bytes, made.sends, made.uses);
    const auto add = [&](const Parcel& parcel, const Slab& slab, std::int64_t at) -> Status {
      TESSERA_TRY(SlabMovers::Use use,
                  movers.add(slab, SlabMove::kPack, first_slot(plan.from(), parcel.source), 0,
                             std::nullopt));
      use.to_byte += at;
      made.uses.push_back(use);
      return ok_status();
    };
    TESSERA_CHECK_OK(cutter.cut(add));
  }
  for (const RankRoute& route : plan.receives()) {
    RouteCutter cutter(plan, route, packet_bytes, made.receives, made.uses);
    const auto add = [&](const Parcel& parcel, const Slab& slab, std::int64_t at) -> Status {
      for (const std::int64_t place : plan.destinations(parcel)) {
        TESSERA_TRY(SlabMovers::Use use,
                    movers.add(slab, SlabMove::kUnpack, 0, first_slot(plan.to(), place),
                               reduction_of(plan, parcel)));
        use.from_byte += at;
        made.uses.push_back(use);
      }
      return ok_status();
    };
    TESSERA_CHECK_OK(cutter.cut(add));
  }
  RouteCutter cutter(plan, plan.local(), packet_bytes, made.local, made.uses);
  const auto add = [&](const Parcel& parcel, const Slab& slab, std::int64_t) -> Status {
    for (const std::int64_t place : plan.destinations(parcel)) {
      TESSERA_TRY(const SlabMovers::Use use,
                  movers.add(slab, SlabMove::kDirect, first_slot(plan.from(), parcel.source),
                             first_slot(plan.to(), place), reduction_of(plan, parcel)));
      made.uses.push_back(use);
    }
    return ok_status();
  };
  TESSERA_CHECK_OK(cutter.cut(add));
  const int me = plan.rank();
  order(made.sends, [&](int peer) { return (peer - me + ranks) % ranks; });
  order(made.receives, [&](int peer) { return (me - peer + ranks) % ranks; });
  return made;
}

Result<DirectReads> DirectReads::make(const RankPlan& plan, const std::vector<bool>& near,
                                      std::int64_t slab_bytes, SlabMovers& movers) {
  DirectReads made;
  for (const RankRoute& route : plan.receives()) {
    std::vector<PacketPlan>& packets = made.routes.emplace_back();
    if (!near[static_cast<std::size_t>(route.rank)]) continue;
    TESSERA_TRY(const RankSide source, plan.from_of(route.rank));
    RouteCutter cutter(plan, route, slab_bytes, packets, made.uses);
    const auto add = [&](const Parcel& parcel, const Slab& slab, std::int64_t) -> Status {
      for (const std::int64_t place : plan.destinations(parcel)) {
        TESSERA_TRY(const SlabMovers::Use use,
                    movers.add(slab, SlabMove::kDirect, first_slot(source, parcel.source),
                               first_slot(plan.to(), place), reduction_of(plan, parcel)));
        made.uses.push_back(use);
      }
      return ok_status();
    };
    TESSERA_CHECK_OK(cutter.cut(add));
  }
  return made;
}

}  // namespace tessera::exchange
