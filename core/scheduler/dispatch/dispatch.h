#pragma once

// The plan behind its lock. One thread submits tasks and launches captured steps; the threads of an
// executor take what may run and report what has run. Knows nothing of how steps are captured or
// partitioned. Private to this folder.
//
// The functions of WorkSource may be called by any thread, all others by the submitter's thread
// only. After a failure submissions are ignored, and every function that returns a Result returns
// the first error.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/scheduler/dispatch/part_counts.h"
#include "core/scheduler/dispatch/work_exchange.h"
#include "core/scheduler/executor.h"
#include "core/scheduler/schedule.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/task_submission.h"
#include "core/scheduler/whole_step_order.h"
#include "core/trace/trace_sink.h"

namespace hocket {

class Dispatch final : public WorkSource, public TaskSink {
 public:
  /// Starts `executor`. It must outlive the dispatch, and so must `trace` and `observer`, which may
  /// be null. `has_static_order` as in end_step(), for the first step.
  /// `is_placed` says whether there are tasks for lanes other than the streams'.
  Dispatch(Schedule schedule, bool has_static_order, Executor& executor, TraceSink* trace,
           PlanObserver* observer, bool is_placed = false);
  /// Waits for everything submitted (or for the failure), then stops the executor.
  ~Dispatch() override;

  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;

  int world_size() const { return ranks_; }
  const Schedule& schedule() const { return schedule_; }
  /// Counts the calls of configure().
  std::uint64_t configurations() const { return configurations_; }
  /// Returns a StepWork::version that no step had before.
  std::uint64_t new_version() { return ++versions_; }
  /// Changes the schedule between steps; restarts the executor if its lanes or the order change.
  Result<void> configure(Schedule schedule, bool has_static_order);

  DataId add_data();
  void submit(TaskSubmission&& submission, std::span<const Access> accesses) override;
  /// Passes all submissions on to the plan and declares that more will not come soon.
  void flush();
  /// True between submit() and the next flush().
  bool is_submitting() const { return submitting_.load(std::memory_order_relaxed); }
  /// Ends the step. Blocks while more than kStepsAhead steps are unfinished.
  /// `next_has_static_order` says whether the static order, if there is one, holds for the next
  /// step.
  Result<void> end_step(bool next_has_static_order = true);
  /// Lets the rest of the step start its collectives in the order of submission, although there is
  /// a static order.
  void suspend_static_order();
  /// Blocks until everything submitted has run.
  Result<void> synchronize();

  /// Launches a captured step task by task and ends the step. Waits for earlier submissions and for
  /// launches of other steps.
  Result<void> launch(const std::shared_ptr<StepCapture>& step);
  /// Launches a captured step as one task and ends the step. `work` must stay valid and unchanged
  /// while it is whole_step(). Requires synchronize() before unless it is already. Launches are
  /// ordered by `data`.
  Result<void> launch_whole(const StepWork& work, DataId data);
  /// Returns the work of the last launch_whole(), null after other submissions.
  const StepWork* whole_step() const { return whole_step_; }

  std::size_t take_compute(std::span<const TaskId> finished, std::span<ComputeWork> work) override;
  bool take_lane(TaskLane lane, const ComputeWork* finished, ComputeWork& work) override;
  bool take_part(const PartWork* finished, PartWork& work) override;
  bool take_pull(const PartWork* finished, PartWork& work) override;
  void summed(const ServedPart& part) override;
  bool order_is_announced() const override;
  bool wait_for_started(std::int64_t timeout_ns, std::vector<std::uint64_t>& collectives) override;
  void announce(std::span<const std::uint64_t> collectives) override;
  void completed(std::span<const CompletedWork> work) override;
  void inputs_arrived(TaskId collective) override;
  void fail(Error error) override;

  /// Number of unfinished steps that end_step() lets run before it blocks.
  static constexpr std::int64_t kStepsAhead = 1;

