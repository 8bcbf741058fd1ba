// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/traffic.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfers.h"

namespace tessera::moves {
namespace {

/// The longest run of elements that is contiguous on both sides.
std::int64_t run_of(const reshard::Transfer& transfer) {
  std::int64_t run = 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const reshard::BoxLoop& loop : transfer.loops) {
      if (loop.source_stride != run || loop.destination_stride != run) continue;
      run *= loop.extent;
      grows = true;
      break;
    }
  }
  return run;
}

struct Sum {
  std::int64_t elements = 0;
  std::int64_t runs = 0;
};

/// Sums by pair of endpoints: a table where there are few, a list otherwise.
class Pairs {
 public:
  explicit Pairs(std::int64_t endpoints) : endpoints_(endpoints) {
    constexpr std::int64_t kMostCells = std::int64_t{1} << 10;
    if (endpoints * endpoints <= kMostCells) {
      cells_.resize(static_cast<std::size_t>(endpoints * endpoints));
    }
  }
  void add(std::int64_t source, std::int64_t destination, std::int64_t elements,
           std::int64_t runs) {
    const std::int64_t key = source * endpoints_ + destination;
    if (cells_.empty()) {
      constexpr std::size_t kMostListed = std::size_t{1} << 20;
      if (listed_.size() >= kMostListed && listed_.size() >= 2 * joined_) join();
      listed_.push_back({key, {elements, runs}});
      return;
    }
    Sum& sum = cells_[static_cast<std::size_t>(key)];
    sum.elements += elements;
    sum.runs += runs;
  }
  /// By ascending source, then destination.
  template <typename Visit>
  void for_each(const Visit& visit) {
    const auto see = [&](std::int64_t key, const Sum& sum) {
      if (sum.elements > 0) visit(key / endpoints_, key % endpoints_, sum);
    };
    for (std::size_t key = 0; key < cells_.size(); ++key) {
      see(static_cast<std::int64_t>(key), cells_[key]);
    }
    join();
    for (const Listed& listed : listed_) see(listed.key, listed.sum);
  }

 private:
  struct Listed {
    std::int64_t key = 0;
    Sum sum;
  };
  /// Sorts the list, and adds up what has the same key.
  void join() {
    const auto before = [](const Listed& x, const Listed& y) { return x.key < y.key; };
    if (!std::is_sorted(listed_.begin(), listed_.end(), before)) {
      std::sort(listed_.begin(), listed_.end(), before);
    }
    std::size_t kept = 0;
    for (const Listed& listed : listed_) {
      if (kept > 0 && listed_[kept - 1].key == listed.key) {
        listed_[kept - 1].sum.elements += listed.sum.elements;
        listed_[kept - 1].sum.runs += listed.sum.runs;
      } else {
        listed_[kept++] = listed;
      }
    }
    listed_.resize(kept);
    joined_ = kept;
  }

  std::int64_t endpoints_;
  std::vector<Sum> cells_;
  std::vector<Listed> listed_;
  std::size_t joined_ = 0;  ///< entries after the last join
};

/// By one endpoint; all are below `endpoints`.
std::int64_t most_received(const std::vector<fabric::Message>& messages, std::int64_t endpoints) {
  constexpr std::int64_t kMostCells = std::int64_t{1} << 12;
  std::int64_t most = 0;
  if (endpoints <= kMostCells) {
    std::vector<std::int64_t> received(static_cast<std::size_t>(endpoints), 0);
    for (const fabric::Message& message : messages) {
      std::int64_t& bytes = received[static_cast<std::size_t>(message.destination)];
      bytes += message.bytes;
      most = std::max(most, bytes);
    }
    return most;
  }
  std::vector<std::pair<std::int32_t, std::int64_t>> received;
  received.reserve(messages.size());
  for (const fabric::Message& message : messages) {
    received.emplace_back(message.destination, message.bytes);
  }
  if (!std::is_sorted(received.begin(), received.end())) {
    std::sort(received.begin(), received.end());
  }
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < received.size(); ++i) {
    if (i == 0 || received[i].first != received[i - 1].first) bytes = 0;
    bytes += received[i].second;
    most = std::max(most, bytes);
  }
  return most;
}

