#pragma once

// Submits a model's operations to the scheduler. Threading as in Scheduler.

#include <string_view>
#include <utility>

#include "core/scheduler/scheduler.h"
#include "job/step/submitter.h"

namespace hocket {

class SchedulerSubmitter final : public Submitter {
 public:
  /// If `is_serial`, each collective runs alone: it waits for all that was submitted before it, and
  /// returns when it is done.
  explicit SchedulerSubmitter(Scheduler& scheduler, bool is_serial = false)
      : scheduler_(scheduler), is_serial_(is_serial) {}

  RankGrid grid() const override { return scheduler_.grid(); }
  DataId add_data(const DataPlace& place, std::string_view name) override {
    return scheduler_.add_data(place, name);
  }
  void compute(const TaskOptions& options, std::span<const Access> accesses,
               TaskBody body) override {
    scheduler_.compute(options, accesses, std::move(body));
  }
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                      PieceBody body) override {
    scheduler_.compute_pieces(options, accesses, std::move(body));
  }
  void all_reduce(const TaskOptions& options, DataId data, std::span<float> values) override {
    collective([&] { scheduler_.all_reduce(options, data, values); });
  }
  void optimizer_step(const TaskOptions& options, DataId data, std::span<float> values,
                      const OptimizerStep& step) override {
    collective([&] { scheduler_.optimizer_step(options, data, values, step); });
  }
  void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values) override {
    collective([&] { scheduler_.reduce_scatter(options, data, values); });
  }
  void all_gather(const TaskOptions& options, DataId data, std::span<float> values) override {
    collective([&] { scheduler_.all_gather(options, data, values); });
  }

 private:
  template <class Submit>
  void collective(Submit submit) {
    // end_step() returns a failure of the scheduler.
    if (is_serial_) (void)scheduler_.synchronize();
    submit();
    if (is_serial_) (void)scheduler_.synchronize();
  }

  Scheduler& scheduler_;
  const bool is_serial_;
};

}  // namespace hocket
