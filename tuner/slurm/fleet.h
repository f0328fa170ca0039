#pragma once

// The workers of a study as tasks of Slurm's job arrays: submits them, follows them, submits others
// in place of those that end before the study does, and cancels what is left at the end. Decides;
// what acts is a Slurm (tuner/slurm/slurm.h). One thread.
//
// A task that runs out of time, is preempted without being requeued, loses its node or ends with
// status 0 is replaced. So is one that fails, until several have failed without a finished trial
// in between. One that somebody cancels is not replaced. One that Slurm requeues stays, but is a
// new worker when it runs again (tuner/slurm/allocation.h).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/result.h"
#include "tuner/slurm/slurm.h"

namespace hocket {

struct SlurmFleetOptions {
  /// Slurm is asked at most this often: its controller serves a whole cluster.
  std::int64_t interval_ns = 2'000'000'000;
  /// Slurm may be silent for this time, as while its controller restarts; then it is an error.
  std::int64_t silence_limit_ns = 300'000'000'000;
  /// Limit on tasks that fail in a row without a finished trial in between; then it is an error.
  int max_failures = 3;
  /// So many generations of all tasks that end otherwise without a finished trial (out of time,
  /// say, because a trial takes longer than the limit) are an error, and at least 10 such tasks.
  int max_idle_generations = 3;
};

struct GoneWorker {
  std::string name;
  /// It failed or its node did, which its trial may be to blame for: neither its time was up nor
  /// did anybody want it to end.
  bool was_lost = false;
};

class SlurmFleet {
 public:
  SlurmFleet(Slurm& slurm, SlurmSubmission submission, const Clock& clock,
             const SlurmFleetOptions& options = {});
  /// Cancels what is left, if that is possible.
  ~SlurmFleet();
  SlurmFleet(const SlurmFleet&) = delete;
  SlurmFleet& operator=(const SlurmFleet&) = delete;

  /// Call it often, until the study is over. The first call submits the tasks. Returns notes for
  /// the user, one line each, about what has changed. An error means that the study cannot go on:
  /// Slurm refuses a submission, tasks fail one after another, all are cancelled, or Slurm does not
  /// answer for long. Later calls return it again, except that Slurm may answer once more. A call
  /// takes as long as Slurm's programs, up to half a minute while there is no controller.
  Result<std::vector<std::string>> tick();

  /// Returns the workers that have gone since the last call: their tasks ended or were requeued.
  /// Their trials may be given to others.
  std::vector<GoneWorker> take_gone();

  /// Says that a trial has finished, so the workers work.
  void note_progress();

  /// Cancels what is left; afterwards tick() does nothing. An error names the jobs that are left;
  /// another call tries again.
  Result<void> finish();

  /// Number of tasks that have not ended.
  int live_tasks() const;

 private:
  /// A task as it was seen last.
  struct FollowedTask {
    SlurmTask seen;
    std::set<std::string> noted_reasons;
    SlurmState noted_state = SlurmState::pending;
    bool was_preempted = false;  ///< as of this run
  };
  struct FollowedArray {
    std::string job_id;
    std::vector<FollowedTask> tasks;
  };
  /// Tasks that wait for the same reason.
  struct Waiting {
    std::string reason;
    std::vector<std::string> names;
  };

  Result<void> step();
  Result<void> start_array(int tasks);
  void follow(FollowedArray& array, const std::vector<SlurmTask>& tasks);
  void see(const FollowedArray& array, FollowedTask& task, const SlurmTask& now);
  void see_requeued(const FollowedArray& array, FollowedTask& task, const SlurmTask& now);
  void see_state(const FollowedArray& array, FollowedTask& task);
  void see_end(const FollowedArray& array, const SlurmTask& task);
  void note_wait(const std::string& name, FollowedTask& task);
  void note_waits();
  /// Returns the error that too many ends of tasks are, if they are one.
  Result<void> judge();
  Result<void> replace();
  Result<void> bear_silence(const Error& error);
  /// "3 tasks …; the log of the last, PATH, ends: …"
  std::string with_log(const std::string& text) const;

  Slurm& slurm_;
  const SlurmSubmission submission_;
  const Clock& clock_;
  const SlurmFleetOptions options_;
  int wanted_;
  std::vector<FollowedArray> arrays_;
  std::vector<GoneWorker> gone_;
  std::vector<std::string> notes_;
  std::vector<std::string> ends_;  ///< notes of ends whose tasks are to be replaced
  std::vector<Waiting> waits_;
  bool started_ = false, finished_ = false;
  std::int64_t next_ask_ns_;
  bool is_silent_ = false;  ///< at the last question
  std::optional<std::int64_t> silent_since_ns_;
  int failures_ = 0, idle_ends_ = 0;
  std::string last_failure_, last_idle_end_, last_log_;
  std::optional<Error> error_;
};

}  // namespace hocket
