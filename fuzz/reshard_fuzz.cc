// SPDX-License-Identifier: Apache-2.0
// Two lines are two tensors of one shape. Everything that can be moved between them on the smallest
// mesh that holds both is counted in several ways, which must agree:
//   the pairs are the messages of the cost, with their bytes and wavelets;
//   the transfers add up to the pairs and the local bytes;
//   the largest link load and the sum of all are those of the cost;
//   every refusal has a message, and large tensors take no longer than small ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera {
namespace {

constexpr std::int64_t kMostPairs = 2000;
constexpr std::int64_t kMostTransfers = 20000;
constexpr std::int64_t kMostPlaces = 1 << 16;

/// Empty, if the result was refused with a message.
template <typename T>
const T* answer(const Result<T>& result, std::string_view text) {
  if (result.ok()) return &*result;
  require(!result.error().message.empty(), "an error has words", text);
  return nullptr;
}

using Pairs = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

/// The elements of each (source, destination), including local ones; empty when there are too many
/// transfers to list.
std::optional<Pairs> follow(const reshard::Reshard& reshard, std::string_view text) {
  Pairs pairs;
  std::int64_t seen = 0;
  std::pair<std::int64_t, std::int64_t> current = {-1, -1};
  const Status status =
      reshard::for_each_transfer(reshard, {}, [&](const reshard::Transfer& transfer) -> Status {
        if (++seen > kMostTransfers) return Error{ErrorCode::kTooLarge, "enough"};
        const std::pair pair = {transfer.source, transfer.destination};
        require(transfer.begins_pair == (pair != current), "the first of a pair says so", text);
        require(!transfer.begins_pair || !pairs.contains(pair), "a pair stays together", text);
        current = pair;
        std::int64_t elements = 1;
        for (const reshard::BoxLoop& loop : transfer.loops) elements *= loop.extent;
        require(elements == transfer.elements, "loops count the elements", text);
        require(transfer.destination_slot >= 0 && transfer.destination_slot < reshard.to().slots(),
                "a destination slot is inside", text);
        pairs[pair] += elements;
        return ok_status();
      });
  if (!status.ok()) {
    require(status.error().code == ErrorCode::kTooLarge, "only size stops transfers", text);
    return std::nullopt;
  }
  return pairs;
}

void check_cost(const reshard::Reshard& reshard, const reshard::ReshardCost& cost,
                std::string_view text) {
  require(cost.bytes >= 0 && cost.local_bytes >= 0 && cost.messages >= 0 && cost.wavelets >= 0,
          "costs are counts", text);
  require((cost.bytes == 0) == (cost.messages == 0), "messages have bytes", text);
  const Result<std::vector<reshard::PairBytes>> pairs = reshard::pairs_of(reshard, kMostPairs);
  if (const std::vector<reshard::PairBytes>* list = answer(pairs, text)) {
    std::int64_t bytes = 0;
    std::int64_t wavelets = 0;
    for (const reshard::PairBytes& pair : *list) {
      bytes += pair.bytes;
      wavelets += reshard.wavelets(pair.elements);
    }
    require(static_cast<std::int64_t>(list->size()) == cost.messages, "pairs are messages", text);
    require(bytes == cost.bytes && wavelets == cost.wavelets, "pairs add up", text);
    if (const std::optional<Pairs> followed = follow(reshard, text)) {
      std::int64_t local_bytes = 0;
      std::size_t messages = 0;
      for (const auto& [pair, elements] : *followed) {
        if (pair.first == pair.second) {
          local_bytes += reshard.bytes(elements);
          continue;
        }
        const reshard::PairBytes expected = {pair.first, pair.second, elements,
                                             reshard.bytes(elements)};
        require(messages < list->size() && (*list)[messages] == expected,
                "transfers add up to the pairs", text);
        ++messages;
      }
      require(messages == list->size(), "every pair has transfers", text);
      require(local_bytes == cost.local_bytes, "local transfers add up", text);
    }
  }
  if (reshard.physical().mesh.elements() > kMostPlaces) return;
  const Result<reshard::LinkLoads> loads = reshard::link_loads(reshard);
  const reshard::LinkLoads* links = answer(loads, text);
  if (links == nullptr || !cost.fabric) return;
  std::int64_t sum = 0;
  std::int64_t largest = 0;
  for (const auto* direction : {&links->east, &links->west, &links->south, &links->north}) {
    for (const std::int64_t load : *direction) {
      sum += load;
      largest = std::max(largest, load);
    }
  }
  require(sum == cost.fabric->link_hops, "links add up", text);
  require(largest == cost.fabric->max_link_wavelets, "one link is the busiest", text);
}

void check_text(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return;
  const Result<Tensor> from = parse_tensor(text.substr(0, end));
  const Result<Tensor> to = parse_tensor(text.substr(end + 1));
  if (!from.ok() || !to.ok()) return;
  const Result<reshard::PhysicalMesh> physical =
      reshard::PhysicalMesh::around(from->placement, to->placement);
  if (answer(physical, text) == nullptr) return;
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(from->placement, to->placement, *physical);
  if (answer(reshard, text) == nullptr) return;
  const Result<reshard::ReshardKind> kind = reshard::kind_of(*reshard);
  if (answer(kind, text) != nullptr) {
    require(!reshard::kind_name(*kind).empty(), "a kind has a name", text);
  }
  const Result<reshard::ReshardCost> cost = reshard::cost_of(*reshard);
  if (answer(cost, text) == nullptr) return;
  if (kind.ok() && *kind == reshard::ReshardKind::kIdentity) {
    require(cost->messages == 0, "an identity moves nothing", text);
  }
  check_cost(*reshard, *cost, text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
