#include "core/partitioning/micro_batch_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "core/partitioning/conflict_order.h"

namespace hocket::partitioning {
namespace {

/// Group, index within the micro-batch, micro-batch, and tie-breaker.
using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

struct MicroBatch {
  /// Index among the micro-batches of the step.
  std::uint32_t number = 0;
  std::uint32_t computations = 0;
};

/// Returns the micro-batches by the number that tasks give.
std::map<std::uint32_t, MicroBatch> micro_batches_of(const StepDescription& step) {
  std::map<std::uint32_t, MicroBatch> batches;
  for (const StepTask& task : step.tasks) {
    if (task.place.micro_batch != kNoMicroBatch) batches[task.place.micro_batch];
  }
  std::uint32_t number = 0;
  for (auto& [name, batch] : batches) batch.number = number++;
  return batches;
}

std::vector<Key> keys_of(const StepDescription& step, std::map<std::uint32_t, MicroBatch> batches,
                         std::uint32_t kept) {
  // Micro-batches that the first group lacks count as present.
  const auto lacking = (kept - static_cast<std::uint32_t>(batches.size()) % kept) % kept;
  std::vector<Key> keys;
  keys.reserve(step.tasks.size());
  Key last{0, 0, 0, 0};
  for (std::uint32_t i = 0; i < step.tasks.size(); ++i) {
    const StepTask& task = step.tasks[i];
    if (task.place.micro_batch != kNoMicroBatch && !task.collective) {
      MicroBatch& batch = batches[task.place.micro_batch];
      last = {(batch.number + lacking) / kept, ++batch.computations, batch.number, i};
    }
    std::get<3>(last) = i;
    keys.push_back(last);
  }
  return keys;
}

}  // namespace

Result<std::vector<std::uint32_t>> order_micro_batches(const StepDescription& step, int kept) {
  std::vector<std::uint32_t> order(step.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  if (kept <= 1) return order;
  auto batches = micro_batches_of(step);
  const auto at_once = std::min<std::int64_t>(kept, static_cast<std::int64_t>(batches.size()));
  if (at_once <= 1) return order;

  const std::int64_t each_bytes = step.micro_batch_bytes, limit_bytes = step.memory_limit_bytes;
  if (limit_bytes > 0 && each_bytes > 0 && at_once > limit_bytes / each_bytes) {
    const std::int64_t fit = std::max<std::int64_t>(limit_bytes / each_bytes, 1);
    return invalid("micro_batches_kept: found " + std::to_string(kept) + ", but " +
                   std::to_string(at_once) + " micro-batches of " + std::to_string(each_bytes) +
                   " bytes are above the step's memory_limit_bytes, " +
                   std::to_string(limit_bytes) + "; the most that fits is " + std::to_string(fit));
  }
  const auto keys = keys_of(step, std::move(batches), static_cast<std::uint32_t>(at_once));
  return conflict_order(keys, step.data.size(), [&](std::size_t i) -> const std::vector<Access>& {
    return step.tasks[i].accesses;
  });
}

}  // namespace hocket::partitioning