Traffic totals(const reshard::Reshard::Rate& rate, Pairs& pairs) {
  Traffic traffic;
  std::int64_t sender = -1;
  std::int64_t sent = 0;
  std::int32_t last = -1;  // the highest receiver
  pairs.for_each([&](std::int64_t source, std::int64_t destination, const Sum& sum) {
    const std::int64_t bytes = rate.of(sum.elements);
    if (source == destination) {
      traffic.local_bytes += bytes;
      traffic.max_local_bytes = std::max(traffic.max_local_bytes, bytes);
      return;
    }
    traffic.bytes += bytes;
    sent = source == sender ? sent + bytes : bytes;
    sender = source;
    traffic.max_sent_bytes = std::max(traffic.max_sent_bytes, sent);
    traffic.messages.push_back({static_cast<std::int32_t>(source),
                                static_cast<std::int32_t>(destination), bytes, sum.runs});
    last = std::max(last, static_cast<std::int32_t>(destination));
  });
  traffic.max_received_bytes = most_received(traffic.messages, last + 1);
  return traffic;
}

/// Elements between two reduced places; or two steps, and how many elements take them.
struct Cell {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t elements = 0;
};

/// Adds up cells with the same places.
void gather(std::vector<Cell>& cells) {
  const auto before = [](const Cell& x, const Cell& y) {
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  };
  std::sort(cells.begin(), cells.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (kept > 0 && cells[kept - 1].a == cells[i].a && cells[kept - 1].b == cells[i].b) {
      cells[kept - 1].elements += cells[i].elements;
    } else {
      cells[kept++] = cells[i];
    }
  }
  cells.resize(kept);
}

/// The elements between the first places of both sides, factor by factor.
class CellProduct {
 public:
  CellProduct(const DealtSide& a, const DealtSide& b) : a_(a), b_(b) {}

  Result<std::vector<Cell>> of(const reshard::VirtualFlows& flows) {
    std::vector<Cell> all = {{a_.reduced(flows.base_a), b_.reduced(flows.base_b), flows.still}};
    for (const std::vector<reshard::VirtualFlow>& factor : flows.factors) {
      std::vector<Cell> own;
      own.reserve(factor.size());
      for (const reshard::VirtualFlow& flow : factor) {
        own.push_back({a_.step(flows.base_a, flows.base_a + flow.a),
                       b_.step(flows.base_b, flows.base_b + flow.b), flow.elements});
      }
      gather(own);
      const std::int64_t combinations = (Checked(std::ssize(all)) * std::ssize(own)).saturated();
      if (combinations > kMostTransfers) {
        return Error{ErrorCode::kTooLarge,
                     cat("a move between ", combinations,
                         " pairs of parts is not counted, at most ", kMostTransfers),
                     std::nullopt, "use fewer or larger shards"};
      }
      all = all.size() == 1 ? moved(own, all.front()) : product(all, own);
    }
    return all;
  }

 private:
  /// One cell, moved by each of the steps.
  std::vector<Cell> moved(std::vector<Cell> steps, const Cell& from) const {
    for (Cell& cell : steps) {
      cell = {a_.sum(from.a, cell.a), b_.sum(from.b, cell.b), cell.elements * from.elements};
    }
    return steps;
  }

