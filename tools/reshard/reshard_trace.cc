// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "tessera/base/text.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

/// A range of time on a thread of a place.
struct Slice {
  std::int64_t from = 0, to = 0;
  std::int64_t message = 0;
  std::int64_t arrival = -1;  ///< -1 where the message is sent
};

/// Threads of one place: first those that send, then those that receive.
constexpr std::int64_t kFirstReceiver = 1 << 20;

class Writer {
 public:
  explicit Writer(const Shape& mesh) : mesh_(mesh) {}

  void add(const Json& event) { text_ += cat(text_.empty() ? "" : ",\n", dump(event)); }

  void name_process(const Place& place) {
    const std::int64_t pid = number(place);
    add({{"ph", "M"},
         {"name", "process_name"},
         {"pid", pid},
         {"tid", 0},
         {"args", {{"name", cat("place ", bracketed(place))}}}});
    add({{"ph", "M"},
         {"name", "process_sort_index"},
         {"pid", pid},
         {"tid", 0},
         {"args", {{"sort_index", pid}}}});
  }

  void name_thread(const Place& place, std::int64_t thread, const std::string& name) {
    add({{"ph", "M"},
         {"name", "thread_name"},
         {"pid", number(place)},
         {"tid", thread},
         {"args", {{"name", name}}}});
  }

  /// The process number of a place; the counter's process is 0.
  std::int64_t number(const Place& place) const { return mesh_.linear(place) + 1; }
  std::string text() && { return std::move(text_); }

 private:
  const Shape& mesh_;
  std::string text_;
};

/// Assigns slices, which are sorted by `from`, to as few threads as possible so that they do not
/// overlap.
std::vector<std::int64_t> threads_for(const std::vector<Slice>& slices) {
  using Free = std::pair<std::int64_t, std::int64_t>;  // from when on, which thread
  std::priority_queue<Free, std::vector<Free>, std::greater<>> free;
  std::vector<std::int64_t> threads;
  for (const Slice& slice : slices) {
    auto thread = static_cast<std::int64_t>(free.size());
    if (!free.empty() && free.top().first <= slice.from) {
      thread = free.top().second;
      free.pop();
    }
    free.emplace(slice.to, thread);
    threads.push_back(thread);
  }
  return threads;
}

Json slice_json(const Writer& writer, const Slice& slice, const TraceMessage& message,
                std::int64_t thread) {
  const bool sends = slice.arrival < 0;
  const auto at = static_cast<std::size_t>(std::max<std::int64_t>(0, slice.arrival));
  const std::string name = !sends ? cat("from ", bracketed(message.source))
                           : message.arrivals.size() == 1
                               ? cat("to ", bracketed(message.arrivals[0].place))
                               : cat("to ", message.arrivals.size(), " places");
  Json args = {{"bytes", message.bytes}, {"wavelets", message.wavelets}};
  if (sends) {
    if (message.arrivals.size() == 1) args["hops"] = message.arrivals[0].hops;
  } else {
    args["hops"] = message.arrivals[at].hops;
  }
  args["cycles"] = slice.to - slice.from;
  return {{"ph", "X"},
          {"cat", sends ? "send" : "receive"},
          {"name", name},
          {"pid", writer.number(sends ? message.source : message.arrivals[at].place)},
          {"tid", thread},
          {"ts", slice.from},
          {"dur", slice.to - slice.from},
          {"args", std::move(args)}};
}

/// One end of an arrow, inside a slice.
Json arrow_json(const Json& slice, bool begins, std::int64_t id) {
  Json json = {{"ph", begins ? "s" : "f"}, {"cat", "message"},    {"name", "message"}, {"id", id},
               {"pid", slice["pid"]},      {"tid", slice["tid"]}, {"ts", slice["ts"]}};
  if (!begins) json["bp"] = "e";
  return json;
}

