// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/traffic.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/fabric/message_order.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMaxListed = std::int64_t{1} << 28;
constexpr std::int64_t kLatestStart = std::int64_t{1} << 48;

bool inside(const ListRange& range, std::size_t size) {
  const auto limit = static_cast<std::int64_t>(size);
  return range.begin >= 0 && range.count >= 0 && range.begin <= limit &&
         range.count <= limit - range.begin;
}

Error out_of_range(std::int64_t message, std::string_view what, std::string_view help) {
  return Error{ErrorCode::kOutOfRange, cat("message ", message, " ", what), std::nullopt,
               std::string(help)};
}

/// The checks of a single message.
class MessageCheck {
 public:
  MessageCheck(const Traffic& traffic, std::int64_t nodes) : traffic_(traffic), nodes_(nodes) {}

  Status check(std::int64_t number) {
    const FabricMessage& message = traffic_.messages[static_cast<std::size_t>(number)];
    TESSERA_CHECK_OK(ranges(number, message));
    return ends(number, message);
  }

 private:
  Status ranges(std::int64_t number, const FabricMessage& message) const {
    if (!inside(message.destinations, traffic_.destinations.size())) {
      return out_of_range(
          number,
          cat("lists destinations ", message.destinations.begin, " and ",
              message.destinations.count, " more of ", traffic_.destinations.size()),
          "use Traffic::add");
    }
    if (!inside(message.after, traffic_.after.size())) {
      return out_of_range(number,
                          cat("lists waits ", message.after.begin, " and ", message.after.count,
                              " more of ", traffic_.after.size()),
                          "use Traffic::add");
    }
    if (message.destinations.count == 0) {
      return out_of_range(number, "has no destination", "omit it");
    }
    if (message.words < 1) {
      return out_of_range(number, cat("has ", message.words, " words, expected at least 1"),
                          "omit empty messages");
    }
    if (!inside({message.first_word, message.words}, traffic_.payload.size())) {
      return out_of_range(number,
                          cat("has ", message.words, " words from word ", message.first_word,
                              ", and the payload has ", traffic_.payload.size()),
                          "messages may share words, but not go past the last one");
    }
    if (message.not_before < 0 || message.not_before > kLatestStart) {
      return out_of_range(number,
                          cat("leaves no earlier than cycle ", message.not_before,
                              ", expected 0 to ", kLatestStart),
                          "cycles count from the earliest possible departure of any message");
    }
    if (message.words <= kMaxListed) return ok_status();
    return Error{ErrorCode::kTooLarge,
                 cat("message ", number, " has ", message.words, " words, more than ", kMaxListed),
                 std::nullopt, "send it in parts"};
  }

  Status ends(std::int64_t number, const FabricMessage& message) {
    const auto outside = [&](std::int32_t node) { return node < 0 || node >= nodes_; };
    if (outside(message.source)) {
      return out_of_range(number, cat("leaves router ", message.source, ", and there are ", nodes_),
                          "routers are numbered row-major from 0");
    }
    const auto list = traffic_.destinations_of(message);
    sorted_.assign(list.begin(), list.end());
    std::sort(sorted_.begin(), sorted_.end());
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      if (outside(sorted_[i])) {
        return out_of_range(number, cat("goes to router ", sorted_[i], ", and there are ", nodes_),
                            "routers are numbered row-major from 0");
      }
      if (sorted_[i] == message.source) {
        return out_of_range(number, cat("goes to its own source, router ", message.source),
                            "data that stay in place are not a message");
      }
      if (i > 0 && sorted_[i] == sorted_[i - 1]) {
        return out_of_range(number, cat("goes to router ", sorted_[i], " twice"),
                            "list each destination once");
      }
    }
    return ok_status();
  }

  const Traffic& traffic_;
  std::int64_t nodes_;
  std::vector<std::int32_t> sorted_;
};

