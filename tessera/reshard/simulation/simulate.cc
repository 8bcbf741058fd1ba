// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/simulation/simulate.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/reshard/flows/expand.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/simulation/dispatch.h"
#include "tessera/reshard/simulation/element_memory.h"
#include "tessera/reshard/simulation/traffic.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 26;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 31;

/// Sets every slot in which B keeps an element, on each place of shares [first_share, ..), to the
/// neutral element.
struct NeutralFill {
  Memories& memories;
  std::vector<std::int64_t> offsets;  // of the places, as virtual numbers
  std::uint64_t neutral;

  bool wants(const PairAt&) const { return true; }
  bool take(const Transfer& t) {
    for_each_slot(0, t.destination_slot, t.loops, [&](std::int64_t, std::int64_t slot) {
      for (const std::int64_t offset : offsets) {
        store(memories.destination(t.destination_virtual + offset), slot, memories.bits, neutral);
      }
    });
    return true;
  }
};

/// Virtual offsets of share `from_share` and later ones with all of their copies.
std::vector<std::int64_t> places_of_shares(const Form& form, bool first_too) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::pair<bool, std::int64_t>> offsets = {{true, 0}};  // in share 0, offset
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed || fill.count <= 1) continue;
    const bool partial = fill.kind == Fill::Kind::kPartial;
    const std::int64_t step = fill.stride * strides[static_cast<std::size_t>(fill.axis)];
    std::vector<std::pair<bool, std::int64_t>> more;
    for (const auto& [first, offset] : offsets) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.emplace_back(first && (!partial || i == 0), offset + i * step);
      }
    }
    offsets = std::move(more);
  }
  std::vector<std::int64_t> chosen;
  for (const auto& [first, offset] : offsets) {
    if (!first || first_too) chosen.push_back(offset);
  }
  return chosen;
}

Status fill_neutral(const Reshard& reshard, Memories& memories) {
  const DType storage = reshard.to().atom().storage;
  for (const ReshardPart& part : reshard.parts()) {
    if (part.shares.alike) continue;
    TESSERA_TRY(const Flows flows,
                flows_of(part, reshard.physical(), {.shares = false, .copies = false}));
    const auto fill = [&](Reduction reduction, bool first_too) -> Status {
      TESSERA_TRY(const relayout::Combiner combiner, relayout::combiner_of(reduction, storage));
      NeutralFill neutral{memories, places_of_shares(part.b, first_too), combiner.neutral};
      Expansion<NeutralFill> expansion(flows, neutral);
      GroupWalk<Expansion<NeutralFill>>(flows, expansion).all();
      return ok_status();
    };
    if (part.shares.reduces()) TESSERA_CHECK_OK(fill(part.shares.reduction, true));
    for (const Fill& partial : part.b.fills) {
      if (partial.kind != Fill::Kind::kPartial || partial.count <= 1) continue;
      TESSERA_CHECK_OK(fill(partial.reduction, false));
      break;  // Reshard::make refuses shares of several reductions
    }
  }
  return ok_status();
}

/// Data to write in B: a local copy, or a box that arrived.
struct Writing {
  std::int64_t share = 0;
  std::int64_t dispatch = -1;  // or a local copy
  std::size_t item = 0;        // a box, or a local transfer
  std::int64_t position = 0;   // of its first element in the dispatch
};

/// A transfer with its own copy of the loops.
struct LocalCopy {
  Transfer transfer;
  std::vector<BoxLoop> loops;
};

/// One simulation: pack, send, unpack.
class Run {
 public:
  Run(const Reshard& reshard, Memories memories)
      : reshard_(reshard), memories_(std::move(memories)) {}

  Result<ReshardSimulation> all(const fabric::SimulateOptions& options) {
    TESSERA_TRY(dispatches_, dispatches_of(reshard_, {.boxes = true, .most = kMaxElements}));
    const bool cut = options.mode == fabric::FabricMode::kIdeal;
    TESSERA_TRY(made_, traffic_of(reshard_, dispatches_,
                                  {.parts = cut ? TrafficOptions{}.parts : 1, .own_words = true}));
    TESSERA_CHECK_OK(find_local());
    pack();
    TESSERA_TRY(fabric::Simulation fabric, send(options));
    TESSERA_CHECK_OK(fill_neutral(reshard_, memories_));
    TESSERA_CHECK_OK(unpack());
    return ReshardSimulation{std::move(fabric), std::move(made_.elements), std::move(memories_.to)};
  }

