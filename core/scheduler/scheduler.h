#pragma once

// The front of the core: submit a step's tasks, wait for nothing. The scheduler finds the
// dependencies in what tasks read and write, and an executor runs them as they become free.
//
//   Scheduler scheduler(config, executor);
//   DataId x = scheduler.add_data(), gradient = scheduler.add_data();
//   scheduler.compute({.name = "backward", .priority = 3}, {read(x), write(gradient)}, [&] { … });
//   scheduler.all_reduce({.name = "gradient", .priority = 3}, gradient, values);
//   auto ok = scheduler.end_step();   // next step may be submitted at once
//
// A step that repeats can be captured once and replayed, which derives nothing again:
//
//   scheduler.begin_capture();
//   … submit the step …
//   auto step = scheduler.end_capture();
//   for (…) auto ok = scheduler.replay(step);
//
// Where the configuration partitions steps (core/partitioning/step_partition.h), the first one runs
// as it is submitted, and the others as it says. A step that is another one than the first is
// waited for.
//
// One thread submits. Tasks that touch the same data run as if one after the other in the order of
// submission; all others may run at once. Every rank must submit the same collectives in the same
// order.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/scheduler/executor.h"
#include "core/scheduler/step_follower.h"
#include "core/scheduler/whole_step_order.h"
#include "core/scheduler/work_exchange.h"
#include "core/step/rank_grid.h"
#include "core/step/schedule_config.h"
#include "core/step/task.h"
#include "core/step/task_body.h"
#include "core/trace/trace_sink.h"

namespace hocket {

struct SchedulerOptions {
  /// Receives what ran, if not null.
  TraceSink* trace = nullptr;
  /// Receives what was decided, if not null; called under the scheduler's lock.
  PlanObserver* observer = nullptr;
  /// For order=static: the collectives of a step, one entry a part, in the order in which their
  /// parts start, the same on every rank (core/sim/simulator.h, static_order()). When it is empty,
  /// order=static is order=negotiated.
  std::vector<std::uint32_t> static_order = {};
};

/// How rank `rank` of a scheduler plans, whether by a static order or not; for a tape's header.
PlanOptions plan_options(const ScheduleConfig& config, bool has_static_order, int rank);

class Scheduler final : private WorkSource {
 public:
  /// Starts `executor`. `config` must be valid and equal on all ranks. The executor and what
  /// `options` points to must outlive the scheduler.
  Scheduler(const ScheduleConfig& config, Executor& executor, SchedulerOptions options = {});

  /// Waits for everything submitted (or for the failure), then stops the executor.
  ~Scheduler() override;

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// A new piece of data, not accessed yet.
  DataId add_data();

  /// Submits `body`, to run once after all earlier tasks that it conflicts with. An exception from
  /// it fails the scheduler.
  void compute(const TaskOptions& options, std::initializer_list<Access> accesses, TaskBody body) {
    compute(options, std::span(accesses.begin(), accesses.size()), std::move(body));
  }
  void compute(const TaskOptions& options, std::span<const Access> accesses, TaskBody body);

  /// The same of a computation that may be divided along any of the dimensions of `options.place`,
  /// of which there must be one. Undivided, it is all of the first.
  void compute_pieces(const TaskOptions& options, std::span<const Access> accesses, PieceBody body);

  /// Submits a sum of `values` over all ranks, in place; it updates `data`, which stands for them.
  /// `values` must stay valid until the task has run.
  void all_reduce(const TaskOptions& options, DataId data, std::span<float> values);
  /// The same, but a rank gets the sum in its own block of `values` alone (block_range() of
  /// core/step/rank_grid.h), and nothing in particular in the others.
  void reduce_scatter(const TaskOptions& options, DataId data, std::span<float> values);
  /// Each rank's block of `values` goes to all ranks.
  void all_gather(const TaskOptions& options, DataId data, std::span<float> values);

  /// Ends the step. Returns at once unless more than kStepsAhead steps are unfinished. The error,
  /// if any rank or task has failed; after that submissions are ignored.
  Result<void> end_step();

  /// What is submitted until end_capture() is kept instead of run. Nothing ends a step meanwhile.
  void begin_capture();
  class Capture;
  std::shared_ptr<Capture> end_capture();

