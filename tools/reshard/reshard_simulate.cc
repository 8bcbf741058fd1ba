// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_simulate.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/reshard/simulation/traffic.h"

namespace tessera::tools {
namespace {

std::int64_t steps(const fabric::FabricMesh& mesh, std::int32_t from, std::int32_t to) {
  return std::abs(from / mesh.cols - to / mesh.cols) + std::abs(from % mesh.cols - to % mesh.cols);
}

/// What one place sends to the same destinations is one message of the trace, even if it travels in
/// several parts.
struct Traced {
  std::vector<TraceMessage> messages;
  std::vector<std::size_t> of_part;  ///< the message of each message on the fabric

  /// Without times, which only the simulation provides.
  Traced(const reshard::Reshard& reshard, const reshard::ReshardTraffic& sent) {
    const Shape& mesh = reshard.physical().mesh;
    const fabric::FabricMesh& fabric = *reshard.physical().fabric;
    std::unordered_map<std::uint32_t, std::size_t> number;  // by dispatch
    std::vector<std::int64_t> elements;
    for (std::size_t part = 0; part < sent.traffic.messages.size(); ++part) {
      const fabric::FabricMessage& message = sent.traffic.messages[part];
      const auto [found, is_new] = number.emplace(sent.dispatches[part], messages.size());
      of_part.push_back(found->second);
      if (is_new) {
        messages.push_back(begun(mesh, fabric, sent.traffic, message));
        elements.push_back(0);
      }
      messages[found->second].wavelets += message.words;
      elements[found->second] += sent.elements[part];
    }
    for (std::size_t m = 0; m < messages.size(); ++m)
      messages[m].bytes = reshard.bytes(elements[m]);
  }

  void leaves(std::size_t part, const fabric::MessageTimes& times) {
    TraceMessage& message = messages[of_part[part]];
    message.from = std::min(message.from, times.first_departure);
    message.to = std::max(message.to, times.last_departure + 1);
  }

  void arrives(const fabric::Delivery& delivery) {
    TraceArrival& arrival = messages[of_part[static_cast<std::size_t>(delivery.message)]]
                                .arrivals[static_cast<std::size_t>(delivery.destination)];
    arrival.from = std::min(arrival.from, delivery.cycle);
    arrival.to = std::max(arrival.to, delivery.cycle + 1);
  }

 private:
  static TraceMessage begun(const Shape& mesh, const fabric::FabricMesh& fabric,
                            const fabric::Traffic& traffic, const fabric::FabricMessage& message) {
    TraceMessage traced;
    traced.source = mesh.delinear(message.source);
    traced.from = INT64_MAX;
    for (const std::int32_t to : traffic.destinations_of(message)) {
      traced.arrivals.push_back(
          {mesh.delinear(to), steps(fabric, message.source, to), INT64_MAX, 0});
    }
    return traced;
  }
};

}  // namespace

Result<SimulatedReshard> simulate_messages(const reshard::Reshard& reshard, fabric::FabricMode mode,
                                           std::int64_t most, bool traced) {
  reshard::TrafficOptions parts;
  if (mode == fabric::FabricMode::kStatic) parts.parts = 1;  // each part would need a colour
  TESSERA_TRY(const reshard::ReshardTraffic sent, reshard::traffic_of(reshard, most, parts));
  std::optional<Traced> trace;
  fabric::Sink sink;
  if (traced) {
    trace.emplace(reshard, sent);
    std::int64_t arrivals = 0;
    for (const TraceMessage& message : trace->messages) arrivals += std::ssize(message.arrivals);
    TESSERA_CHECK_OK(check_trace_size(arrivals));
    sink = [&](const fabric::Delivery& delivery) { trace->arrives(delivery); };
  }
  fabric::SimulateOptions options;
  options.mode = mode;
  SimulatedReshard simulated;
  TESSERA_TRY(simulated.simulation,
              fabric::simulate(*reshard.physical().fabric, sent.traffic, options, sink));
  if (traced) {
    for (std::size_t part = 0; part < sent.traffic.messages.size(); ++part) {
      trace->leaves(part, simulated.simulation.messages[part]);
    }
    simulated.messages = std::move(trace->messages);
  }
  return simulated;
}

}  // namespace tessera::tools