 private:
  std::span<const BoxLoop> loops_of(const DispatchBox& box) const {
    return std::span(dispatches_.loops).subspan(box.first_loop, box.loop_count);
  }

  Status find_local() {
    return for_each_transfer(reshard_, {.messages = false}, [&](const Transfer& t) -> Status {
      LocalCopy copy{t, {t.loops.begin(), t.loops.end()}};
      writings_.push_back({t.share, -1, local_.size(), 0});
      local_.push_back(std::move(copy));
      return ok_status();
    });
  }

  /// The words of a dispatch are those of its parts, which are stored one behind the other.
  void pack() {
    first_word_.assign(dispatches_.list.size(), 0);
    for (std::size_t m = 0; m < made_.traffic.messages.size(); ++m) {
      first_word_[made_.dispatches[m]] =
          made_.traffic.messages[m].first_word - made_.first_words[m];
    }
    for (std::size_t d = 0; d < dispatches_.list.size(); ++d) {
      auto* words = reinterpret_cast<std::byte*>(made_.traffic.payload.data() + first_word_[d]);
      std::int64_t position = 0;
      for (const std::uint32_t i : dispatches_.list[d].boxes) {
        const DispatchBox& box = dispatches_.boxes[i];
        writings_.push_back({box.share, static_cast<std::int64_t>(d), i, position});
        const std::byte* source = memories_.source(box.source_virtual);
        for_each_slot(box.source_slot, 0, loops_of(box), [&](std::int64_t slot, std::int64_t) {
          store(words, position++, memories_.bits, load(source, slot, memories_.bits));
        });
      }
    }
  }

  Result<fabric::Simulation> send(const fabric::SimulateOptions& options) {
    Checked received = 0;
    for (const Dispatch& dispatch : dispatches_.list) {
      first_received_.push_back(received.saturated());
      received += Checked(reshard_.wavelets(dispatch.elements)) *
                  static_cast<std::int64_t>(dispatches_.sets[dispatch.set].size());
    }
    if (received.saturated() > kMaxElements) {
      return Error{ErrorCode::kTooLarge,
                   cat(received.saturated(), " words arrive, more than ", kMaxElements),
                   std::nullopt, "use a smaller tensor or fewer copies"};
    }
    received_.assign(static_cast<std::size_t>(received.raw()), 0);
    return fabric::simulate(
        *reshard_.physical().fabric, made_.traffic, options, [&](const fabric::Delivery& d) {
          const auto m = static_cast<std::size_t>(d.message);
          const std::uint32_t dispatch = made_.dispatches[m];
          const std::int64_t words = reshard_.wavelets(dispatches_.list[dispatch].elements);
          const std::int64_t at =
              first_received_[dispatch] + d.destination * words + made_.first_words[m] + d.index;
          received_[static_cast<std::size_t>(at)] = d.word;
        });
  }

