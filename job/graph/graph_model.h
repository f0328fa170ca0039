#pragma once

// A graph with its optimiser as a model that is trained on the scheduler: each operation is a task,
// which accesses the memory of its values, so that the scheduler derives what may run at the same
// time; gradients of a region's parameters are summed over ranks together, as soon as they are
// there.
//
//   auto model = GraphModel::create(graph, table, KernelDevice::host, host_kernel_memory(),
//                                   {.grid = grid, .steps = 100, .draw = …});
//   (*model)->write("block0.mlp.up.weight", …) …          // initial parameters
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/collective/optimizer_step.h"
#include "core/graph/graph.h"
#include "core/placement/offload_memory.h"
#include "core/scheduler/scheduler.h"
#include "core/step/rank_grid.h"
#include "job/graph/gradient_groups.h"
#include "job/graph/graph_tasks.h"
#include "job/graph/memory_hazards.h"
#include "job/step/submitter.h"
#include "job/step/trained_model.h"
#include "kernels/prepared_graph.h"

namespace hocket {

/// Runs all units of a kernel, in ranges that may run at the same time.
using RunUnits = std::function<Result<void>(std::int64_t units,
                                            const std::function<Result<void>(UnitRange)>& run)>;

struct GraphModelOptions {
  /// With several ranks the graph has its optimiser for sums (OptimiserOptions::sums).
  RankGrid grid = {};
  int rank = 0;
  /// Steps that are trained; the single numbers that are outputs are kept for each.
  std::int64_t steps = 1;
  /// Operations by which memory stays after its last use (MemoryOptions::slack_operations).
  std::int64_t slack_operations = 0;
  /// Micro-batches that have memory of their own (MemoryOptions::micro_batches_kept).
  std::int64_t micro_batches_kept = 1;
  /// Limit of the memory; 0: what there is.
  std::int64_t memory_limit_bytes = 0;
  /// Keeps on each rank only the optimiser's states of its own blocks of the parameters, which the
  /// ranks then gather.
  bool shards_optimiser = false;
  /// The step that parameter servers make of sums, for graphs whose optimiser is
  /// OptimiserMethod::served.
  std::optional<OptimizerStep> served = {};
  /// The memories that steps are placed on, which outlive the model; null: the device has room for
  /// a whole step. The graph has its optimiser for sums, and the table has the optimiser's kernels
  /// for the host.
  OffloadMemory* placed = nullptr;
  /// Runs the units of an update on the host beside a device; empty: one after the other.
  RunUnits run_on_host = {};
  /// Writes an input of a step, of the type that the graph says.
  std::function<void(std::int64_t step, std::string_view input, std::span<std::byte> bytes)> draw =
      {};
};

class GraphModel final : public TrainedModel {
 public:
  /// Finds kernels and allocates all memory; parameters are 0. Errors of PreparedGraph::prepare(),
  /// and invalid_argument for several ranks without gradients of float32 to sum, and where
  /// something is done to gradients that sharded and placed updates need as they are.
  static Result<std::unique_ptr<GraphModel>> create(Graph graph, const KernelTable& table,
                                                    KernelDevice device, KernelMemory& memory,
                                                    GraphModelOptions options);
  ~GraphModel() override;
  GraphModel(const GraphModel&) = delete;
  GraphModel& operator=(const GraphModel&) = delete;

  void attach(Submitter& submitter) override;
  void draw(std::int64_t step) override;
  void submit_tasks() override;
  DataId first_gradient() override;
  RankGrid grid() const override { return options_.grid; }
  bool divides() const override { return device_ == KernelDevice::host; }
  MicroBatchMemory micro_batch_memory() const override;

  const PreparedGraph& prepared() const { return *prepared_; }
  /// Write and read a parameter, while no task runs: of a state of a sharded optimiser this rank's
  /// part. Require a parameter of this name and, to write, as many bytes as it has. unavailable
  /// where a device fails.
  Result<void> write(std::string_view parameter, std::span<const std::byte> bytes);
  Result<std::vector<std::byte>> read(std::string_view parameter) const;
  /// Returns a single float32 output of a finished step; NaN before. Requires that there is one.
  float output(std::string_view name, std::int64_t step) const;
  /// Returns the bytes of the optimiser's states on this rank.
  std::int64_t optimiser_bytes() const;

 private:
  static constexpr std::int64_t kDrawnSteps = Scheduler::kStepsAhead + 1;

  /// Values that are taken or kept in turn, with their memory.
  struct Queue {
    StepValues values;
    KernelMemory::Block memory, counter;
  };