  std::vector<Cell> product(const std::vector<Cell>& x, const std::vector<Cell>& y) const {
    constexpr std::int64_t kMostDense = std::int64_t{1} << 16;
    const std::int64_t width = b_.numbers();
    const std::int64_t size = (Checked(a_.numbers()) * width).saturated();
    std::vector<Cell> cells;
    if (size > kMostDense) {
      cells.reserve(x.size() * y.size());
      for (const Cell& p : x) {
        for (const Cell& q : y) {
          cells.push_back({a_.sum(p.a, q.a), b_.sum(p.b, q.b), p.elements * q.elements});
        }
      }
      gather(cells);
      return cells;
    }
    std::vector<std::int64_t> dense(static_cast<std::size_t>(size), 0);
    for (const Cell& p : x) {
      for (const Cell& q : y) {
        dense[static_cast<std::size_t>(a_.sum(p.a, q.a) * width + b_.sum(p.b, q.b))] +=
            p.elements * q.elements;
      }
    }
    for (std::int64_t key = 0; key < size; ++key) {
      const std::int64_t elements = dense[static_cast<std::size_t>(key)];
      if (elements > 0) cells.push_back({key / width, key % width, elements});
    }
    return cells;
  }

  const DealtSide& a_;
  const DealtSide& b_;
};

/// The steps from the first place of an element to all of its copies.
std::vector<std::int64_t> copy_offsets(const DealtSide& side) {
  const Form& form = side.form;
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets = {0};
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kReplicate) continue;
    const std::size_t before = offsets.size();
    for (std::int64_t copy = 1; copy < fill.count; ++copy) {
      const std::int64_t step = copy * fill.stride * strides[static_cast<std::size_t>(fill.axis)];
      for (std::size_t i = 0; i < before; ++i) offsets.push_back(offsets[i] + step);
    }
  }
  for (std::int64_t& offset : offsets) offset = side.step(0, offset);
  return offsets;
}

/// The form with only the first of the copies that it keeps of each element.
Form first_copies(Form form) {
  for (Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) fill = Fill::fixed(fill.axis, 0);
  }
  return form;
}

/// The longest run of elements that is contiguous on both sides, within the first piece of each
/// factor: pieces at the end of a dim may be shorter.
std::int64_t common_run(const Refinement& refinement) {
  std::int64_t run = 1;
  for (bool grows = true; grows;) {
    grows = false;
    for (const Factor& factor : refinement.factors()) {
      for (const Loop& loop : factor.pieces.front().loops) {
        const bool stays = loop.move.a.place == 0 && loop.move.b.place == 0;
        if (!stays || loop.move.a.slot != run || loop.move.b.slot != run) continue;
        run *= loop.extent;
        grows = true;
        break;
      }
      if (grows) break;
    }
  }
  return run;
}

/// The copy of A that a destination reads: itself, or the one with the fewest steps(copy,
/// destination), on a tie the first.
template <typename Steps>
std::int64_t nearest_copy(const DealtSide& a, std::int64_t first,
                          const std::vector<std::int64_t>& copies, std::int64_t destination,
                          const Steps& steps) {
  const std::int64_t own = a.endpoint(first);
  if (copies.size() == 1) return own;
  std::int64_t best = own;
  std::int64_t fewest = INT64_MAX;
  for (const std::int64_t copy : copies) {
    const std::int64_t endpoint = a.endpoint(a.sum(first, copy));
    if (endpoint == destination) return endpoint;
    const std::int64_t way = steps(endpoint, destination);
    if (way >= fewest) continue;
    best = endpoint;
    fewest = way;
  }
  return best;
}

/// Two tensors of one layout each, and what is common to all ways of counting.
struct Counted {
  const DealtSide& a;
  const DealtSide& b;
  std::vector<std::int64_t> copies_a;
  std::vector<std::int64_t> copies_b;
  std::vector<Cell> cells;  ///< none for an empty tensor
  std::int64_t run = 1;     ///< common_run
};

Result<Counted> counted(const DealtSide& a, const DealtSide& b,
                        const reshard::Reshard::Rate& bytes) {
  Counted all{a, b, copy_offsets(a), copy_offsets(b), {}, 1};
  Checked most = a.form.shape.elements();
  most *= std::ssize(all.copies_b);
  for (const Fill& fill : a.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) most *= fill.count;
  }
  most *= bytes.numerator;
  TESSERA_CHECK_OK(most.value("the number of bytes that move"));
  const Form first_a = first_copies(a.form);
  const Form first_b = first_copies(b.form);
  if (first_a.shape.empty()) return all;
  TESSERA_TRY(const reshard::Shares shares, reshard::meet_shares(first_a, first_b));
  TESSERA_TRY(const Refinement refinement, reshard::refine_joined(first_a, first_b));
  TESSERA_TRY(const reshard::VirtualFlows flows,
              reshard::virtual_flows(first_a, first_b, refinement, shares));
  TESSERA_TRY(all.cells, CellProduct(a, b).of(flows));
  all.run = common_run(refinement);
  return all;
}

