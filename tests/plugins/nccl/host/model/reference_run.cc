#include "tests/plugins/nccl/host/model/reference_run.h"

#include <algorithm>
#include <functional>

#include "tests/plugins/nccl/host/model/stream_clocks.h"
#include "tests/plugins/nccl/host/model/task_order.h"

namespace hocket::nccl_host {
namespace {

using Visit = std::function<void(int communicator, const Shape&)>;

/// Walks through the steps as rank 0 and tells `visit` about each collective when it is launched.
class Walk {
 public:
  Walk(const Options& options, Visit visit, StreamClocks* clocks)
      : options_(options), visit_(std::move(visit)), clocks_(clocks) {
    const Workload& workload = options.workload;
    for (int i = 0; i < static_cast<int>(workload.communicators.size()); ++i) {
      places_.push_back(membership(workload, i, 0, options.ranks, options.nodes));
    }
    graphs_.resize(workload.graphs);
    run(workload.setup);
  }

  void run(const std::vector<Step>& steps) {
    for (const Step& step : steps) run(step);
  }

 private:
  void run(const Step& step) {
    switch (step.kind) {
      case StepKind::compute:
        if (clocks_ != nullptr) clocks_->compute(step.compute_us);
        return;
      case StepKind::wait:
        if (clocks_ != nullptr) clocks_->wait(step.communicator);
        return;
      case StepKind::collective:
        pending_[step.communicator].push_back(task_of(step, places_[step.communicator].ranks));
        if (!in_group_) launch(true);
        return;
      case StepKind::group:
        in_group_ = true;
        return;
      case StepKind::group_end:
      case StepKind::simulate_end:
        in_group_ = false;
        return launch(step.kind == StepKind::group_end);
      case StepKind::capture:
        captured_ = &graphs_[step.graph];
        return;
      case StepKind::capture_end:
        captured_ = nullptr;
        return;
      case StepKind::replay:
        for (const auto& [communicator, shape] : graphs_[step.graph]) visit_(communicator, shape);
        return;
    }
  }

  void launch(bool executes) {
    for (auto& [communicator, tasks] : pending_) {
      const Membership& place = places_[communicator];
      std::erase_if(tasks, [](const Task& task) { return task.count == 0; });
      if (!executes || place.ranks == 1) continue;
      for (const Aggregate& aggregate : aggregates(tasks, place.ranks)) {
        const Shape shape{aggregate.tasks[0].function, aggregate.bytes, place.ranks, place.nodes};
        if (captured_ != nullptr) {
          captured_->emplace_back(communicator, shape);
        } else {
          visit_(communicator, shape);
        }
      }
    }
    pending_.clear();
  }

  const Options& options_;
  Visit visit_;
  StreamClocks* clocks_;
  std::vector<Membership> places_;
  std::map<int, std::vector<Task>> pending_;
  std::vector<std::vector<std::pair<int, Shape>>> graphs_;
  std::vector<std::pair<int, Shape>>* captured_ = nullptr;
  bool in_group_ = false;
};

}  // namespace

Settings default_settings(const Options& options, const CostModel& model) {
  Settings settings;
  Walk walk(
      options, [&](int, const Shape& shape) { settings[shape] = model.default_choice(shape); },
      nullptr);
  walk.run(options.workload.iteration);
  return settings;
}

double iteration_us(const Options& options, const CostModel& model, const Settings& settings) {
  StreamClocks clocks(model, static_cast<int>(options.workload.communicators.size()));
  Walk walk(
      options,
      [&](int communicator, const Shape& shape) {
        const Choice& choice = settings.at(shape);
        const double begin_us = clocks.ready_us(communicator);
        clocks.occupy(communicator, begin_us, begin_us + model.true_us(shape, choice),
                      choice.channels);
      },
      &clocks);
  clocks.wait_for_all();
  const double begin_us = clocks.computation_us();
  walk.run(options.workload.iteration);
  clocks.wait_for_all();
  return clocks.computation_us() - begin_us;
}

Settings best_settings(const Options& options, const CostModel& model) {
  Settings best = default_settings(options, model);
  double least_us = iteration_us(options, model, best);
  bool improves = true;
  while (improves) {
    improves = false;
    for (auto& [shape, setting] : best) {
      for (const Choice& choice : model.choices(shape)) {
        const Choice previous = setting;
        setting = choice;
        const double us = iteration_us(options, model, best);
        if (us < least_us * (1 - 1e-9)) {
          least_us = us;
          improves = true;
        } else {
          setting = previous;
        }
      }
    }
  }
  return best;
}

}  // namespace hocket::nccl_host
