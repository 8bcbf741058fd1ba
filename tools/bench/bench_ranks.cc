// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_ranks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <set>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

/// Up to this many ranks, all are planned; of more, an evenly spread selection that includes the
/// first and last.
constexpr std::int64_t kAllPlanned = 256;
constexpr std::int64_t kSomePlanned = 33;
constexpr int kRepeats = 5;

template <typename... Parts>
std::string formatted(const char* format, Parts... parts) {
  std::array<char, 160> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, parts...);
  return buffer.data();
}

std::vector<std::int64_t> planned_ranks(std::int64_t ranks, bool quick) {
  const std::int64_t all = quick ? 16 : kAllPlanned;
  const std::int64_t count = ranks <= all ? ranks : std::min(kSomePlanned, all);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * (ranks - 1) / (count - 1));
  return chosen;
}

struct Layouts {
  Placement from;
  Placement to;
  reshard::PhysicalMesh physical;
};

Result<Layouts> layouts_of(const RanksCase& ranks_case) {
  TESSERA_TRY(Tensor from, parse_tensor(ranks_case.from));
  TESSERA_TRY(Tensor to, parse_tensor(ranks_case.to));
  reshard::PhysicalMesh physical;
  physical.mesh = from.placement.mesh();
  physical.why_no_fabric = "ranks are joined by messages";
  return Layouts{std::move(from.placement), std::move(to.placement), std::move(physical)};
}

Result<exchange::RankPlan> plan_rank(const Layouts& layouts, int ranks, int rank) {
  TESSERA_TRY(reshard::Reshard reshard,
              reshard::Reshard::make(layouts.from, layouts.to, layouts.physical));
  TESSERA_TRY(const exchange::RankMap map,
              exchange::RankMap::blocks(layouts.physical.mesh.elements(), ranks));
  return exchange::RankPlan::make(std::make_shared<const reshard::Reshard>(std::move(reshard)), map,
                                  map, rank);
}

/// CPU time of this thread. Planning does not wait, so on an idle machine this is the elapsed time.
/// On a busy machine a long plan is interrupted and a short one is not, which would look like
/// growth.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct TimedPlan {
  exchange::RankPlan plan;
  double seconds = 0;
};

/// The plan of a rank and the shortest of a few timings. The report needs the rank with the most
/// work, not a rank that happened to be interrupted.
Result<TimedPlan> timed_plan(const Layouts& layouts, int ranks, int rank) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 1;; ++i) {
    const double begin = processor_seconds();
    TESSERA_TRY(exchange::RankPlan plan, plan_rank(layouts, ranks, rank));
    least = std::min(least, processor_seconds() - begin);
    if (i == kRepeats) return TimedPlan{std::move(plan), least};
  }
}

std::int64_t partners_of(const exchange::RankPlan& plan) {
  std::set<int> partners;
  for (const exchange::RankRoute& route : plan.sends()) partners.insert(route.rank);
  for (const exchange::RankRoute& route : plan.receives()) partners.insert(route.rank);
  return static_cast<std::int64_t>(partners.size());
}

std::int64_t parcels_of(const exchange::RankPlan& plan) {
  std::size_t parcels = plan.local().count;
  for (const exchange::RankRoute& route : plan.sends()) parcels += route.count;
  for (const exchange::RankRoute& route : plan.receives()) parcels += route.count;
  return static_cast<std::int64_t>(parcels);
}

/// The route to or from `rank`; an empty one when there is none.
exchange::RankRoute route_of(const std::vector<exchange::RankRoute>& routes, int rank) {
  const auto found = std::lower_bound(
      routes.begin(), routes.end(), rank,
      [](const exchange::RankRoute& route, int wanted) { return route.rank < wanted; });
  return found != routes.end() && found->rank == rank ? *found : exchange::RankRoute{rank, 0, 0, 0};
}

