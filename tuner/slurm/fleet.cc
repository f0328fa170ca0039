#include "tuner/slurm/fleet.h"

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "tuner/slurm/allocation.h"
#include "tuner/slurm/task_log.h"

namespace hocket {
namespace {

constexpr int kLeastIdleEnds = 10;
constexpr std::size_t kMostNamedTasks = 4;
constexpr int kSignalTerm = 15;

std::string task_name(const std::string& job_id, int index) {
  return job_id + "_" + std::to_string(index);
}

std::string on_nodes(const SlurmTask& task) {
  if (task.nodes.empty()) return "";
  const bool has_several = task.nodes.find_first_of("[,") != std::string::npos;
  return std::string(has_several ? " on nodes " : " on node ") + task.nodes;
}

std::string exit_text(const SlurmTask& task) {
  if (!task.exit) return "";
  if (task.exit->signal != 0) return " by signal " + std::to_string(task.exit->signal);
  return " with exit status " + std::to_string(task.exit->status);
}

/// Returns whether it ended because it was told to, as every worker is shortly before its limit.
bool ended_by_term(const SlurmTask& task) {
  if (task.state != SlurmState::failed || !task.exit) return false;
  return task.exit->signal == kSignalTerm ||
         (task.exit->signal == 0 && task.exit->status == 128 + kSignalTerm);
}

bool has_failed(const SlurmTask& task) {
  return (task.state == SlurmState::failed && !ended_by_term(task)) ||
         task.state == SlurmState::out_of_memory;
}

/// Returns whether the task had its full time: ends of others say nothing about the study.
bool is_idle_end(const SlurmTask& task) {
  return task.state == SlurmState::completed || task.state == SlurmState::timed_out ||
         task.state == SlurmState::gone || ended_by_term(task);
}

/// Returns what became of an ended task: "ran out of time".
std::string end_text(const SlurmTask& task) {
  switch (task.state) {
    case SlurmState::completed:
      return "ended before the study was over";
    case SlurmState::timed_out:
      return "ran out of time";
    case SlurmState::preempted:
      return "was preempted";
    case SlurmState::node_failed:
      return "lost its node" + (task.nodes.empty() ? "" : " (" + task.nodes + ")");
    case SlurmState::out_of_memory:
      return "ran out of memory" + on_nodes(task);
    case SlurmState::cancelled:
      return "was cancelled";
    case SlurmState::gone:
      return "has ended, and Slurm no longer knows how";
    default:
      return (ended_by_term(task) ? "was told to end" : "failed") + exit_text(task) +
             on_nodes(task);
  }
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamedTasks); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMostNamedTasks)
    text += " and " + std::to_string(names.size() - kMostNamedTasks) + " others";
  return text;
}

bool is_temporary(const Error& error) {
  return error.code == ErrorCode::unavailable || error.code == ErrorCode::timed_out;
}

}  // namespace

SlurmFleet::SlurmFleet(Slurm& slurm, SlurmSubmission submission, const Clock& clock,
                       const SlurmFleetOptions& options)
    : slurm_(slurm),
      submission_(std::move(submission)),
      clock_(clock),
      options_(options),
      wanted_(submission_.tasks),
      next_ask_ns_(clock.now_ns()) {}

SlurmFleet::~SlurmFleet() {
  static_cast<void>(finish());
}

Result<std::vector<std::string>> SlurmFleet::tick() {
  if (error_) return failure(*error_);
  if (finished_ || clock_.now_ns() < next_ask_ns_) return {};
  const auto done = step();
  // From the end: even if Slurm takes long to answer, it is not asked without pause.
  next_ask_ns_ = clock_.now_ns() + options_.interval_ns;
  HOCKET_TRY(done);
  return std::exchange(notes_, {});
}

Result<void> SlurmFleet::step() {
  if (!started_) {
    if (auto first = start_array(wanted_); !first) {
      error_ = first.error();
      return first;
    }
    started_ = true;
    return {};
  }
  is_silent_ = false;
  for (FollowedArray& array : arrays_) {
    const bool is_live = std::any_of(array.tasks.begin(), array.tasks.end(),
                                     [](const auto& task) { return !has_ended(task.seen.state); });
    if (!is_live) continue;
    const auto tasks = slurm_.tasks(array.job_id);
    if (!tasks) return bear_silence(tasks.error());
    follow(array, *tasks);
  }
  note_waits();
  if (auto judged = judge(); !judged) {
    error_ = judged.error();
    return judged;
  }
  HOCKET_TRY(replace());
  if (!is_silent_ && std::exchange(silent_since_ns_, std::nullopt))
    notes_.emplace_back("Slurm answers again");
  return {};
}

