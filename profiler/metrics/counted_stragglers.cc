#include "profiler/metrics/counted_stragglers.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/base/statistics.h"

namespace hocket {
namespace {

using Counter = std::int64_t RankCounters::*;

/// Returns a rank's median; kNotCounted if it did not count.
double median_counter(const std::vector<CountedSteps>& counted, std::size_t rank, Counter counter) {
  std::vector<double> values;
  for (const CountedSteps& steps : counted) {
    if (rank >= steps.ranks.size() || steps.ranks[rank].*counter == kNotCounted) continue;
    values.push_back(static_cast<double>(steps.ranks[rank].*counter));
  }
  return values.empty() ? double{kNotCounted} : median(std::move(values));
}

/// Returns the rank whose link is slow.
std::optional<std::size_t> slow_link(const std::vector<CountedSteps>& counted,
                                     double iteration_ns) {
  std::size_t most = 0;
  std::vector<double> sending;
  for (std::size_t rank = 0; rank < counted.back().ranks.size(); ++rank) {
    sending.push_back(median_counter(counted, rank, &RankCounters::sending_ns));
    if (sending[rank] > sending[most]) most = rank;
  }
  const double most_ns = std::exchange(sending[most], 0.0);
  const bool is_slow = most_ns >= kSlowLinkShare * iteration_ns &&
                       most_ns >= kSlowLinkRatio * *std::ranges::max_element(sending);
  return is_slow ? std::optional(most) : std::nullopt;
}

double part_ns(std::int64_t counter) {
  return counter == kNotCounted ? kUnknownNs : static_cast<double>(counter);
}

/// `links`: whether the time that a rank sends is counted apart from its waiting.
JobStep job_step(const CountedSteps& counted, bool links) {
  JobStep step{.step = counted.step, .ranks = {}};
  std::int64_t longest_ns = 0;
  for (const RankCounters& rank : counted.ranks) {
    longest_ns = std::max(longest_ns, rank.waited_ns + rank.computed_ns);
    RankStep& parts = step.ranks.emplace_back();
    parts.blocked_ns = part_ns(rank.waited_ns);
    parts.compute_ns = part_ns(rank.computed_ns);
    if (links && rank.sending_ns != kNotCounted && rank.waited_ns != kNotCounted) {
      parts.transfer_ns = static_cast<double>(std::min(rank.sending_ns, rank.waited_ns));
      parts.blocked_ns -= parts.transfer_ns;
    }
  }
  // All ranks' steps take equally long, so what a rank neither computed nor waited is comparable.
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank) {
    const RankCounters& counters = counted.ranks[rank];
    if (counters.waited_ns == kNotCounted || counters.computed_ns == kNotCounted) continue;
    step.ranks[rank].host_ns =
        static_cast<double>(longest_ns - counters.waited_ns - counters.computed_ns);
  }
  return step;
}

}  // namespace

StragglerInput straggler_input(const std::vector<CountedSteps>& counted, double iteration_ns) {
  StragglerInput input;
  if (counted.empty() || !(iteration_ns > 0)) return input;
  const std::size_t ranks = counted.back().ranks.size();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    input.ranks.push_back(static_cast<std::int64_t>(rank));
  input.iteration_ns = iteration_ns;
  input.residual_ns = kCountersErrorShare * iteration_ns;
  const bool links = slow_link(counted, iteration_ns).has_value();
  for (const CountedSteps& steps : counted) {
    if (steps.ranks.size() == ranks) input.steps.push_back(job_step(steps, links));
  }
  return input;
}

nlohmann::json counted_stragglers_json(const std::vector<CountedSteps>& counted,
                                       double iteration_ns) {
  auto document = to_json(find_stragglers(straggler_input(counted, iteration_ns)));
  document.erase("collectives");
  std::size_t number = 0;
  for (nlohmann::json& rank : document["ranks"]) {
    for (const auto& [name, counter] : {std::pair{"waited_ns", &RankCounters::waited_ns},
                                        std::pair{"computed_ns", &RankCounters::computed_ns},
                                        std::pair{"processor_ns", &RankCounters::processor_ns},
                                        std::pair{"sending_ns", &RankCounters::sending_ns}}) {
      const double value = median_counter(counted, number, counter);
      if (value != double{kNotCounted}) rank[name] = value;
    }
    ++number;
  }
  return document;
}

}  // namespace hocket