/// The elements between endpoints.
template <typename Steps>
Pairs pairs_of(const Counted& all, std::int64_t endpoints, const Steps& steps) {
  Pairs pairs(endpoints);
  for (const Cell& cell : all.cells) {
    const std::int64_t runs = ceil_div(cell.elements, all.run);
    for (const std::int64_t copy : all.copies_b) {
      const std::int64_t to = all.b.endpoint(all.b.sum(cell.b, copy));
      pairs.add(nearest_copy(all.a, cell.a, all.copies_a, to, steps), to, cell.elements, runs);
    }
  }
  return pairs;
}

std::int64_t replicas(const Form& form) {
  Checked count = 1;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate) count *= fill.count;
  }
  return count.saturated();
}

bool is_sorted_and_distinct(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

/// The kind of a move in which something is not where it was, in its slot: the rules of
/// reshard::ReshardKind by endpoints.
reshard::ReshardKind kind_of_counted(const Counted& all) {
  using reshard::ReshardKind;
  const auto endpoints = [](const DealtSide& side, std::int64_t first,
                            const std::vector<std::int64_t>& copies) {
    std::vector<std::int64_t> ends;
    for (const std::int64_t copy : copies) ends.push_back(side.endpoint(side.sum(first, copy)));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  };
  std::vector<std::pair<std::int64_t, std::int64_t>> tiles;  // by their first endpoints
  std::vector<std::int64_t> of_a;
  std::vector<std::int64_t> of_b;
  bool stays = true;
  for (const Cell& cell : all.cells) {
    const std::vector<std::int64_t> a = endpoints(all.a, cell.a, all.copies_a);
    const std::vector<std::int64_t> b = endpoints(all.b, cell.b, all.copies_b);
    stays = stays && a == b;
    tiles.emplace_back(a.front(), b.front());
    of_a.insert(of_a.end(), a.begin(), a.end());
    of_b.insert(of_b.end(), b.begin(), b.end());
  }
  const auto only_one = [](const std::vector<std::int64_t>& ends) {
    return std::all_of(ends.begin(), ends.end(), [&](std::int64_t e) { return e == ends.front(); });
  };
  const bool one_a = only_one(of_a);
  const bool one_b = only_one(of_b);
  if (one_a && !one_b) return ReshardKind::kScatter;
  if (one_b && !one_a) return ReshardKind::kGather;
  if (stays) return ReshardKind::kReshard;
  std::sort(tiles.begin(), tiles.end());
  tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
  of_a.clear();
  of_b.clear();
  for (const auto& [from, to] : tiles) {
    of_a.push_back(from);
    of_b.push_back(to);
  }
  if (!is_sorted_and_distinct(of_a) || !is_sorted_and_distinct(of_b)) return ReshardKind::kReshard;
  const bool more = replicas(all.b.form) > replicas(all.a.form);
  return more ? ReshardKind::kReplicate : ReshardKind::kRedistribute;
}

/// Both sides in short form. kShapeMismatch where A and B are not of one tensor.
struct BothSides {
  DealtSide a;
  DealtSide b;
};
Result<BothSides> both_sides(const Machine& machine, const Stored& a, const Stored& b) {
  if (a.placement.shape() != b.placement.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("A has the shape ", bracketed(a.placement.shape().extents()), " and B ",
                     bracketed(b.placement.shape().extents())),
                 std::nullopt, "a move is of one tensor: give A and B the same shape"};
  }
  TESSERA_TRY(DealtSide from, dealt_side(a, machine));
  TESSERA_TRY(DealtSide to, dealt_side(b, machine));
  return BothSides{std::move(from), std::move(to)};
}

}  // namespace