bool same_parcels(const exchange::RankPlan& sender, const exchange::RankRoute& sent,
                  const exchange::RankPlan& receiver, const exchange::RankRoute& received) {
  if (sent.count != received.count || sent.elements != received.elements) return false;
  const auto a = sender.parcels(sent);
  const auto b = receiver.parcels(received);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto to_a = sender.destinations(a[i]);
    const auto to_b = receiver.destinations(b[i]);
    if (a[i].part != b[i].part || a[i].source != b[i].source || a[i].elements != b[i].elements ||
        !std::equal(to_a.begin(), to_a.end(), to_b.begin(), to_b.end())) {
      return false;
    }
  }
  return true;
}

/// Elements that a route brings to places, counted once for each place.
std::int64_t elements_placed(const exchange::RankPlan& plan, const exchange::RankRoute& route) {
  std::int64_t elements = 0;
  for (const exchange::Parcel& parcel : plan.parcels(route))
    elements += parcel.elements * parcel.destinations;
  return elements;
}

Result<RanksRow> measure(const RanksCase& ranks_case, bool quick) {
  TESSERA_TRY(const Layouts layouts, layouts_of(ranks_case));
  const int ranks = static_cast<int>(ranks_case.ranks);
  RanksRow row;
  row.name = ranks_case.name;
  row.ranks = ranks_case.ranks;
  std::vector<exchange::RankPlan> plans;
  std::vector<double> seconds;
  for (const std::int64_t rank : planned_ranks(ranks, quick)) {
    TESSERA_TRY(TimedPlan made, timed_plan(layouts, ranks, static_cast<int>(rank)));
    seconds.push_back(made.seconds);
    row.partners = std::max(row.partners, partners_of(made.plan));
    row.parcels = std::max(row.parcels, parcels_of(made.plan));
    row.plan_bytes = std::max(row.plan_bytes, made.plan.bytes());
    plans.push_back(std::move(made.plan));
  }
  TESSERA_CHECK_OK(check_rank_plans(ranks_case, plans));
  row.planned = static_cast<std::int64_t>(plans.size());
  std::sort(seconds.begin(), seconds.end());
  row.seconds = seconds[seconds.size() / 2];
  row.largest_seconds = seconds.back();
  return row;
}

}  // namespace

Status check_rank_plans(const RanksCase& ranks_case, const std::vector<exchange::RankPlan>& plans) {
  for (const exchange::RankPlan& sender : plans) {
    for (const exchange::RankPlan& receiver : plans) {
      if (sender.rank() == receiver.rank()) continue;
      const exchange::RankRoute sent = route_of(sender.sends(), receiver.rank());
      const exchange::RankRoute received = route_of(receiver.receives(), sender.rank());
      if (same_parcels(sender, sent, receiver, received)) continue;
      return Error{
          ErrorCode::kContradiction,
          cat(ranks_case.name, " on ", ranks_case.ranks, " ranks: rank ", sender.rank(), " sends ",
              sent.elements, " elements in ", sent.count, " parcels to rank ", receiver.rank(),
              ", which expects ", received.elements, " in ", received.count, ", or different ones"),
          std::nullopt, kBugHelp};
    }
  }
  if (static_cast<std::int64_t>(plans.size()) != ranks_case.ranks) return ok_status();
  std::int64_t arriving = 0;
  for (const exchange::RankPlan& plan : plans) {
    arriving += elements_placed(plan, plan.local());
    for (const exchange::RankRoute& route : plan.receives())
      arriving += elements_placed(plan, route);
  }
  if (arriving == ranks_case.arriving_elements) return ok_status();
  return Error{ErrorCode::kContradiction,
               cat(ranks_case.name, " on ", ranks_case.ranks, " ranks: ", arriving,
                   " elements arrive instead of ", ranks_case.arriving_elements),
               std::nullopt, kBugHelp};
}

bool RanksGrowth::met() const {
  return seconds <= kMostGrowth && largest_seconds <= kMostGrowth && plan_bytes <= kMostGrowth;
}