Result<void> SlurmFleet::start_array(int tasks) {
  SlurmSubmission submission = submission_;
  submission.tasks = tasks;
  auto job_id = slurm_.submit(submission);
  HOCKET_TRY(job_id);
  FollowedArray& array = arrays_.emplace_back();
  array.job_id = *job_id;
  for (int index = 0; index < tasks; ++index) {
    FollowedTask& task = array.tasks.emplace_back();
    task.seen.index = index;
    task.seen.state = SlurmState::pending;
  }
  if (!started_) {
    notes_.push_back("submitted job " + *job_id + " with " + std::to_string(tasks) +
                     (tasks == 1 ? " task" : " tasks"));
  }
  return {};
}

void SlurmFleet::follow(FollowedArray& array, const std::vector<SlurmTask>& tasks) {
  for (FollowedTask& task : array.tasks) {
    if (has_ended(task.seen.state)) continue;
    const auto found = std::find_if(tasks.begin(), tasks.end(), [&](const SlurmTask& now) {
      return now.index == task.seen.index;
    });
    if (found != tasks.end()) {
      see(array, task, *found);
      continue;
    }
    SlurmTask gone = task.seen;
    gone.state = SlurmState::gone;
    see(array, task, gone);
  }
}

void SlurmFleet::see(const FollowedArray& array, FollowedTask& task, const SlurmTask& now) {
  // The count rises as soon as Slurm has begun to requeue the task.
  if (now.restarts > task.seen.restarts) {
    task.was_preempted = task.was_preempted || now.is_being_preempted;
    see_requeued(array, task, now);
  } else if (now.is_being_preempted && now.state != SlurmState::completing) {
    task.was_preempted = true;
  }
  task.seen = now;
  see_state(array, task);
}

void SlurmFleet::see_requeued(const FollowedArray& array, FollowedTask& task,
                              const SlurmTask& now) {
  for (int run = task.seen.restarts; run < now.restarts; ++run)
    gone_.push_back({slurm_worker_name(array.job_id, now.index, run), false});
  std::string_view cause = "was put back (preempted, its node failed, or scontrol requeue)";
  if (task.was_preempted) {
    cause = "was preempted";
  } else if (const auto path = slurm_log_path(submission_, array.job_id, task.seen)) {
    const std::string log = slurm_log_end(*path);
    if (const auto known = slurm_cause(log); !known.empty()) cause = known;
  }
  notes_.push_back("task " + task_name(array.job_id, now.index) + " " + std::string(cause) +
                   " and is queued again");
  task.noted_reasons.clear();
  // It waits two minutes before it may run, which the note has said.
  task.noted_reasons.insert("BeginTime");
  task.noted_state = SlurmState::pending;
  task.was_preempted = false;
}

void SlurmFleet::see_state(const FollowedArray& array, FollowedTask& task) {
  const SlurmTask& now = task.seen;
  const std::string name = task_name(array.job_id, now.index);
  if (has_ended(now.state)) {
    see_end(array, now);
  } else if (now.state == SlurmState::pending) {
    note_wait(name, task);
  } else if (now.state == SlurmState::running && task.noted_state != SlurmState::running) {
    task.noted_state = SlurmState::running;
    notes_.push_back("task " + name + " runs" + on_nodes(now));
  } else if (now.state == SlurmState::suspended && task.noted_state != SlurmState::suspended) {
    task.noted_state = SlurmState::suspended;
    notes_.push_back("task " + name + " is suspended; its trial's time goes on");
  }
}

void SlurmFleet::see_end(const FollowedArray& array, const SlurmTask& task) {
  const std::string name = task_name(array.job_id, task.index);
  const std::string text = end_text(task);
  const bool was_lost = has_failed(task) || task.state == SlurmState::node_failed;
  gone_.push_back({slurm_worker_name(array.job_id, task.index, task.restarts), was_lost});
  const std::string note = "task " + name + " " + text;
  if (task.state == SlurmState::cancelled) {
    --wanted_;
    notes_.push_back(note + "; it is not replaced");
    return;
  }
  ends_.push_back(note);
  if (!has_failed(task) && !is_idle_end(task)) return;
  last_log_ = slurm_log_path(submission_, array.job_id, task).value_or("");
  const std::string state = task.state_text.empty() ? "" : " (state " + task.state_text + ")";
  if (has_failed(task)) {
    ++failures_;
    last_failure_ = name + ", " + text + state;
  } else {
    ++idle_ends_;
    last_idle_end_ = name + ", " + text + state;
  }
}

void SlurmFleet::note_wait(const std::string& name, FollowedTask& task) {
  const std::string& reason = task.seen.reason;
  if (reason.empty() || !task.noted_reasons.insert(reason).second) return;
  auto found = std::find_if(waits_.begin(), waits_.end(),
                            [&](const Waiting& waiting) { return waiting.reason == reason; });
  if (found == waits_.end()) found = waits_.insert(waits_.end(), Waiting{reason, {}});
  found->names.push_back(name);
}

