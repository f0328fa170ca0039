#include "core/partitioning/step_partition.h"

#include <utility>

#include "core/description/step_programs.h"
#include "core/partitioning/bucket_fusion.h"
#include "core/partitioning/launch_order.h"
#include "core/partitioning/micro_batch_order.h"
#include "core/partitioning/region_rules.h"
#include "core/partitioning/task_pieces.h"
#include "core/partitioning/workload_cuts.h"
#include "core/step/knob.h"

namespace hocket {
namespace {

PartitionedStep as_it_is(StepDescription step) {
  PartitionedStep result{std::move(step), {}};
  result.origins.reserve(result.step.tasks.size());
  for (std::uint32_t i = 0; i < result.step.tasks.size(); ++i) {
    const bool is_collective = result.step.tasks[i].collective.has_value();
    const auto end = is_collective ? partitioning::cut_collective(result.step, {i}, {}).bytes : 0;
    result.origins.push_back({{i}, 0, 0, end});
  }
  return result;
}

}  // namespace

Result<PartitionedStep> partition_step(const StepDescription& step, const ScheduleConfig& config) {
  HOCKET_TRY(check_same_on_all_ranks(step, "partitioning"));
  StepDescription general = expand(step);
  if (!is_partitioned(config)) return as_it_is(std::move(general));

  using namespace partitioning;
  const auto rules = resolve_rules(general, config);
  HOCKET_TRY(rules);
  const auto order = order_micro_batches(general, config.micro_batches_kept);
  HOCKET_TRY(order);
  auto made = make_pieces(general, *rules, join_buckets(general, *rules, *order));
  HOCKET_TRY(made);

  auto pieces = defer_launches(std::move(made->pieces), made->data.size());
  prioritise_computations(pieces, made->data.size(), config.compute_order, *rules);
  limit_streams(pieces, made->data, *rules, config.streams);

  PartitionedStep result{std::move(general), {}};
  result.step.data = std::move(made->data);
  result.step.tasks.clear();
  result.step.tasks.reserve(pieces.size());
  result.origins.reserve(pieces.size());
  for (Piece& piece : pieces) {
    result.step.tasks.push_back(std::move(piece.task));
    result.origins.push_back(std::move(piece.origin));
  }
  return result;
}

}  // namespace hocket