std::vector<RanksGrowth> ranks_growth(const std::vector<RanksRow>& rows) {
  std::vector<RanksGrowth> growth;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The last row of each reshard, and the one with the most ranks before it.
    const RanksRow& last = rows[i];
    const RanksRow* before = nullptr;
    bool is_last = true;
    for (const RanksRow& row : rows) {
      if (row.name != last.name) continue;
      is_last = is_last && row.ranks <= last.ranks;
      if (row.ranks < last.ranks && (before == nullptr || row.ranks > before->ranks)) before = &row;
    }
    if (!is_last || before == nullptr) continue;
    const double steps =
        std::log(static_cast<double>(last.ranks) / static_cast<double>(before->ranks));
    const auto exponent = [&](double larger, double smaller) {
      return std::log(larger / smaller) / steps;
    };
    growth.push_back(
        {last.name, exponent(last.seconds, before->seconds),
         exponent(last.largest_seconds, before->largest_seconds),
         exponent(static_cast<double>(last.plan_bytes), static_cast<double>(before->plan_bytes))});
  }
  return growth;
}

Result<RanksReport> bench_ranks(const RanksOptions& options,
                                const std::function<void(const RanksRow& row)>& measured) {
  RanksReport report;
  for (const std::int64_t ranks : options.ranks) {
    for (const RanksCase& ranks_case : ranks_cases(ranks)) {
      const std::string full_name = cat(ranks_case.name, "/", ranks);
      if (full_name.find(options.only) == std::string::npos) continue;
      TESSERA_TRY(const RanksRow row, measure(ranks_case, options.quick));
      measured(row);
      report.rows.push_back(row);
    }
  }
  if (report.rows.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "a case name is for example rows-to-columns/256"};
  }
  report.growth = ranks_growth(report.rows);
  return report;
}

Json ranks_json(const RanksReport& report) {
  Json json;
  json["suite"] = "ranks";
  json["cases"] = Json::array();
  for (const RanksRow& row : report.rows) {
    Json item;
    item["name"] = row.name;
    item["ranks"] = row.ranks;
    item["planned"] = row.planned;
    item["seconds"] = row.seconds;
    item["largest_seconds"] = row.largest_seconds;
    item["partners"] = row.partners;
    item["parcels"] = row.parcels;
    item["plan_bytes"] = row.plan_bytes;
    json["cases"].push_back(std::move(item));
  }
  json["growth_exponents"] = Json::object();
  for (const RanksGrowth& growth : report.growth) {
    Json item;
    item["seconds"] = growth.seconds;
    item["largest_seconds"] = growth.largest_seconds;
    item["plan_bytes"] = growth.plan_bytes;
    item["goal"] = kMostGrowth;
    item["met"] = growth.met();
    json["growth_exponents"][growth.name] = std::move(item);
  }
  return json;
}

std::string ranks_head() {
  return "planning on one rank: the median rank, and the maximum over the planned ranks\n" +
         formatted("%-26s %7s %8s %11s %11s %9s %9s %12s\n", "case", "ranks", "planned",
                   "median ms", "most ms", "partners", "parcels", "plan bytes");
}

std::string ranks_line(const RanksRow& row) {
  return formatted("%-26s %7lld %8lld %11.3f %11.3f %9lld %9lld %12lld\n", row.name.c_str(),
                   static_cast<long long>(row.ranks), static_cast<long long>(row.planned),
                   row.seconds * 1e3, row.largest_seconds * 1e3,
                   static_cast<long long>(row.partners), static_cast<long long>(row.parcels),
                   static_cast<long long>(row.plan_bytes));
}

std::string ranks_tail(const RanksReport& report) {
  std::string out;
  for (const RanksGrowth& growth : report.growth) {
    out += formatted("%-26s grows as ranks^%.2f (slowest rank ^%.2f, memory ^%.2f)%s\n",
                     growth.name.c_str(), growth.seconds, growth.largest_seconds, growth.plan_bytes,
                     growth.met() ? "" : " missed");
  }
  const std::int64_t met = std::count_if(report.growth.begin(), report.growth.end(),
                                         [](const RanksGrowth& growth) { return growth.met(); });
  out += cat(met, " of ", report.growth.size(), " grow no faster than ranks^",
             formatted("%.1f", kMostGrowth), " between the two largest numbers of ranks\n");
  return out;
}

}  // namespace tessera::tools