void SlurmFleet::note_waits() {
  for (const Waiting& waiting : std::exchange(waits_, {})) {
    const bool has_one = waiting.names.size() == 1;
    notes_.push_back((has_one ? "task " : "tasks ") + listed(waiting.names) +
                     (has_one ? " waits: " : " wait: ") + waiting.reason);
  }
}

std::string SlurmFleet::with_log(const std::string& text) const {
  if (last_log_.empty()) return text;
  const std::string lines = last_lines(slurm_log_end(last_log_), 5, 1000);
  if (lines.empty()) return text + "; its log " + last_log_ + " is empty or not to be read here";
  return text + "; its log " + last_log_ + " ends: " + lines;
}

Result<void> SlurmFleet::judge() {
  if (wanted_ <= 0) {
    return failure(ErrorCode::unavailable,
                   "all workers were cancelled (scancel); run the same command again to go on with "
                   "the study");
  }
  if (failures_ >= options_.max_failures) {
    return failure(ErrorCode::unavailable,
                   with_log(std::to_string(failures_) +
                            " workers failed one after another without a finished trial; the last, "
                            "task " +
                            last_failure_) +
                       "; correct the cause, then run the same command again to go on");
  }
  if (idle_ends_ >= std::max(kLeastIdleEnds, options_.max_idle_generations * submission_.tasks)) {
    return failure(
        ErrorCode::unavailable,
        with_log(std::to_string(idle_ends_) +
                 " workers ended one after another without a finished trial; the last, "
                 "task " +
                 last_idle_end_) +
            "; give them time for a trial (--time in --slurm), then run the same command "
            "again to go on");
  }
  return {};
}

Result<void> SlurmFleet::replace() {
  const int missing = wanted_ - live_tasks();
  const auto ends = std::exchange(ends_, {});
  if (missing <= 0) {
    notes_.insert(notes_.end(), ends.begin(), ends.end());
    return {};
  }
  if (auto started = start_array(missing); !started) {
    notes_.insert(notes_.end(), ends.begin(), ends.end());
    if (is_temporary(started.error())) return bear_silence(started.error());
    error_ = started.error();
    return started;
  }
  const std::string& job_id = arrays_.back().job_id;
  int replaced = 0;
  for (const std::string& end : ends) {
    const bool is_replaced = replaced < missing;
    notes_.push_back(end +
                     (is_replaced ? "; submitted another, " + task_name(job_id, replaced) : ""));
    replaced += is_replaced ? 1 : 0;
  }
  // Ended tasks that could not be replaced then, because Slurm took no submission.
  if (replaced < missing)
    notes_.push_back("submitted " + std::to_string(missing - replaced) + " more in job " + job_id);
  return {};
}

Result<void> SlurmFleet::bear_silence(const Error& error) {
  const std::int64_t now_ns = clock_.now_ns();
  is_silent_ = true;
  if (!silent_since_ns_) {
    silent_since_ns_ = now_ns;
    notes_.push_back("Slurm does not answer, and is asked again: " + error.message);
    return {};
  }
  if (now_ns - *silent_since_ns_ < options_.silence_limit_ns) return {};
  return failure(error.code, "Slurm has not answered for " +
                                 std::to_string((now_ns - *silent_since_ns_) / 1'000'000'000) +
                                 " s: " + error.message +
                                 "; run the same command again when it does, to go on");
}

std::vector<GoneWorker> SlurmFleet::take_gone() {
  return std::exchange(gone_, {});
}

void SlurmFleet::note_progress() {
  failures_ = 0;
  idle_ends_ = 0;
}

int SlurmFleet::live_tasks() const {
  int live = 0;
  for (const FollowedArray& array : arrays_)
    for (const FollowedTask& task : array.tasks) live += has_ended(task.seen.state) ? 0 : 1;
  return live;
}

Result<void> SlurmFleet::finish() {
  finished_ = true;
  std::string left;
  std::optional<Error> first;
  for (FollowedArray& array : arrays_) {
    const bool is_live = std::any_of(array.tasks.begin(), array.tasks.end(),
                                     [](const auto& task) { return !has_ended(task.seen.state); });
    if (!is_live) continue;
    if (const auto done = slurm_.cancel(array.job_id); !done) {
      if (!first) first = done.error();
      left += " " + array.job_id;
      continue;
    }
    for (FollowedTask& task : array.tasks)
      if (!has_ended(task.seen.state)) task.seen.state = SlurmState::cancelled;
  }
  if (!first) return {};
  return failure(first->code,
                 "workers are left: " + first->message + "; end them with scancel" + left);
}

}  // namespace hocket
