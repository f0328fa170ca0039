#include "client/live/live_job.h"

#include <algorithm>
#include <utility>

#include "core/collective/part_sizes.h"

namespace hocket {
namespace {

static_assert(Scheduler::kStepsAhead <= LiveBallot::kStepsAhead);

/// Adds the ballot of submit() to the orders from `static_order_of`, as the scheduler requires.
LiveBallotOptions with_ballot_in_orders(LiveJobOptions options, int world_size) {
  if (!options.static_order_of) return options;
  options.static_order_of = [of = std::move(options.static_order_of),
                             world_size](const ScheduleConfig& config) {
    return of(config).map([&](std::vector<std::uint32_t> order) {
      return with_ballot(std::move(order), world_size, config);
    });
  };
  return options;
}

}  // namespace

LiveJob::LiveJob(LiveJobOptions options, Scheduler& scheduler, DaemonLink* link, const Clock& clock)
    : scheduler_(scheduler),
      floats_data_(scheduler.add_data()),
      ballot_(with_ballot_in_orders(std::move(options), scheduler.world_size()), scheduler.rank(),
              scheduler.world_size(), link, clock),
      floats_(ballot_.size()) {}

void LiveJob::submit(DataId after) {
  // The compute tasks are tiny and urgent: the step after next is submitted only once they are
  // done. The all-reduce has the lowest priority because nothing waits for it soon.
  scheduler_.compute({.name = "ballot.contribute"}, {read(after), update(floats_data_)},
                     [this] { ballot_.fill(floats_); });
  scheduler_.all_reduce({.name = "ballot", .priority = kPriorityLevels - 1}, floats_data_, floats_);
  scheduler_.compute({.name = "ballot.tally"}, {update(floats_data_)},
                     [this] { ballot_.read(floats_); });
}

Result<void> LiveJob::step_submitted() {
  auto next = ballot_.step_ended();
  if (!next) return {};
  // An order that exists has the ballot's parts.
  std::optional<std::vector<std::uint32_t>> order;
  if (!next->static_order.empty()) order = std::move(next->static_order);
  return scheduler_.reconfigure(next->config, std::move(order));
}

std::vector<std::uint32_t> with_ballot(std::vector<std::uint32_t> order, int world_size,
                                       const ScheduleConfig& config) {
  const std::uint32_t ballot = order.empty() ? 0 : *std::ranges::max_element(order) + 1;
  const auto bytes = LiveBallot::size_for(world_size) * sizeof(float);
  const auto parts = part_count(static_cast<std::int64_t>(bytes), config.partition_bytes);
  order.insert(order.end(), static_cast<std::size_t>(parts), ballot);
  return order;
}

}  // namespace hocket
