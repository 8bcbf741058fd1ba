// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/cycle_model.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::fabric {
namespace {

double real(std::int64_t number) { return static_cast<double>(number); }

/// Packets of one transaction.
double packets(const LinkFacts& link, std::int64_t bytes) {
  return link.packet_bytes > 0 ? real(ceil_div(bytes, link.packet_bytes)) : 1;
}

double packets(const Flows& flows, std::int64_t bytes) {
  return flows.loads.empty() ? 1 : packets(flows.loads.front().link, bytes);
}

CycleForm unicast(const Measurement& m, const Flows& flows, const ModelTerms& terms,
                  std::optional<double> bank_bytes_per_cycle) {
  CycleForm form;
  const double n = real(m.transactions);
  const double addressed = flows.streams > 1 ? real(flows.streams) : 0;
  form.alternatives.push_back({0, {{terms.issue, n - 1}, {terms.receiver, addressed}}});
  form.alternatives.push_back({0, {{terms.cycles_per_byte, n * real(m.bytes)}}});
  const double each = real(ceil_div(m.transactions, flows.streams));  // of one stream
  for (const Flows::Load& load : flows.loads) {
    if (flows.masters == 1) break;  // bytes_per_cycle is what its own port and links let through
    const double headers = packets(load.link, m.bytes) * real(load.link.header_bytes);
    const double bytes = real(load.data) * (real(m.bytes) + headers) + real(load.control) * headers;
    form.alternatives.push_back({each * bytes * load.link.cycles_per_byte, {}});
  }
  if (bank_bytes_per_cycle && flows.most_at_bank > 0) {
    const double bytes = real(flows.most_at_bank) * each * real(m.bytes);
    form.alternatives.push_back({bytes / *bank_bytes_per_cycle, {}});
  }
  return form;
}

CycleForm multicast(const Measurement& m, const Flows& flows, const ModelTerms& terms) {
  CycleForm form;
  const double turns = real(flows.most_data);
  const double sent = turns * real(m.transactions) * packets(flows, m.bytes);
  form.alternatives.push_back(
      {0,
       {{terms.issue, sent},
        {terms.hop, 2 * sent * real(flows.hops_there)},
        {terms.cycles_per_byte, turns * real(m.transactions) * real(m.bytes)}}});
  return form;
}

CycleForm multicast_linked(const Measurement& m, const Flows& flows, const ModelTerms& terms) {
  CycleForm form;
  const double turns = real(flows.most_data);
  const double n = real(m.transactions);
  const double reservations = turns * packets(flows, m.bytes);
  form.always.parts.push_back({terms.hop, 2 * reservations * real(flows.hops_there)});
  form.alternatives.push_back({0, {{terms.issue, turns * (n - 1)}}});
  for (const Flows::Load& load : flows.loads) {
    form.alternatives.push_back(
        {0,
         {{terms.cycles_per_byte, real(load.data) * n * real(m.bytes)},
          {terms.receiver, real(load.control) * n * packets(load.link, m.bytes)}}});
  }
  return form;
}

}  // namespace

CycleForm cycle_form(const Measurement& measurement, const Flows& flows, const ModelTerms& terms,
                     std::optional<double> bank_bytes_per_cycle) {
  CycleForm form;
  switch (measurement.method) {
    case Method::kUnicast:
      form = unicast(measurement, flows, terms, bank_bytes_per_cycle);
      break;
    case Method::kMulticast:
      form = multicast(measurement, flows, terms);
      break;
    case Method::kMulticastLinked:
      form = multicast_linked(measurement, flows, terms);
      break;
  }
  form.always.parts.push_back({terms.overhead, 1});
  form.always.parts.push_back({terms.hop, real(flows.hops_there_and_back)});
  return form;
}

}  // namespace tessera::fabric