  /// Submits a captured step again, as a step of its own, and ends it like end_step(). Its bodies
  /// run once each time; two runs of a body that only reads may overlap. What was submitted in
  /// another way before is waited for.
  ///
  /// With step_issue=graph an executor that runs whole steps gets them as such, unless the order of
  /// collectives is negotiated between ranks, or an observer wants to know of the tasks. Then
  /// bodies run only as often as StepWork says, one step begins when the one before has ended, and
  /// a step that is another one, or is configured anew, when all before have; a trace has one
  /// compute event a step, named "step", of kWholeStep (core/trace/task_marker.h). Otherwise steps
  /// go task by task, as does the first one where the configuration partitions steps.
  Result<void> replay(const std::shared_ptr<Capture>& step);

  /// Blocks until everything submitted is done. For the end of a job, not for use inside a step.
  Result<void> synchronize();

  /// Goes on with another configuration; between steps, and after the same step on every rank.
  /// `static_order` is as in SchedulerOptions, of parts of the new size. A new partition_bytes,
  /// credit_bytes or step_issue alone holds nothing up, unless steps are or were run as a whole:
  /// what is submitted from now on is cut anew, what runs stays as it is. Otherwise everything
  /// submitted is waited for, and the executor starts anew. invalid_argument as validate() says,
  /// which changes nothing; or the scheduler's error.
  Result<void> reconfigure(const ScheduleConfig& config,
                           std::vector<std::uint32_t> static_order = {});

  int rank() const { return executor_.rank(); }
  int world_size() const { return executor_.world_size(); }
  RankGrid grid() const { return {executor_.world_size(), executor_.ranks_per_host()}; }

  /// Unfinished steps that end_step() lets run before it holds the submitter back.
  static constexpr std::int64_t kStepsAhead = 1;

 private:
  /// A collective other than an all-reduce of one span over all ranks.
  struct SpecialCollective {
    /// All of it, or with `end` > 0 one part that is not divided further.
    CollectiveWork work = {};
    /// Parts are ranges of every rank's block instead of ranges of the values.
    bool is_scattered = false;
    /// If not empty, the values, one span after the other; work.values is empty.
    std::vector<std::span<float>> bucket = {};

    bool is_plain() const {
      return work.kind == CollectiveKind::all_reduce && work.group == CollectiveGroup::world &&
             !is_scattered && bucket.empty();
    }
  };
  /// A task on its way to the plan.
  struct Submission {
    TaskOptions options;
    bool is_collective = false;
    std::uint32_t accesses = 0;  ///< how many of submitted_accesses_ are its own
    std::span<float> values;     ///< Summed over all ranks, if `special` is null.
    std::int64_t bytes = 0;      ///< of a collective
    std::unique_ptr<const SpecialCollective> special;
    TaskBody body;
    std::shared_ptr<const PieceBody> pieces;  ///< what `body` calls, if it can be divided
  };
  /// What follows from the configuration. Only the submitter's thread changes it.
  struct Schedule {
    ScheduleConfig config;
    std::vector<std::uint32_t> static_order;  // empty unless the order is static
    std::vector<std::int64_t> static_parts;   // of each collective of a step
    bool announces = false;
    bool partitions = false;
    PlanOptions plan;
  };
  /// What the plan does not need to know of a task.
  struct alignas(64) Payload {
    TaskBody body;  // in a cache line of its own: the rest stays with the plan
    std::string_view name;
    std::int64_t step = 0;              ///< of a task submitted by itself
    std::span<float> values;            ///< Summed over all ranks, if `special` is null.
    std::vector<Access> accesses = {};  ///< of a task submitted by itself, for executors ahead
    std::unique_ptr<const SpecialCollective> special = {};
  };
  /// A part handed to the executor's channels, and not taken yet.
  struct StartedPart {
    PartDecision part;
    std::uint64_t index = 0;
  };
  /// What a change of state makes possible for sleeping streams and channels.
  struct Wakes {
    std::size_t streams = 0, channels = 0;
  };
  /// Holds mutex_; at the end unlocks it and wakes the sleepers for which there is work. Whatever
  /// may make work possible runs under it, so that no wake-up is forgotten.
  class DispatchLock {
   public:
    explicit DispatchLock(Scheduler& scheduler)
        : DispatchLock(scheduler, std::unique_lock(scheduler.mutex_)) {}
    DispatchLock(Scheduler& scheduler, std::unique_lock<std::mutex> held)
        : scheduler_(scheduler), lock_(std::move(held)) {}
    ~DispatchLock() {
      const Wakes wakes = claimed_ ? *claimed_ : scheduler_.claim_sleepers();
      lock_.unlock();
      if (wakes.streams + wakes.channels > 0)
        scheduler_.executor_.wake(wakes.streams, wakes.channels);
    }
    DispatchLock(const DispatchLock&) = delete;
    DispatchLock& operator=(const DispatchLock&) = delete;

