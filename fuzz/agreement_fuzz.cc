// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/exchange.h"

// Whatever notes arrive, an agreement decides or reports why it cannot. After a verdict, it always
// reports the same.
namespace tessera {
namespace {

using std::chrono::milliseconds;

/// Rank 2 of 5, which receives the notes in the input. Input: the rank and the length of a note,
/// its bytes, and so on; a note of length 255 waits until the rank has idled once.
class Rumours final : public exchange::Exchange {
 public:
  explicit Rumours(std::span<const std::uint8_t> input) : rest_(input) {}

  int rank() const override { return 2; }
  int ranks() const override { return 5; }
  Result<std::unique_ptr<exchange::Lane>> open(const exchange::LaneSize&) override {
    return none();
  }
  Result<std::unique_ptr<exchange::SharedArray>> share(std::int64_t) override { return none(); }

  Status tell(int to, std::span<const std::byte> bytes) override {
    require(to >= 0 && to < ranks() && to != rank(), "notes go to other ranks", "");
    require(!bytes.empty() && bytes.size() <= kNoteBytes, "notes fit", "");
    return ok_status();
  }

  Result<std::optional<exchange::RankNote>> heard() override {
    if (rest_.size() < 2) return std::optional<exchange::RankNote>();
    const int from = rest_[0] % ranks();
    if (from == rank() || rest_[1] == 255) {
      if (!idled_) return std::optional<exchange::RankNote>();
      idled_ = false;
    }
    const std::size_t bytes = std::min<std::size_t>(rest_[1], rest_.size() - 2);
    exchange::RankNote note{from == rank() ? 0 : from, {}};
    for (const std::uint8_t byte : rest_.subspan(2, bytes)) note.bytes.push_back(std::byte{byte});
    rest_ = rest_.subspan(2 + bytes);
    return std::optional<exchange::RankNote>(std::move(note));
  }

  void idle() override { idled_ = true; }
  void abandon(int) override {}
  bool over() const { return rest_.size() < 2; }

 private:
  static Error none() { return {ErrorCode::kNotSupported, "rumours only"}; }
  std::span<const std::uint8_t> rest_;
  bool idled_ = true;
};

void check(std::span<const std::uint8_t> input) {
  Rumours exchange(input);
  // No timeout: a rank that does not answer is silent at once.
  exchange::Agreement agreement(exchange, {milliseconds(0), milliseconds(0)});
  const std::vector<exchange::Fact> facts = {{"a", 1, "one"}, {"b", 2, "two"}};
  const std::vector<std::int64_t> numbers = {1, -1};
  std::optional<Error> last;
  for (int i = 0; i < 8; ++i) {
    Status status = ok_status();
    switch (i % 4) {
      case 0:
        status = agreement.settle(ok_status());
        break;
      case 1:
        status = agreement.same(facts);
        break;
      case 2:
        if (const auto sums = agreement.sums(numbers); !sums) {
          status = sums.error();
        } else {
          require(sums->size() == numbers.size(), "as many sums as numbers", "");
        }
        break;
      default:
        status = agreement.wait(3, {});
        break;
    }
    if (!status) last = status.error();
    if (last) require(!last->message.empty(), "errors have words", "");
  }
  // All notes are read, early notes are used up, and nobody answers any more: a verdict.
  while (!exchange.over()) (void)agreement.wait(3, {});
  (void)agreement.settle(ok_status());
  const Status first = agreement.settle(ok_status());
  require(!first.ok(), "nobody answers", "");
  const Status second = agreement.settle(Error{ErrorCode::kIo, "another"});
  require(!second.ok() && second.error().message == first.error().message, "one verdict", "");
  (void)agreement.speaks();
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check({bytes, size});
  return 0;
}
