// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard_simulate.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "tessera/reshard/traffic.h"

namespace tessera::tools {
namespace {

std::int64_t steps(const FabricMesh& mesh, std::int32_t from, std::int32_t to) {
  return std::abs(from / mesh.cols - to / mesh.cols) + std::abs(from % mesh.cols - to % mesh.cols);
}

/// The messages without their arrivals' times, which only the simulation knows.
std::vector<TraceMessage> messages_of(const Reshard& reshard, const ReshardTraffic& sent) {
  const Shape& mesh = reshard.ground().mesh;
  const FabricMesh& fabric = *reshard.ground().fabric;
  std::vector<TraceMessage> messages;
  for (std::size_t m = 0; m < sent.traffic.messages.size(); ++m) {
    const FabricMessage& message = sent.traffic.messages[m];
    TraceMessage& traced = messages.emplace_back();
    traced.source = mesh.delinear(message.source);
    traced.bytes = reshard.bytes(sent.elements[m]);
    traced.wavelets = message.words;
    for (const std::int32_t to : sent.traffic.destinations_of(message)) {
      TraceArrival& arrival = traced.arrivals.emplace_back();
      arrival.place = mesh.delinear(to);
      arrival.hops = steps(fabric, message.source, to);
    }
  }
  return messages;
}

}  // namespace

Result<SimulatedReshard> simulate_messages(const Reshard& reshard, FabricMode mode,
                                           std::int64_t most, bool traced) {
  TESSERA_TRY(const ReshardTraffic sent, traffic_of(reshard, most));
  SimulatedReshard simulated;
  Sink sink;
  if (traced) {
    TESSERA_CHECK_OK(check_trace_size(std::ssize(sent.traffic.destinations)));
    simulated.messages = messages_of(reshard, sent);
    // Words of a message reach a destination in order.
    sink = [&messages = simulated.messages](const Delivery& delivery) {
      TraceArrival& arrival = messages[static_cast<std::size_t>(delivery.message)]
                                  .arrivals[static_cast<std::size_t>(delivery.destination)];
      if (delivery.index == 0) arrival.from = delivery.cycle;
      arrival.to = delivery.cycle + 1;
    };
  }
  SimulateOptions options;
  options.mode = mode;
  TESSERA_TRY(simulated.simulation,
              simulate(*reshard.ground().fabric, sent.traffic, options, sink));
  for (std::size_t m = 0; m < simulated.messages.size(); ++m) {
    const MessageTimes& times = simulated.simulation.messages[m];
    simulated.messages[m].from = times.first_departure;
    simulated.messages[m].to = times.last_departure + 1;
  }
  return simulated;
}

}  // namespace tessera::tools