    /// Determines now who is woken at the end; nothing that makes work possible may follow.
    void claim_sleepers() { claimed_ = scheduler_.claim_sleepers(); }
    std::unique_lock<std::mutex>& held() { return lock_; }

   private:
    Scheduler& scheduler_;
    std::unique_lock<std::mutex> lock_;
    std::optional<Wakes> claimed_;
  };

  /// The captured step that is launched as a whole, for one configuration.
  struct WholeStep {
    std::shared_ptr<Capture> capture;
    std::uint64_t configured = 0;  // of schedules_ then
    StepWork work;
  };

  Schedule schedule_of(const ScheduleConfig& config, std::vector<std::uint32_t> static_order) const;
  bool may_run_whole_steps() const;
  Result<void> replay_whole(const std::shared_ptr<Capture>& step);
  /// Makes whole_ be of `step`; once nothing of another one is left.
  Result<void> prepare_whole(const std::shared_ptr<Capture>& step,
                             std::unique_lock<std::mutex>& lock);
  StepWork work_of(Capture& step);
  void start_executor();
  void stop_executor(bool failed);
  std::size_t take_compute(std::span<const TaskId> finished, std::span<ComputeWork> work) override;
  bool take_part(const PartWork* finished, PartWork& work) override;
  bool order_is_announced() const override;
  bool wait_for_started(std::int64_t timeout_ns, std::vector<std::uint64_t>& collectives) override;
  void announce(std::span<const std::uint64_t> collectives) override;
  void completed(std::span<const CompletedWork> work) override;
  void inputs_arrived(TaskId collective) override;
  void fail(Error error) override;

  Payload& payload(std::uint32_t slot) {
    return replayed_ ? replayed_payload(slot) : blocks_[slot / kBlock][slot % kBlock];
  }
  Payload& replayed_payload(std::uint32_t slot);
  std::int64_t step_of(TaskId task) {
    return replayed_ ? replayed_from_step_ + task.generation : payload(task.slot).step;
  }
  /// What the task in `slot` accesses; empty unless the executor issues ahead.
  std::span<const Access> accesses_of(std::uint32_t slot);
  /// Fills in the collective of `work`, except its index: `part` of the collective in `payload`.
  void locate(const Payload& payload, const PartDecision& part, PartWork& work) const;
  void submit(Submission submission, std::span<const Access> accesses);
  void submit_collective(const TaskOptions& options, DataId data, std::span<float> values,
                         CollectiveKind kind);
  void submit_to_plan(Submission submission, std::span<const Access> accesses);
  void leave_replay();
  // Of steps that are partitioned (scheduler_partition.cc):
  void follow(Submission submission, std::span<const Access> accesses);
  void submit_piece(std::uint32_t piece);
  TaskBody body_of_piece(const PieceOrigin& origin);
  SpecialCollective collective_of_piece(const StepTask& task, const PieceOrigin& origin) const;
  /// Submits what is left of a step that is another one than was learned.
  void submit_rest();
  void end_followed_step();
  void map_pieces();
  Result<void> replay_followed(const std::shared_ptr<Capture>& step);
  void follow_capture(Capture& step);
  /// What a captured step is partitioned into, captured itself; null when the follower knows
  /// another step.
  std::shared_ptr<Capture> captured_pieces(const std::shared_ptr<Capture>& step);
  void submit_collective_to_plan(Submission& submission, std::span<const Access> accesses);
  /// The error that the parts of the step's collective `index` are not what the static order has.
  std::optional<Error> check_static_order(std::size_t index, std::int64_t bytes) const;
  /// The same of the step's next collective, whose order the plan gets with the first.
  std::optional<Error> follow_static_order(std::int64_t bytes);
  Result<void> finish_submitting_step(std::unique_lock<std::mutex>& lock);
  void fail_locked(Error error);
  void flush();
  void flush_into_plan();
  /// Moves ready tasks to `work`, up to `limit`.
  std::size_t take_ready(std::span<ComputeWork> work);
  /// Tells the plan what streams have finished since the last call, and starts what that allows.
  void settle();
  /// Puts ready tasks where streams find them without the plan.
  void offer_ready();
  Payload& new_payload(TaskId task, const TaskOptions& options);
  void tasks_finished(std::span<const TaskId> tasks);
  void part_ended(const PartWork& part);
  /// Nothing that was submitted is left, on the device neither.
  bool is_idle() const { return plan_.unfinished() == 0 && on_device_ == 0; }
  bool drop_finished_steps();
  void start_parts();
  Wakes claim_sleepers();