 private:
  /// A part that no channel has taken yet.
  struct StartedPart {
    PartDecision part;
    std::uint64_t index = 0;              ///< among all parts that its ranks count
    std::uint64_t number = 0;             ///< among those of the step
    std::int64_t sequence = kNoSequence;  ///< PartWork::sequence
  };
  /// An all-to-all before the parts of which the executor is asked whether the counts are computed.
  struct CountsQuestion {
    TaskId collective;
    bool is_answered = false;
  };
  /// Holds mutex_; at the end unlocks it and wakes the sleepers for which there is work. Whatever
  /// may make work possible runs under it, so that no wake-up is forgotten.
  class Lock {
   public:
    explicit Lock(Dispatch& dispatch) : Lock(dispatch, std::unique_lock(dispatch.mutex_)) {}
    Lock(Dispatch& dispatch, std::unique_lock<std::mutex> held)
        : dispatch_(dispatch), lock_(std::move(held)) {}
    ~Lock() {
      const LaneWakes wakes = claimed_ ? *claimed_ : dispatch_.claim_sleepers();
      lock_.unlock();
      if (!wakes.empty()) dispatch_.executor_.wake(wakes);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    /// Determines now who is woken at the end; nothing that makes work possible may follow.
    void claim_sleepers() { claimed_ = dispatch_.claim_sleepers(); }
    std::unique_lock<std::mutex>& held() { return lock_; }

   private:
    Dispatch& dispatch_;
    std::unique_lock<std::mutex> lock_;
    std::optional<LaneWakes> claimed_;
  };

  void start();
  void stop(bool failed);
  /// Waits for all launches, so that tasks can be submitted by themselves.
  void leave_launches();
  /// Requires submit_mutex_, but not mutex_.
  void flush_into_plan();

  /// Takes tasks that are offered within `looks` polls. Requires no lock.
  std::size_t take_offered(std::span<ComputeWork> work, int looks);

  // All others require mutex_.
  void submit_collective(TaskSubmission& submission, std::span<const Access> accesses);
  /// Lets the next collective of the step, of `bytes`, follow the static order. The plan gets the
  /// order of the whole step with its first collective.
  std::optional<Error> follow_static_order(std::int64_t bytes);
  /// Waits until `done()` or a failure, and returns its error. Fails where nothing that was
  /// submitted can ever begin: only this thread could submit more.
  template <class Done>
  Result<void> wait(std::unique_lock<std::mutex>& lock, const Done& done) {
    submitter_waits_ = true;
    step_finished_.wait(lock, [&] {
      if (!error_ && !done() && is_stuck()) fail_locked(why_stuck());
      return error_ || done();
    });
    submitter_waits_ = false;
    return error_ ? failure(*error_) : Result<void>();
  }
  /// Returns whether all lanes sleep, and nothing but a lane that ends its work could wake one.
  bool is_stuck();
  Error why_stuck();
  /// To be called when a lane has begun to sleep.
  void lane_sleeps();
  Result<void> finish_step(std::unique_lock<std::mutex>& lock, bool next_has_static_order);
  void fail_locked(Error error);
  TaskPayload& payload(std::uint32_t slot) {
    return captured_ ? captured_->payload(slot) : blocks_[slot / kBlock][slot % kBlock];
  }
  TaskPayload& new_payload(TaskId task, const TaskOptions& options);
  std::int64_t present_step() const {
    return first_step_ + static_cast<std::int64_t>(unfinished_.size()) - 1;
  }
  std::int64_t step_of(TaskId task) {
    return captured_ ? launched_from_step_ + task.generation : payload(task.slot).step;
  }
  std::int64_t& unfinished_in(std::int64_t step) {
    return unfinished_[static_cast<std::size_t>(step - first_step_)];
  }
  /// Returns the accesses of the task in `slot`; empty unless the executor issues ahead.
  std::span<const Access> accesses_of(std::uint32_t slot);
  ComputeWork work_of(TaskId task);
  /// Moves ready tasks of streams to `work`; returns their number.
  std::size_t take_ready(std::span<ComputeWork> work);
  /// Like take_ready(), but includes offered tasks and leaves other streams their share.
  std::size_t take_share(std::span<ComputeWork> work);
  /// Reports to the plan what streams have finished since the last call, and starts parts.
  void settle();
  /// Puts ready tasks where streams find them without the plan.
  void offer_ready();
  void tasks_finished(std::span<const TaskId> tasks);
  void part_ended(const PartWork& part);
  /// Moves the next part, or question for inputs, to `work`. Requires that there is one.
  void take_started(PartWork& work);
  /// Moves the first of `parts` to `work`. Requires that there is one.
  void take_first(std::deque<StartedPart>& parts, PartWork& work);
  void start_parts();
  StartedPart counted(const PartDecision& part);
  /// Returns whether the first started part is of an all-to-all whose counts may not be computed.
  bool lacks_counts();
  /// Returns how many parts, and questions for inputs, channels may take.
  std::size_t takeable_parts();
  bool drop_finished_steps();
  /// True when nothing submitted is left, on the device either.
  bool is_idle() const { return plan_.unfinished() == 0 && on_device_ == 0; }
  LaneWakes claim_sleepers();