  Status unpack() {
    std::optional<relayout::Combiner> combiner;
    for (const ReshardPart& part : reshard_.parts()) {
      if (!part.shares.reduces()) continue;
      TESSERA_TRY(combiner,
                  relayout::combiner_of(part.shares.reduction, reshard_.to().atom().storage));
    }
    std::sort(writings_.begin(), writings_.end(), [](const Writing& x, const Writing& y) {
      return std::tie(x.share, x.dispatch, x.item) < std::tie(y.share, y.dispatch, y.item);
    });
    const std::int64_t bits = memories_.bits;
    for (const Writing& writing : writings_) {
      const auto write = [&](std::int64_t place, std::int64_t slot, std::uint64_t value,
                             bool combines) {
        std::byte* memory = memories_.destination(place);
        if (combines) value = combiner->combine(load(memory, slot, bits), value);
        store(memory, slot, bits, value);
      };
      if (writing.dispatch < 0) {
        const LocalCopy& copy = local_[writing.item];
        const Transfer& t = copy.transfer;
        const std::byte* source = memories_.source(t.source_virtual);
        for_each_slot(t.source_slot, t.destination_slot, copy.loops,
                      [&](std::int64_t from, std::int64_t to) {
                        write(t.destination_virtual, to, load(source, from, bits), t.combines);
                      });
        continue;
      }
      const Dispatch& dispatch = dispatches_.list[static_cast<std::size_t>(writing.dispatch)];
      const DispatchBox& box = dispatches_.boxes[writing.item];
      const ReshardPart& part = reshard_.parts()[box.part];
      const std::vector<std::int64_t>& set = dispatches_.sets[dispatch.set];
      for (std::uint32_t t = 0; t < box.target_count; ++t) {
        const std::int64_t place = dispatches_.targets[box.first_target + t];
        const auto end = std::lower_bound(set.begin(), set.end(), part.map_b.physical(place));
        const std::int64_t words = reshard_.wavelets(dispatch.elements);
        const auto* arrived = reinterpret_cast<const std::byte*>(
            received_.data() + first_received_[static_cast<std::size_t>(writing.dispatch)] +
            (end - set.begin()) * words);
        std::int64_t position = writing.position;
        for_each_slot(0, box.destination_slot, loops_of(box), [&](std::int64_t, std::int64_t slot) {
          write(place, slot, load(arrived, position++, bits), part.shares.reduces());
        });
      }
    }
    return ok_status();
  }

  const Reshard& reshard_;
  Memories memories_;
  Dispatches dispatches_;
  ReshardTraffic made_;
  std::vector<LocalCopy> local_;
  std::vector<Writing> writings_;
  std::vector<std::int64_t> first_word_;      // of each dispatch, in the payload
  std::vector<std::int64_t> first_received_;  // and in received_
  std::vector<std::uint32_t> received_;
};

/// Limits the number of elements that are written.
Status check_size(const Reshard& reshard) {
  Checked elements = 0;
  for (const ReshardPart& part : reshard.parts()) {
    elements += Checked(part.box.elements()) * part.b.replicas() * part.shares.from;
  }
  const std::int64_t bytes =
      std::max(reshard.from().allocated_bytes(), reshard.to().allocated_bytes());
  if (elements.saturated() > kMaxElements) {
    return Error{ErrorCode::kTooLarge,
                 cat("simulating ", elements.saturated(), " elements with their data, more than ",
                     kMaxElements),
                 std::nullopt, "use a smaller tensor or fewer copies"};
  }
  if (bytes > kMaxBytes) {
    return Error{ErrorCode::kTooLarge,
                 cat("the places have ", bytes, " bytes of memory together, more than ", kMaxBytes),
                 std::nullopt, "use fewer places"};
  }
  return ok_status();
}

}  // namespace

Result<ReshardSimulation> simulate_reshard(const Reshard& reshard, std::span<const std::byte> from,
                                           const fabric::SimulateOptions& options) {
  const DType storage = reshard.from().atom().storage;
  const std::optional<std::int64_t> bits = dtype_bits(storage);
  if (!bits) {
    return Error{ErrorCode::kNotSupported,
                 cat("elements of type ", dtype_name(storage),
                     " share their exponents and cannot be sent one by one"),
                 std::nullopt, "simulate the tensor before it is packed"};
  }
  TESSERA_CHECK_OK(check_size(reshard));
  if (static_cast<std::int64_t>(from.size()) != reshard.from().allocated_bytes()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("the memory of A has ", from.size(), " bytes, expected ",
                     reshard.from().allocated_bytes()),
                 std::nullopt, "give the memory of every place, one after the other"};
  }
  Memories memories{
      from, std::vector<std::byte>(static_cast<std::size_t>(reshard.to().allocated_bytes())),
      reshard.from().shard_bytes(), reshard.to().shard_bytes(), *bits};
  return Run(reshard, std::move(memories)).all(options);
}

}  // namespace tessera::reshard
