#include "cli/verbs/simulation/simulation_record.h"

#include <cerrno>
#include <cstring>

#include "core/sim/rank_groups.h"
#include "core/step/schedule_config.h"
#include "profiler/formats/chrome_trace.h"

namespace hocket {
namespace {

/// Returns the options of the simulated rank's plan.
PlanOptions plan_of(const StepDescription& step, const ScheduleConfig& config, std::int64_t rank) {
  PartOrder order = PartOrder::fifo;
  if (config.order == CollectiveOrder::static_order) order = PartOrder::announced;
  if (config.order == CollectiveOrder::negotiated) {
    // A rank equivalent to rank 0 is simulated together with it.
    const bool leads = group_of(step, rank_groups(step), rank) == 0;
    order = leads ? PartOrder::priority : PartOrder::announced;
  }
  return {.partition_bytes = is_partitioned(config) ? kPiecesAreWholeBytes : config.partition_bytes,
          .credit_bytes = config.credit_bytes,
          .order = order};
}

}  // namespace

Result<void> SimulationRecord::File::open() {
  stream.open(path, std::ios::binary | std::ios::trunc);
  if (stream) return {};
  return failure(ErrorCode::unavailable, "cannot write " + path + ": " + std::strerror(errno));
}

Result<void> SimulationRecord::File::close() {
  stream.close();
  if (stream) return {};
  return failure(ErrorCode::unavailable,
                 "could not write all of " + path + "; is there room on the disk?");
}

Result<std::unique_ptr<SimulationRecord>> SimulationRecord::create(const std::string& trace_path,
                                                                   const std::string& tape_path,
                                                                   const StepDescription& step,
                                                                   const ScheduleConfig& config,
                                                                   std::int64_t rank) {
  std::unique_ptr<SimulationRecord> record(new SimulationRecord(trace_path, tape_path, rank));
  if (!trace_path.empty()) {
    HOCKET_TRY(record->trace_file_.open());
    record->trace_.emplace(step, rank);
  }
  if (!tape_path.empty()) {
    HOCKET_TRY(record->tape_file_.open());
    const TapeHeader header{.plan = plan_of(step, config, rank),
                            .rank = rank,
                            .ranks = step.ranks,
                            .virtual_time = true,
                            .name = step.name,
                            .axes = step.mesh,
                            .ranks_per_host = step.ranks_per_host};
    record->tape_.emplace(header, record->clock_,
                          [&stream = record->tape_file_.stream](std::string_view bytes) {
                            stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                          });
  }
  return record;
}

void SimulationRecord::attach(SimulationOptions& options) {
  options.watched_rank = rank_;
  options.clock = &clock_;
  if (trace_) options.trace = &*trace_;
  if (tape_) options.observer = &*tape_;
}

Result<void> SimulationRecord::finish() {
  if (trace_) {
    ChromeTraceWriter writer(trace_file_.stream);
    writer.write(trace_->take());
    // A failed stream stays failed until it is closed, so close() reports the error.
    (void)writer.finish();
    if (auto ok = trace_file_.close(); !ok) return ok;
  }
  if (tape_) {
    tape_.reset();
    if (auto ok = tape_file_.close(); !ok) return ok;
  }
  return {};
}

}  // namespace hocket