  /// An input, drawn for several steps ahead, from where a task takes it.
  struct Input {
    std::string name;
    ValueId value;
    Queue drawn;
    DescribedTask load;
    std::vector<Access> accesses = {};
  };

  /// A copy of an input, such as the rate, for updates of a layer that may be the host's. It is
  /// taken where the layer is updated, and so in the order of its updates.
  struct HostInput {
    ValueId value;
    std::int64_t layer = kNoLayer;
    Queue drawn;
    KernelMemory::Block memory;
    DescribedTask load;
    DataId data = {};
  };

  /// A single number that is kept for each step.
  struct Kept {
    std::string name;
    ValueId value;
    Queue steps;
    DescribedTask task;
    DataId data = {};  ///< orders the writes
    std::vector<Access> accesses = {};
  };

  /// A group with its data and the tasks that communicate it.
  struct Group {
    GradientGroup of;
    DescribedTask sum, gather, count;
    DataId gradients = {}, parameters = {};
    /// The next step of the servers.
    OptimizerStep served = {};
  };

  /// A task of an operation.
  struct Computed {
    DescribedTask task;
    std::vector<Access> accesses = {};
    std::vector<std::size_t> sums_after = {};     ///< groups whose gradients are there after it
    std::vector<std::size_t> gathers_after = {};  ///< groups whose parameters are
    std::unique_ptr<Kernel> on_host = {};         ///< of updates that may be placed there
  };

  GraphModel(KernelDevice device, KernelMemory& memory, GraphModelOptions options)
      : device_(device), memory_(memory), options_(std::move(options)) {}

  Result<void> prepare(Graph graph, const KernelTable& table);
  Result<void> find_groups(const Graph& graph);
  Result<Queue> make_queue(KernelMemory& memory, std::int64_t bytes, std::int64_t count);
  Result<void> describe_operations(const GraphTasks& tasks, const KernelTable& table);
  Result<void> describe_inputs(const GraphTasks& tasks);
  Result<void> describe_host_inputs(const GraphTasks& tasks);
  Result<void> describe_outputs(const GraphTasks& tasks);
  void describe_groups(const GraphTasks& tasks);

  void find_parameter_places();
  void add_data(Submitter& submitter);
  DataPlace place_of(ValueId owner) const;
  void add_to_placed();
  void add_accesses();
  void add_slices(Computed& computed, const PreparedGraph::Task& task) const;
  /// Returns the slice of a group that units of a task access of one value; none for values of no
  /// group.
  std::optional<DimensionSlice> slice_of(const PreparedGraph::Task& task, ValueId value,
                                         UnitBytes unit) const;
  void touch(std::vector<Access>& accesses, ValueId value, AccessMode mode) const;
  DataId data_of(ValueId value) const { return data_[owner_of(value).index]; }
  ValueId owner_of(ValueId value) const { return prepared_->plan().owners[value.index]; }

  bool is_placed() const { return options_.placed != nullptr; }
  /// Parameters of a group are gathered, or copied between a device and its host, together.
  bool groups_parameters() const { return options_.shards_optimiser || is_placed(); }
  bool is_on_host(ValueId parameter) const;
  std::byte* placed_on_device(ValueId owner) const;
  std::byte* placed_on_host(ValueId owner, std::int64_t layer) const;
  void run(std::size_t task, UnitRange units) const;
  void run_piece(std::size_t task, const TaskPiece& piece) const;
  void submit(std::size_t task);
  void submit_sum(std::size_t group);
  void submit_gather(std::size_t group);

  const KernelDevice device_;
  KernelMemory& memory_;
  const GraphModelOptions options_;
  std::unique_ptr<PreparedGraph> prepared_;
  std::deque<Group> groups_;
  std::deque<Input> inputs_;
  std::deque<HostInput> host_inputs_;
  std::deque<Kept> kept_;
  std::int64_t drawn_ = 0;

  std::vector<ArenaBlock> blocks_;
  std::vector<std::vector<std::size_t>> before_;  ///< by block
  std::deque<Computed> tasks_;                    ///< as those of the prepared graph
  std::vector<DescribedTask> moves_;
  std::vector<std::vector<Access>> move_accesses_;
  std::vector<std::int64_t> layers_;  ///< by value: of its parameter, or kNoLayer
  /// By value: the group of parameters in whose memory a parameter is, and how many bytes later.
  std::vector<std::optional<GroupPlace>> parameter_places_;

  Submitter* submitter_ = nullptr;
  std::vector<DataId> data_;     ///< by value that owns memory
  std::vector<DataId> scratch_;  ///< by operation
};

}  // namespace hocket