Status check_waits(const Traffic& traffic, std::int64_t number) {
  const FabricMessage& message = traffic.messages[static_cast<std::size_t>(number)];
  for (const std::int64_t awaited : traffic.after_of(message)) {
    if (awaited < 0 || awaited >= static_cast<std::int64_t>(traffic.messages.size())) {
      return out_of_range(number,
                          cat("waits for message ", awaited, " of ", traffic.messages.size()),
                          "messages are numbered from 0 as listed");
    }
    const std::int64_t words = traffic.messages[static_cast<std::size_t>(awaited)].words;
    if (words == message.words) continue;
    return Error{ErrorCode::kContradiction,
                 cat("message ", number, " has ", message.words, " words and waits for message ",
                     awaited, ", which has ", words),
                 std::nullopt, "word i waits for word i, so both need the same number of words"};
  }
  return ok_status();
}

}  // namespace

std::int64_t Traffic::add(std::int32_t source, std::span<const std::int32_t> to,
                          std::int64_t first_word, std::int64_t words,
                          std::span<const std::int64_t> after_messages) {
  const auto append = [](auto& list, auto items) {
    const ListRange range{static_cast<std::int64_t>(list.size()),
                          static_cast<std::int64_t>(items.size())};
    list.insert(list.end(), items.begin(), items.end());
    return range;
  };
  const ListRange to_range = append(destinations, to);
  const ListRange after_range = append(after, after_messages);
  messages.push_back({source, to_range, first_word, words, after_range, 0, kAnyColour});
  return static_cast<std::int64_t>(messages.size()) - 1;
}

std::int64_t Traffic::add(std::int32_t source, std::initializer_list<std::int32_t> to,
                          std::int64_t first_word, std::int64_t words,
                          std::initializer_list<std::int64_t> after_messages) {
  return add(source, std::span(to.begin(), to.size()), first_word, words,
             std::span(after_messages.begin(), after_messages.size()));
}

Status Traffic::check(const FabricMesh& mesh) const {
  if (mesh.rows < 1 || mesh.cols < 1) {
    return Error{ErrorCode::kOutOfRange,
                 cat("a mesh of ", mesh.rows, "x", mesh.cols, " routers has none"), std::nullopt,
                 "use at least one row and one column"};
  }
  const std::int64_t nodes = std::int64_t{mesh.rows} * mesh.cols;
  if (nodes > kMaxFabricNodes) {
    return Error{ErrorCode::kTooLarge,
                 cat("a mesh of ", mesh.rows, "x", mesh.cols, " has ", nodes,
                     " routers, more than ", kMaxFabricNodes),
                 std::nullopt, "simulate a part of it"};
  }
  if (static_cast<std::int64_t>(messages.size()) > kMaxListed) {
    return Error{ErrorCode::kTooLarge, cat(messages.size(), " messages are more than ", kMaxListed),
                 std::nullopt, "simulate fewer messages at a time"};
  }
  // Lists may overlap, so their total size is checked before any of them is read.
  std::int64_t ends = 0;
  std::int64_t waits = 0;
  for (const FabricMessage& message : messages) {
    ends += std::clamp<std::int64_t>(message.destinations.count, 0, kMaxListed + 1);
    waits += std::clamp<std::int64_t>(message.after.count, 0, kMaxListed + 1);
    if (ends <= kMaxListed && waits <= kMaxListed) continue;
    return Error{ErrorCode::kTooLarge,
                 cat("messages list more than ", kMaxListed, " destinations or waits"),
                 std::nullopt, "simulate fewer messages at a time"};
  }
  MessageCheck one(*this, nodes);
  const auto count = static_cast<std::int64_t>(messages.size());
  for (std::int64_t m = 0; m < count; ++m) TESSERA_CHECK_OK(one.check(m));
  if (waits == 0) return ok_status();
  for (std::int64_t m = 0; m < count; ++m) TESSERA_CHECK_OK(check_waits(*this, m));
  TESSERA_TRY([[maybe_unused]] const auto ends_there, awaited_destinations(*this));
  TESSERA_TRY([[maybe_unused]] const auto order, message_order(*this));
  return ok_status();
}

}  // namespace tessera::fabric