bool Traffic::in_one_piece() const {
  return std::all_of(messages.begin(), messages.end(),
                     [](const fabric::Message& m) { return m.transactions == 1; });
}

Result<Traffic> mesh_traffic(const reshard::Reshard& reshard) {
  const std::int64_t endpoints = reshard.physical().mesh.elements();
  Pairs pairs(endpoints);
  std::int64_t count = 0;
  TESSERA_CHECK_OK(
      reshard::for_each_transfer(reshard, {}, [&](const reshard::Transfer& t) -> Status {
        if (++count > kMostTransfers) {
          return Error{ErrorCode::kTooLarge,
                       cat("a move of more than ", kMostTransfers, " pieces is not listed"),
                       std::nullopt, "use larger shards or pages"};
        }
        pairs.add(t.source, t.destination, t.elements, t.elements / run_of(t));
        return ok_status();
      }));
  return totals(reshard.byte_rate(), pairs);
}

Result<Traffic> endpoint_traffic(const Machine& machine, const Stored& a, const Stored& b,
                                 const fabric::Topology* routes) {
  if (a.placement.layout() == nullptr || b.placement.layout() == nullptr) {
    TESSERA_TRY(const MachineReshard move, reshard_on(machine, a, b));
    return mesh_traffic(move.reshard);
  }
  TESSERA_TRY(const BothSides sides, both_sides(machine, a, b));
  const reshard::Reshard::Rate bytes = reshard::byte_rate_of(a.placement.atom().storage);
  TESSERA_TRY(const Counted all, counted(sides.a, sides.b, bytes));
  Pairs pairs = pairs_of(all, EndpointNumbers(machine).count(),
                         [&](std::int64_t copy, std::int64_t to) -> std::int64_t {
                           const bool reached =
                               routes != nullptr && std::max(copy, to) < routes->endpoints();
                           return reached ? routes->distance(0, copy, to) : 0;
                         });
  return totals(bytes, pairs);
}

Result<CountedMove> counted_move(const Machine& machine, const Stored& a, const Stored& b) {
  TESSERA_TRY(const BothSides sides, both_sides(machine, a, b));
  const reshard::Reshard::Rate bytes = reshard::byte_rate_of(a.placement.atom().storage);
  TESSERA_TRY(const Counted all, counted(sides.a, sides.b, bytes));
  CountedMove move;
  if (all.cells.empty()) {
    move.kind = reshard::ReshardKind::kIdentity;
    return move;
  }
  // The copy whose number is nearest, as on a mesh of one axis.
  Pairs pairs = pairs_of(all, EndpointNumbers(machine).count(),
                         [](std::int64_t copy, std::int64_t to) { return std::abs(copy - to); });
  constexpr std::int64_t kWaveletBytes = 4;
  pairs.for_each([&](std::int64_t source, std::int64_t destination, const Sum& sum) {
    const std::int64_t size = bytes.of(sum.elements);
    if (source == destination) {
      move.cost.local_bytes += size;
      return;
    }
    move.cost.bytes += size;
    move.cost.wavelets += ceil_div(size, kWaveletBytes);
    ++move.cost.messages;
    move.pairs.push_back({source, destination, sum.elements, size});
  });
  TESSERA_TRY(const bool same, is_same(machine, a, b));
  if (same) {
    move.kind = reshard::ReshardKind::kIdentity;
    return move;
  }
  TESSERA_TRY(const reshard::Shares shares,
              reshard::meet_shares(first_copies(sides.a.form), first_copies(sides.b.form)));
  if (shares.reduces() && shares.to == 1) {
    move.kind = reshard::ReshardKind::kReduce;
    return move;
  }
  if (shares.from > 1 || shares.to > 1) {
    return Error{ErrorCode::kNotSupported, "the kind of a move that keeps shares is not counted",
                 std::nullopt, "combine the shares, or use larger pages"};
  }
  move.kind = kind_of_counted(all);
  return move;
}

}  // namespace tessera::moves
