// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/simulation/dispatch.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/reshard/flows/expand.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/nearest.h"
#include "tessera/reshard/flows/walk.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {
namespace {

/// The offsets of the copies of B from the virtual number of the first.
Result<std::vector<std::int64_t>> copy_offsets(const Form& form, std::int64_t most) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet set =
        replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    const Checked count = Checked(static_cast<std::int64_t>(offsets.size())) * set.size();
    if (count.saturated() > most) {
      return Error{ErrorCode::kTooLarge, cat("elements have more than ", most, " copies in B"),
                   std::nullopt, "use cost_of instead, which does not list messages"};
    }
    std::vector<std::int64_t> more;
    more.reserve(static_cast<std::size_t>(count.raw()));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < set.size(); ++i)
        more.push_back(offset + set.at(i) * strides[axis]);
    }
    offsets = std::move(more);
  }
  return offsets;
}

/// One copy of an element in transit.
struct Arrow {
  PlacePart from;
  PlacePart to;
};

class Lister {
 public:
  Lister(Dispatches& out, const DispatchChoice& choice) : out_(out), choice_(choice) {}

  Status add(const ReshardPart& part, std::uint32_t number, const PhysicalMesh& physical) {
    part_ = &part;
    number_ = number;
    places_ = physical.mesh.elements();
    TESSERA_TRY(const Flows flows, flows_of(part, physical, {.shares = true, .copies = false}));
    TESSERA_TRY(offsets_, copy_offsets(part.b, choice_.most));
    TESSERA_TRY(nearest_, NearestSource::make(part.a, part.map_a, physical.mesh));
    const Checked work =
        Checked(flows.choices()) * static_cast<std::int64_t>(offsets_.size()) * nearest_.tries();
    if (work.saturated() > kMaxWork) return too_many();
    if (choice_.boxes) {
      Expansion<Lister> expansion(flows, *this);
      fits_ = fits_ && GroupWalk<Expansion<Lister>>(flows, expansion).all();
    } else {
      fits_ = fits_ && GroupWalk<Lister>(flows, *this).all();
    }
    return fits_ ? ok_status() : Status(too_many());
  }

  // A walk over pairs only.
  void enter(std::size_t, const SegmentGroup&) {}
  bool leave(const PairAt& pair) {
    wants(pair);
    return fits_;
  }

  /// Finds the dispatches to which the elements of a pair of first places belong.
  bool wants(const PairAt& pair) {
    arrows_.clear();
    for (const std::int64_t offset : offsets_) {
      const std::int64_t to = pair.destination.place + offset;
      const PlacePart destination{
          to, offset == 0 ? pair.destination.physical : part_->map_b.physical(to)};
      const PlacePart source = nearest_.nearest(pair.source, destination.physical);
      if (source.physical != destination.physical) arrows_.push_back({source, destination});
    }
    std::sort(arrows_.begin(), arrows_.end(), [](const Arrow& x, const Arrow& y) {
      return std::tie(x.from.physical, x.from.place, x.to.physical, x.to.place) <
             std::tie(y.from.physical, y.from.place, y.to.physical, y.to.place);
    });
    joined_.clear();
    for (std::size_t i = 0; i < arrows_.size();) {
      std::size_t end = i;
      while (end < arrows_.size() && arrows_[end].from.physical == arrows_[i].from.physical) ++end;
      join(i, end, pair.elements);
      i = end;
    }
    return !joined_.empty() && fits_;
  }

  bool take(const Transfer& transfer) {
    const auto first_loop = static_cast<std::uint32_t>(out_.loops.size());
    out_.loops.insert(out_.loops.end(), transfer.loops.begin(), transfer.loops.end());
    for (const Joined& joined : joined_) {
      if (static_cast<std::int64_t>(std::max(out_.boxes.size(), out_.loops.size() / 4)) >=
          choice_.most) {
        return fits_ = false;
      }
      out_.list[joined.dispatch].boxes.push_back(static_cast<std::uint32_t>(out_.boxes.size()));
      out_.boxes.push_back({joined.source_virtual, transfer.source_slot, transfer.destination_slot,
                            transfer.elements, transfer.share, number_, first_loop,
                            static_cast<std::uint32_t>(transfer.loops.size()), joined.first_target,
                            joined.target_count});
    }
    return true;
  }

 private:
  static constexpr std::int64_t kMaxWork = std::int64_t{1} << 32;

  struct Joined {
    std::size_t dispatch;
    std::int64_t source_virtual;
    std::uint32_t first_target;
    std::uint32_t target_count;
  };

  Error too_many() const {
    return Error{ErrorCode::kTooLarge,
                 cat("listing what travels takes more than ", choice_.most,
                     " messages, boxes or destinations"),
                 std::nullopt, "use cost_of instead, which does not list messages"};
  }

  /// Arrows [begin, end) leave one place: the elements are part of its dispatch to all their
  /// destinations.
  void join(std::size_t begin, std::size_t end, std::int64_t elements) {
    std::vector<std::int64_t> set;
    const auto first_target = static_cast<std::uint32_t>(out_.targets.size());
    for (std::size_t i = begin; i < end; ++i) {
      if (set.empty() || set.back() != arrows_[i].to.physical)
        set.push_back(arrows_[i].to.physical);
      if (choice_.boxes) out_.targets.push_back(arrows_[i].to.place);
    }
    const std::int64_t source = arrows_[begin].from.physical;
    std::size_t& number =
        set.size() == 1 ? pairs_[source * places_ + set[0]] : multicasts_[{source, set}];
    if (number == 0) {  // numbers start at 1
      const auto [at, fresh] = sets_.emplace(set, static_cast<std::uint32_t>(out_.sets.size()));
      if (fresh) {
        listed_ += static_cast<std::int64_t>(set.size());
        out_.sets.push_back(std::move(set));
      }
      out_.list.push_back({source, at->second, 0, {}});
      number = out_.list.size();
    }
    fits_ = fits_ && static_cast<std::int64_t>(out_.list.size()) <= choice_.most &&
            listed_ <= choice_.most &&
            static_cast<std::int64_t>(out_.targets.size()) <= 4 * choice_.most;
    out_.list[number - 1].elements += elements;
    joined_.push_back({number - 1, arrows_[begin].from.place, first_target,
                       static_cast<std::uint32_t>(end - begin)});
  }

  Dispatches& out_;
  const DispatchChoice& choice_;
  const ReshardPart* part_ = nullptr;
  std::uint32_t number_ = 0;
  std::int64_t places_ = 0;
  std::vector<std::int64_t> offsets_;
  NearestSource nearest_;
  bool fits_ = true;
  std::int64_t listed_ = 0;
  std::vector<Arrow> arrows_;
  std::vector<Joined> joined_;
  std::unordered_map<std::int64_t, std::size_t> pairs_;
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::size_t> multicasts_;
  std::map<std::vector<std::int64_t>, std::uint32_t> sets_;
};

}  // namespace

Result<Dispatches> dispatches_of(const Reshard& reshard, const DispatchChoice& choice) {
  Dispatches found;
  Lister lister(found, choice);
  for (std::size_t i = 0; i < reshard.parts().size(); ++i) {
    TESSERA_CHECK_OK(
        lister.add(reshard.parts()[i], static_cast<std::uint32_t>(i), reshard.physical()));
  }
  return found;
}

}  // namespace tessera::reshard