  static constexpr std::size_t kBlock = 1024;
  /// Submissions that wait for each other, so that the plan's lock is paid once for many.
  static constexpr std::size_t kSubmissionBatch = 64;

  Executor& executor_;
  TraceSink* const trace_;
  const bool is_observed_;
  const bool ahead_;  // the executor issues ahead: what the plan calls finished is issued

  // The submitter's own:
  std::shared_ptr<Capture> capturing_;
  bool replaying_ = false;
  std::optional<DataId> step_data_;  // which orders whole steps among each other
  std::uint64_t schedules_ = 0, whole_steps_ = 0;
  // Of the step that is followed; there is a follower once a configuration partitions.
  std::optional<StepFollower> follower_;
  std::vector<Submission> held_;  // tasks of the present step
  std::uint64_t mapped_ = 0;      // the follower's version of piece_accesses_
  std::vector<DataId> piece_data_;
  std::vector<std::vector<Access>> piece_accesses_;  // by task of the partitioned step
  std::shared_ptr<Capture> learned_from_;            // the captured step that was learned,
  std::uint64_t learned_ = 0;                        // as the follower counts them
  std::shared_ptr<Capture> pieces_;                  // of learned_from_
  std::uint64_t pieces_version_ = 0;                 // the follower's

  // Locked before mutex_ when both are. A stream that finds nothing to run looks here before it
  // sleeps, so no submission is left behind.
  std::mutex submit_mutex_;
  // Guarded by submit_mutex_:
  std::vector<Submission> submitted_;
  std::vector<Access> submitted_accesses_;
  bool stream_sleeps_ = false;

  std::atomic<bool> submitting_ = false;  // the submitter does not wait for what it submitted

  WorkExchange exchange_;

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Schedule schedule_;
  Plan plan_;
  std::vector<std::unique_ptr<Payload[]>> blocks_;  // by slot; never moves
  std::shared_ptr<Capture> replayed_;
  std::int64_t replayed_from_step_ = 0;
  std::unique_ptr<WholeStep> whole_;  // if so, all unfinished tasks of the plan are launches of it
  std::size_t step_collectives_ = 0;  // submitted in the present step
  // Tasks run as they are submitted, though a configuration partitions: the static order is not
  // theirs.
  bool learns_ = false;
  std::deque<StartedPart> started_parts_;
  std::deque<TaskId> awaiting_inputs_;  // collectives that the executor has not been asked about
  std::int64_t on_device_ = 0;          // tasks and parts that were issued and have not completed
  std::uint64_t part_index_ = 0;
  std::vector<TaskId> finished_;  // settle()'s; empty otherwise
  std::size_t batch_ = 1;  // tasks that a stream wants at once: more than one when they are tiny
  std::size_t sleeping_streams_ = 0, sleeping_channels_ = 0;
  // Unfinished tasks of steps first_step_, first_step_ + 1, …, and parts that were issued and have
  // not completed; the last step is still being submitted.
  std::deque<std::int64_t> unfinished_{0};
  std::int64_t first_step_ = 0;
  std::condition_variable step_finished_;
  // Rank 0's decisions, on their way to the others.
  std::vector<std::uint64_t> to_announce_;
  std::condition_variable announcing_;
  bool closed_ = false;
  std::optional<Error> error_;
};

}  // namespace hocket