  static constexpr std::size_t kBlock = 1024;
  /// Number of submissions that wait for each other, so that the lock is taken once for many.
  static constexpr std::size_t kSubmissionBatch = 64;

  Executor& executor_;
  TraceSink* const trace_;
  /// The executor issues ahead: tasks that the plan calls finished are only issued.
  const bool ahead_;
  const bool is_placed_;
  const int ranks_;

  // Used by the submitter's thread only:
  /// captured_ or whole_step_ is set.
  bool launches_ = false;
  std::uint64_t configurations_ = 0;
  std::uint64_t versions_ = 0;

  // Locked before mutex_ when both are. A stream that finds nothing to run looks here before it
  // sleeps, so no submission is left behind.
  std::mutex submit_mutex_;
  // Guarded by submit_mutex_:
  std::vector<TaskSubmission> submitted_;
  std::vector<Access> submitted_accesses_;
  bool stream_sleeps_ = false;

  // Guarded by themselves:
  /// The submitter does not wait for what it has submitted.
  std::atomic<bool> submitting_ = false;
  WorkExchange exchange_;

  std::mutex mutex_;
  // Guarded by mutex_, but changed by the submitter's thread only, which reads them without it:
  Schedule schedule_;
  /// The step whose launches all unfinished tasks of the plan belong to, if any.
  std::shared_ptr<StepCapture> captured_;
  /// The work that all unfinished tasks of the plan are launches of, if any.
  const StepWork* whole_step_ = nullptr;

  // Guarded by mutex_:
  Plan plan_;
  /// Data of tasks submitted by themselves, by slot; never move.
  std::vector<std::unique_ptr<TaskPayload[]>> blocks_;
  /// Step of a launched task minus its generation.
  std::int64_t launched_from_step_ = 0;
  /// Collectives submitted in the present step.
  std::size_t step_collectives_ = 0;
  /// The static order holds for the present step.
  bool has_static_order_ = true;
  std::deque<StartedPart> started_parts_, started_pulls_;
  /// Parts on the way to servers, or there without a sum, by collective and offset.
  std::map<std::pair<std::uint64_t, std::int64_t>, PartDecision> unsummed_;
  /// Collectives that the executor has not been asked about.
  std::deque<TaskId> awaiting_inputs_;
  /// The last all-to-all that the executor was asked about.
  std::optional<CountsQuestion> counts_question_;
  /// Count the started parts, and those since the first of the newest step.
  PartCounts started_, started_in_step_;
  PartSequences sequences_;
  std::int64_t started_step_ = 0;
  /// Tasks and parts that were issued and have not completed.
  std::int64_t on_device_ = 0;
  /// settle()'s; empty otherwise.
  std::vector<TaskId> finished_;
  /// Number of tasks that a stream wants at once: more than one when they are tiny.
  std::size_t batch_ = 1;
  /// The submitter's thread is in wait().
  bool submitter_waits_ = false;
  std::size_t sleeping_streams_ = 0, sleeping_channels_ = 0, sleeping_pulls_ = 0;
  // by TaskLane; that of streams is unused
  std::array<bool, kTaskLanes> sleeping_lanes_ = {};
  /// Unfinished tasks of steps first_step_, first_step_ + 1, …, and parts that were issued and have
  /// not completed; the last step is still being submitted.
  std::deque<std::int64_t> unfinished_{0};
  std::int64_t first_step_ = 0;
  std::condition_variable step_finished_;
  /// Rank 0's decisions on their way to the other ranks.
  std::vector<std::uint64_t> to_announce_;
  std::condition_variable announcing_;
  bool closed_ = false;
  std::optional<Error> error_;
};

}  // namespace hocket
