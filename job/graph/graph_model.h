#pragma once

// A graph with its optimiser as a model that is trained on the scheduler: each operation is a task,
// which accesses the memory of its values, so that the scheduler derives what may run at the same
// time; gradients of a region's parameters are summed over ranks together, as soon as they are
// there.
//
//   auto model = GraphModel::create(graph, table, KernelDevice::host, host_kernel_memory(),
//                                   {.ranks = grid, .steps = 100, .draw = …});
//   (*model)->values("block0.mlp.up.weight") …            // write initial parameters
//   Scheduler scheduler(…);                                // after the model
//   SchedulerSubmitter submitter(scheduler);
//   (*model)->attach(submitter);
//   for (step…) { (*model)->draw(step); (*model)->submit_tasks(); scheduler.end_step(); }
//
// One thread calls; the tasks run wherever the submitter runs them.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/protocol/workload.h"
#include "core/scheduler/scheduler.h"
#include "core/step/rank_grid.h"
#include "job/graph/memory_hazards.h"
#include "job/step/submitter.h"
#include "job/step/trained_model.h"
#include "kernels/prepared_graph.h"

namespace hocket {

struct GraphModelOptions {
  /// With several ranks the graph has its optimiser for as many (OptimiserOptions::ranks).
  RankGrid grid = {};
  /// Steps that are trained; the single numbers that are outputs are kept for each.
  std::int64_t steps = 1;
  /// Operations by which memory stays after its last use (MemoryOptions::slack_operations).
  std::int64_t slack_operations = 0;
  /// Writes an input of a step, of the type that the graph says.
  std::function<void(std::int64_t step, std::string_view input, std::span<std::byte> bytes)> draw =
      {};
};

/// Returns the parts of a model whose gradients are summed together, with the bytes of these, in
/// the order of the graph: what a configuration of the job depends on.
std::vector<TensorSpec> gradient_groups(const Graph& graph);

class GraphModel final : public TrainedModel {
 public:
  /// Finds kernels and allocates all memory; parameters are 0. Errors of PreparedGraph::prepare(),
  /// and invalid_argument for several ranks without gradients of float32 to sum.
  static Result<std::unique_ptr<GraphModel>> create(Graph graph, const KernelTable& table,
                                                    KernelDevice device, KernelMemory& memory,
                                                    GraphModelOptions options);
  GraphModel(const GraphModel&) = delete;
  GraphModel& operator=(const GraphModel&) = delete;

  void attach(Submitter& submitter) override;
  void draw(std::int64_t step) override;
  void submit_tasks() override;
  DataId first_gradient() override;
  RankGrid grid() const override { return options_.grid; }
  bool divides() const override { return true; }

  const PreparedGraph& prepared() const { return *prepared_; }
  /// Returns the memory of a parameter, while no task runs. Requires that there is one of this
  /// name.
  std::span<std::byte> values(std::string_view parameter) { return prepared_->leaf(parameter); }
  /// Returns a single float32 output of a finished step; NaN before. Requires that there is one.
  float output(std::string_view name, std::int64_t step) const;

 private:
  static constexpr std::int64_t kDrawnSteps = Scheduler::kStepsAhead + 1;

  /// An input, drawn for several steps ahead, from where a task takes it.
  struct Input {
    std::string name;
    ValueId value;
    std::size_t bytes = 0;
    std::vector<std::byte> drawn = {};  ///< by step, modulo kDrawnSteps
    std::int64_t loaded = 0;            ///< steps whose values were taken
  };

  /// A single number that is kept for each step.
  struct Kept {
    ValueId value;
    std::vector<float> steps = {};
    std::size_t written = 0;
    DataId data = {};  ///< orders the writes
  };

  /// Parameters whose gradients are summed together.
  struct Group {
    std::string name;
    std::vector<ValueId> gradients = {};
    DataId data = {};
  };

  /// A task with what the scheduler is told of it.
  struct Submitted {
    std::string name;
    TaskPlace place = {};
    std::uint32_t priority = 0;
    std::vector<Access> accesses = {};
    std::vector<std::size_t> sums_after = {};  ///< groups whose gradients are there after it
  };

  explicit GraphModel(GraphModelOptions options) : options_(std::move(options)) {}

  static Result<std::vector<Group>> find_groups(const Graph& graph, const RankGrid& grid);
  void describe_tasks();
  void describe_operations();
  void describe_inputs();
  void describe_outputs();
  void describe_sums();
  std::uint32_t layer_of(std::string_view region) const;
  /// The derivative is the most urgent, from the last layer to the first, since gradients are sent
  /// on; then come updates and the next step, in the order in which it needs them. What no other
  /// layer needs may wait.
  std::uint32_t priority_of(const Operation& operation, bool may_wait) const;
  void add_data(Submitter& submitter);
  void add_accesses();
  void submit(std::size_t task);
  void load(Input& input);
  DataId data_of(ValueId value) const;
  TaskOptions options_of(const Submitted& task) const;

  const GraphModelOptions options_;
  std::unique_ptr<PreparedGraph> prepared_;
  std::vector<Group> groups_;
  std::vector<std::string> layers_;  ///< parts of the model in the order of the graph
  std::deque<Input> inputs_;
  std::map<std::string, Kept, std::less<>> kept_;
  std::int64_t drawn_ = 0;

  std::vector<ArenaBlock> blocks_;
  std::vector<std::vector<std::size_t>> before_;  ///< by block
  std::vector<Submitted> tasks_;                  ///< as those of the prepared graph
  std::vector<Submitted> loads_;                  ///< by input
  std::map<std::string, Submitted, std::less<>> keeps_;
  std::vector<Submitted> moves_;
  std::vector<Submitted> sums_;  ///< by group

  Submitter* submitter_ = nullptr;
  std::vector<DataId> data_;     ///< by value that owns memory
  std::vector<DataId> scratch_;  ///< by operation
};

}  // namespace hocket