/// The number of messages in flight, at every change.
void add_counter(Writer& writer, const std::vector<TraceMessage>& messages) {
  std::map<std::int64_t, std::int64_t> change;
  for (const TraceMessage& message : messages) {
    for (const TraceArrival& arrival : message.arrivals) {
      ++change[message.from];
      --change[arrival.to];
    }
  }
  std::int64_t under_way = 0;
  for (const auto& [cycle, by] : change) {
    under_way += by;
    writer.add({{"ph", "C"},
                {"name", "messages in flight"},
                {"pid", 0},
                {"ts", cycle},
                {"args", {{"messages", under_way}}}});
  }
}

}  // namespace

Status check_trace_size(std::int64_t messages) {
  if (messages <= kMostTraceMessages) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("a trace of ", messages, " messages would be too large: at most ",
                   kMostTraceMessages, " are written"),
               std::nullopt, "trace a smaller tensor, or fewer places"};
}

Result<std::string> trace_text(const std::string& title, const Shape& mesh,
                               const std::vector<TraceMessage>& messages) {
  std::int64_t arrivals = 0;
  for (const TraceMessage& message : messages) arrivals += std::ssize(message.arrivals);
  TESSERA_CHECK_OK(check_trace_size(arrivals));
  // Slices of each place, sent and received ones separately.
  std::map<std::pair<std::int64_t, bool>, std::vector<Slice>> by_place;
  for (std::size_t m = 0; m < messages.size(); ++m) {
    const TraceMessage& message = messages[m];
    const auto index = static_cast<std::int64_t>(m);
    by_place[{mesh.linear(message.source), false}].push_back({message.from, message.to, index});
    for (std::size_t i = 0; i < message.arrivals.size(); ++i) {
      const TraceArrival& arrival = message.arrivals[i];
      by_place[{mesh.linear(arrival.place), true}].push_back(
          {arrival.from, arrival.to, index, static_cast<std::int64_t>(i)});
    }
  }
  Writer writer(mesh);
  writer.add({{"ph", "M"},
              {"name", "process_name"},
              {"pid", 0},
              {"tid", 0},
              {"args", {{"name", "all places"}}}});
  add_counter(writer, messages);
  std::vector<std::int64_t> first_arrow;  // ids of a message's arrows
  std::int64_t arrows = 0;
  for (const TraceMessage& message : messages) {
    first_arrow.push_back(arrows);
    arrows += std::ssize(message.arrivals);
  }
  std::int64_t named = -1;
  for (auto& [key, slices] : by_place) {
    const auto [number, receives] = key;
    const Place place = mesh.delinear(number);
    if (number != named) writer.name_process(place);
    named = number;
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return std::pair(a.from, a.message) < std::pair(b.from, b.message);
    });
    const std::vector<std::int64_t> threads = threads_for(slices);
    const std::int64_t most = *std::max_element(threads.begin(), threads.end());
    const std::int64_t first = receives ? kFirstReceiver : 0;
    for (std::int64_t thread = 0; thread <= most; ++thread) {
      writer.name_thread(
          place, first + thread,
          cat(receives ? "receives" : "sends", thread == 0 ? std::string() : cat(" ", thread + 1)));
    }
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const Slice& slice = slices[i];
      const TraceMessage& message = messages[static_cast<std::size_t>(slice.message)];
      const Json json = slice_json(writer, slice, message, first + threads[i]);
      writer.add(json);
      const std::int64_t arrow = first_arrow[static_cast<std::size_t>(slice.message)];
      if (receives) {
        writer.add(arrow_json(json, false, arrow + slice.arrival));
        continue;
      }
      for (std::int64_t a = 0; a < std::ssize(message.arrivals); ++a) {
        writer.add(arrow_json(json, true, arrow + a));
      }
    }
  }
  const Json other = {{"title", title}, {"one microsecond", "one cycle"}};
  return cat("{\"displayTimeUnit\": \"ns\",\n\"otherData\": ", dump(other),
             ",\n\"traceEvents\": [\n", std::move(writer).text(), "\n]}\n");
}

}  // namespace tessera::tools
