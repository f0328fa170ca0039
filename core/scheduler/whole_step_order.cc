#include "core/scheduler/whole_step_order.h"

#include <deque>

#include "core/base/check.h"

namespace hocket {

std::vector<StepEntry> sequence_of(const std::shared_ptr<const CapturedStep>& step,
                                   const PlanOptions& options,
                                   std::span<const std::uint32_t> static_order) {
  Plan plan(options);
  const std::vector<std::uint64_t> announced(static_order.begin(), static_order.end());
  if (options.order == PartOrder::announced) plan.announce(announced);
  plan.launch(step);
  std::vector<StepEntry> sequence;
  // Bytes of the parts that hold credit, in order.
  std::deque<std::int64_t> in_flight;
  std::uint64_t parts = 0;
  while (plan.unfinished() > 0) {
    if (const auto part = plan.next_part()) {
      const std::uint64_t ended = parts - in_flight.size();
      sequence.push_back({.task = step->index_of(part->task),
                          .is_part = true,
                          .part = parts++,
                          .offset_bytes = part->offset_bytes,
                          .bytes = part->bytes,
                          .after_part = ended == 0 ? std::nullopt : std::optional(ended - 1)});
      in_flight.push_back(part->bytes);
      plan.issue_part(part->task);
    } else if (const auto task = plan.next_compute()) {
      sequence.push_back({.task = step->index_of(*task), .after_part = {}});
      plan.finish_compute(*task);
    } else {
      HOCKET_CHECK(!in_flight.empty(), "the static order does not fit the step");
      plan.return_credit(in_flight.front());
      in_flight.pop_front();
    }
  }
  return sequence;
}

}  // namespace hocket
