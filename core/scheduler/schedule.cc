#include "core/scheduler/schedule.h"

#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/collective/part_sizes.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

constexpr std::size_t kShownTaskNameBytes = 80;

}  // namespace

Schedule schedule_of(const ScheduleConfig& config,
                     std::optional<std::vector<std::uint32_t>> static_order, int rank, int ranks,
                     int servers) {
  const bool is_served = servers > 0 && config.communication == Communication::parameter_server;
  // Servers take parts in any order, so each rank decides its own.
  if (is_served || config.order != CollectiveOrder::static_order) static_order.reset();
  const bool has_static_order = static_order.has_value();
  return {.config = config,
          .static_order = StaticPartOrder(std::move(static_order)),
          .announces =
              config.order != CollectiveOrder::fifo && !has_static_order && ranks > 1 && !is_served,
          .plan = plan_options(config, has_static_order, rank, servers)};
}

Result<void> check_servers(const ScheduleConfig& config, int servers, bool is_placed) {
  if (config.communication != Communication::parameter_server) return {};
  const auto refused = [](const std::string& why) {
    return failure(Error{ErrorCode::invalid_argument, "communication=parameter_server: " + why});
  };
  if (servers == 0) {
    return refused(
        "the job has no parameter servers; start it with hocket run --servers N, or "
        "set communication=all_reduce");
  }
  if (is_partitioned(config)) {
    return refused("servers do not sum the gradients of a partitioned step; leave " +
                   names_text(KnobEffect::partitioning) +
                   " and regions at their defaults, or set communication=all_reduce");
  }
  if (is_placed)
    return refused(
        "servers do not sum the gradients of a step on a device of limited memory; set "
        "communication=all_reduce");
  return {};
}

StaticPartOrder::StaticPartOrder(std::optional<std::vector<std::uint32_t>> order)
    : exists_(order.has_value()) {
  if (order) order_ = std::move(*order);
  for (const std::uint32_t collective : order_) {
    if (collective >= parts_.size()) parts_.resize(collective + 1);
    ++parts_[collective];
  }
}

std::vector<std::uint64_t> StaticPartOrder::numbers_from(std::uint64_t first) const {
  std::vector<std::uint64_t> numbers;
  numbers.reserve(order_.size());
  for (const std::uint32_t collective : order_) numbers.push_back(first + collective);
  return numbers;
}

std::optional<Error> StaticPartOrder::check(std::size_t index, std::int64_t bytes,
                                            std::int64_t partition_bytes) const {
  const std::int64_t parts = part_count(bytes, partition_bytes);
  const std::int64_t expected = index < parts_.size() ? parts_[index] : 0;
  if (parts == expected) return std::nullopt;
  return Error{ErrorCode::invalid_argument,
               "order=static: collective " + std::to_string(index) + " of the step has " +
                   std::to_string(parts) + " parts, " + std::to_string(expected) +
                   " in the order; the order was made for another step, make it again from a "
                   "description of this one"};
}

std::optional<Error> StaticPartOrder::check_count(std::size_t collectives) const {
  if (collectives == 0 || collectives >= parts_.size()) return std::nullopt;
  return Error{ErrorCode::invalid_argument,
               "order=static: the step has " + std::to_string(collectives) +
                   " collectives, the order was made for " + std::to_string(parts_.size()) +
                   "; make it again from a description of this step"};
}

std::optional<Error> StaticPartOrder::check(const CapturedStep& step,
                                            std::int64_t partition_bytes) const {
  if (!exists()) return std::nullopt;
  std::size_t collectives = 0;
  for (const CapturedStep::Task& task : step.tasks()) {
    if (!task.is_collective) continue;
    if (auto error = check(collectives++, task.bytes, partition_bytes))
      return error->in("\"" + printable(task.name, kShownTaskNameBytes) + "\"");
  }
  return check_count(collectives);
}

}  // namespace hocket
