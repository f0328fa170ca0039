#include "core/sim/tape_replay.h"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/collective/part_sizes.h"
#include "core/plan/captured_step.h"

namespace hocket {
namespace {

/// Renumbers data from 0 in the order of first use, so that the numbers on a tape do not determine
/// how much memory is used.
class DataNumbers {
 public:
  std::vector<Access> renumbered(const std::vector<Access>& accesses) {
    std::vector<Access> own;
    own.reserve(accesses.size());
    for (const Access& access : accesses) {
      const auto next = static_cast<std::uint32_t>(numbers_.size());
      own.push_back({{numbers_.try_emplace(access.data.index, next).first->second}, access.mode});
    }
    return own;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_;
};

/// Counts how often each collective may still be announced: once per part, before or after it is
/// submitted.
class Announcements {
 public:
  /// Starts counting after `submitted` collectives, all of whose parts have started.
  void begin_after(std::uint64_t submitted) { submitted_ = submitted; }
  /// Returns whether every part of every submitted collective has been announced and no other has.
  bool none_left() const { return left_.empty(); }
  /// Adds a submitted collective. Returns false when it has already been announced too often.
  bool submitted(std::int64_t parts) { return add(submitted_++, parts); }
  /// Counts an announcement. Returns false when there have been too many.
  bool announced(std::uint64_t collective) {
    if (collective < submitted_ && !left_.contains(collective)) return false;
    return add(collective, -1);
  }

 private:
  /// Returns false when a submitted collective has been announced more often than it has parts.
  bool add(std::uint64_t collective, std::int64_t parts) {
    const auto entry = left_.try_emplace(collective, 0).first;
    entry->second += parts;
    const std::int64_t left = entry->second;
    if (collective >= submitted_) return true;
    if (left <= 0) left_.erase(entry);
    return left >= 0;
  }

  std::uint64_t submitted_ = 0;
  std::unordered_map<std::uint64_t, std::int64_t> left_;
};

/// Checks the plan's preconditions before telling it, and collects its decisions.
class Replay final : private PlanObserver {
 public:
  explicit Replay(TapeReader& tape) : tape_(tape), plan_(tape.header().plan) {
    plan_.observe(this);
  }

  Result<TapeReplay> run();

 private:
  /// An unfinished task.
  struct Task {
    TaskId id;
    bool is_collective = false;
    bool started = false;
    TaskLane lane = TaskLane::stream;
  };

  static bool is_decision(TapeKind kind) {
    return kind == TapeKind::ready || kind == TapeKind::started || kind == TapeKind::started_part ||
           kind == TapeKind::started_pull;
  }

  Result<void> tell(const TapeRecord& record);
  Result<void> configure(const PlanOptions& options);
  Result<void> submit(const TapeTask& task);
  void capture(const TapeRecord& record);
  Result<void> launch(std::uint64_t number);
  Result<void> announce(const std::vector<std::uint64_t>& collectives);
  Result<void> finish(std::uint64_t number);
  Result<void> finish_part(std::uint64_t number, std::int64_t bytes);
  Result<void> finish_push(std::uint64_t number, std::int64_t offset_bytes, std::int64_t bytes);
  Result<void> finish_pull(std::uint64_t number, std::int64_t bytes);
  Result<void> sum(std::uint64_t number, std::int64_t offset_bytes, std::int64_t bytes);
  /// Takes a part out of in_flight_.
  Result<void> land(std::uint64_t number, std::int64_t bytes, const char* doing);
  Result<void> add_collective(std::int64_t bytes);
  void compare(const TapeRecord& record);
  void differs(std::uint64_t record, std::string on_tape);
  void add_task(TaskId id, bool is_collective, TaskLane lane);
  /// Returns the lane of an unfinished task; that of streams for others, which no plan hands out.
  TaskLane lane_of(std::uint64_t number) const {
    const auto found = unfinished_.find(number);
    return found == unfinished_.end() ? TaskLane::stream : found->second.lane;
  }
  std::uint64_t number_of(TaskId id) const { return number_of_slot_[id.slot]; }
  std::string words(std::uint64_t number) const {
    return "task " + std::to_string(number) + " " + std::string(tape_.name_of(number));
  }

  void submitted(const SubmittedTask& task) override {
    add_task(task.id, task.is_collective, task.lane);
  }
  void launched(const CapturedStep& step, TaskId first) override;
  void ready(TaskId task) override { decided(TapeKind::ready, task); }
  void started(TaskId task) override;
  void started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;
  void started_pull(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) override;
  void decided(TapeKind kind, TaskId task, std::int64_t offset_bytes = 0, std::int64_t bytes = 0);

  TapeReader& tape_;
  Plan plan_;
  TapeReplay result_;
  std::deque<TapeRecord> decided_;  // not yet matched with the tape
  std::uint64_t submitted_ = 0;
  std::unordered_map<std::uint64_t, Task> unfinished_;
  /// Number of parts in flight, or with servers on the way back, by collective and size.
  std::map<std::pair<std::uint64_t, std::int64_t>, std::uint64_t> in_flight_;
  /// Parts on the way to servers, and parts whose sum is not ready: collective, offset and size.
  std::set<std::tuple<std::uint64_t, std::int64_t, std::int64_t>> pushed_, unsummed_;
  std::vector<std::uint64_t> number_of_slot_;
  DataNumbers data_;
  std::size_t added_data_ = 0;
  std::vector<std::shared_ptr<const CapturedStep>> captured_;
  bool in_launch_ = false;  // true if the last submission was a launch
  Announcements announcements_;
};

tl::unexpected<Error> impossible(std::string what) {
  return failure(ErrorCode::invalid_argument, std::move(what));
}

Result<TapeReplay> Replay::run() {
  while (!result_.difference) {
    auto record = tape_.next();
    if (!record) {
      result_.incomplete = record.error();
      break;
    }
    if (!*record) {
      if (!decided_.empty()) differs(tape_.records() + 1, "the end");
      break;
    }
    result_.end_ns = (*record)->time_ns;
    if (is_decision((*record)->kind)) {
      compare(**record);
    } else if (!decided_.empty()) {
      differs(tape_.records(), describe_record(**record, tape_));
    } else if (auto ok = tell(**record); !ok) {
      return failure(ok.error().in("record " + std::to_string(tape_.records())));
    }
  }
  result_.records = tape_.records();
  return std::move(result_);
}

void Replay::differs(std::uint64_t record, std::string on_tape) {
  result_.difference = {
      .record = record,
      .time_ns = result_.end_ns,
      .on_tape = std::move(on_tape),
      .decided = decided_.empty() ? "nothing" : describe_record(decided_.front(), tape_)};
}

void Replay::compare(const TapeRecord& record) {
  if (decided_.empty() && record.kind == TapeKind::started)
    plan_.next_compute(lane_of(record.number));
  if (decided_.empty() && record.kind == TapeKind::started_part) plan_.next_part();
  if (decided_.empty() && record.kind == TapeKind::started_pull) plan_.next_pull();
  if (!decided_.empty()) decided_.front().time_ns = record.time_ns;
  if (decided_.empty() || decided_.front() != record) {
    return differs(tape_.records(), describe_record(record, tape_));
  }
  decided_.pop_front();
  ++(record.kind == TapeKind::ready     ? result_.ready
     : record.kind == TapeKind::started ? result_.started
                                        : result_.started_parts);
}

Result<void> Replay::tell(const TapeRecord& record) {
  switch (record.kind) {
    case TapeKind::configured:
      return configure(record.plan);
    case TapeKind::submitted:
      return submit(record.tasks.front());
    case TapeKind::captured:
      capture(record);
      return {};
    case TapeKind::launched:
      return launch(record.number);
    case TapeKind::announced:
      return announce(record.collectives);
    case TapeKind::finished:
      return finish(record.number);
    case TapeKind::finished_part:
      return finish_part(record.number, record.bytes);
    case TapeKind::finished_push:
      return finish_push(record.number, record.offset_bytes, record.bytes);
    case TapeKind::finished_pull:
      return finish_pull(record.number, record.bytes);
    case TapeKind::summed:
      return sum(record.number, record.offset_bytes, record.bytes);
    default:
      return {};
  }
}

Result<void> Replay::configure(const PlanOptions& options) {
  if (options.order != plan_.options().order || options.servers != plan_.options().servers) {
    if (plan_.unfinished() > 0 || !announcements_.none_left())
      return impossible("the order changes before all that was submitted or announced has ended");
    announcements_.begin_after(plan_.submitted_collectives());
  }
  plan_.configure(options);
  return {};
}

Result<void> Replay::add_collective(std::int64_t bytes) {
  const PlanOptions& options = plan_.options();
  if (options.order != PartOrder::announced ||
      announcements_.submitted(part_count(bytes, options.partition_bytes)))
    return {};
  return impossible("a collective was announced more often than it has parts");
}

Result<void> Replay::submit(const TapeTask& task) {
  if (in_launch_ && plan_.unfinished() > 0)
    return impossible("a task is submitted while a launch is unfinished");
  if (plan_.unfinished() >= kMaxReplayTasks)
    return impossible("more than " + std::to_string(kMaxReplayTasks) + " tasks are unfinished");
  in_launch_ = false;
  const auto accesses = data_.renumbered(task.accesses);
  for (; added_data_ < data_.size(); ++added_data_) plan_.add_data();
  const TaskOptions options{.name = task.name, .priority = task.priority, .lane = task.lane};
  if (!task.is_collective) {
    plan_.submit_compute(options, accesses);
    return {};
  }
  if (auto ok = add_collective(task.bytes); !ok) return ok;
  plan_.submit_collective(options, accesses, task.bytes, task.communication);
  return {};
}

void Replay::capture(const TapeRecord& record) {
  DataNumbers data;
  std::vector<CapturedStep::Task> tasks;
  tasks.reserve(record.tasks.size());
  for (const TapeTask& task : record.tasks) {
    tasks.push_back({.name = task.name,
                     .priority = task.priority,
                     .is_collective = task.is_collective,
                     .bytes = task.bytes,
                     .accesses = data.renumbered(task.accesses),
                     .lane = task.lane,
                     .communication = task.communication});
  }
  captured_.push_back(std::make_shared<const CapturedStep>(std::move(tasks)));
}

Result<void> Replay::launch(std::uint64_t number) {
  const auto& step = captured_[number];
  if (!plan_.may_launch(*step))
    return impossible("step " + std::to_string(number) + " is launched while " +
                      std::to_string(plan_.unfinished()) + " tasks before it are unfinished");
  if (plan_.unfinished() + step->size() > kMaxReplayTasks)
    return impossible("more than " + std::to_string(kMaxReplayTasks) + " tasks are unfinished");
  for (const auto& task : step->tasks()) {
    if (!task.is_collective) continue;
    if (auto ok = add_collective(task.bytes); !ok) return ok;
  }
  in_launch_ = true;
  plan_.launch(step);
  return {};
}

Result<void> Replay::announce(const std::vector<std::uint64_t>& collectives) {
  if (plan_.options().order != PartOrder::announced)
    return impossible("this plan decides its own order");
  for (const std::uint64_t collective : collectives) {
    if (!announcements_.announced(collective))
      return impossible("collective " + std::to_string(collective) +
                        " is announced more often than it has parts");
  }
  plan_.announce(collectives);
  return {};
}

Result<void> Replay::finish(std::uint64_t number) {
  const auto found = unfinished_.find(number);
  if (found == unfinished_.end() || found->second.is_collective || !found->second.started)
    return impossible(words(number) + " is finished without running");
  const TaskId id = found->second.id;
  unfinished_.erase(found);
  plan_.finish_compute(id);
  return {};
}

Result<void> Replay::finish_part(std::uint64_t number, std::int64_t bytes) {
  if (plan_.options().servers > 0)
    return impossible("a part is finished that parameter servers sum");
  if (auto ok = land(number, bytes, "finished"); !ok) return ok;
  const auto found = unfinished_.find(number);
  if (plan_.finish_part(found->second.id, bytes)) unfinished_.erase(found);
  return {};
}

Result<void> Replay::land(std::uint64_t number, std::int64_t bytes, const char* doing) {
  const auto part = in_flight_.find({number, bytes});
  if (part == in_flight_.end())
    return impossible("a part of " + std::to_string(bytes) + " bytes of " + words(number) + " is " +
                      doing + " without being in flight");
  if (--part->second == 0) in_flight_.erase(part);
  return {};
}

Result<void> Replay::finish_push(std::uint64_t number, std::int64_t offset_bytes,
                                 std::int64_t bytes) {
  if (pushed_.erase({number, offset_bytes, bytes}) == 0)
    return impossible("a part of " + std::to_string(bytes) + " bytes at " +
                      std::to_string(offset_bytes) + " of " + words(number) +
                      " is pushed without being in flight");
  const auto found = unfinished_.find(number);
  PartDecision part;
  part.task = found->second.id;
  part.offset_bytes = offset_bytes;
  part.bytes = bytes;
  if (plan_.finish_push(part)) unfinished_.erase(found);
  return {};
}

Result<void> Replay::sum(std::uint64_t number, std::int64_t offset_bytes, std::int64_t bytes) {
  if (unsummed_.erase({number, offset_bytes, bytes}) == 0)
    return impossible("a part of " + std::to_string(bytes) + " bytes at " +
                      std::to_string(offset_bytes) + " of " + words(number) +
                      " is summed without being pushed");
  PartDecision part;
  part.task = unfinished_.at(number).id;
  part.offset_bytes = offset_bytes;
  part.bytes = bytes;
  plan_.summed(part);
  return {};
}

Result<void> Replay::finish_pull(std::uint64_t number, std::int64_t bytes) {
  if (plan_.options().servers == 0) return impossible("a part is pulled without parameter servers");
  if (auto ok = land(number, bytes, "pulled"); !ok) return ok;
  const auto found = unfinished_.find(number);
  PartDecision part;
  part.task = found->second.id;
  part.bytes = bytes;
  if (plan_.finish_pull(part)) unfinished_.erase(found);
  return {};
}

void Replay::add_task(TaskId id, bool is_collective, TaskLane lane) {
  if (id.slot >= number_of_slot_.size()) number_of_slot_.resize(id.slot + id.slot / 2 + 16);
  number_of_slot_[id.slot] = submitted_;
  unfinished_.emplace(submitted_++, Task{id, is_collective, false, lane});
}

void Replay::launched(const CapturedStep& step, TaskId first) {
  for (std::uint32_t i = 0; i < step.size(); ++i)
    add_task(step.id_of(i, first), step.task(i).is_collective, step.task(i).lane);
}

void Replay::started(TaskId task) {
  decided(TapeKind::started, task);
  unfinished_.at(number_of(task)).started = true;
}

void Replay::started_part(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  decided(TapeKind::started_part, task, offset_bytes, bytes);
  if (plan_.options().servers > 0) {
    pushed_.emplace(number_of(task), offset_bytes, bytes);
    unsummed_.emplace(number_of(task), offset_bytes, bytes);
  } else {
    ++in_flight_[{number_of(task), bytes}];
  }
}

void Replay::started_pull(TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  decided(TapeKind::started_pull, task, offset_bytes, bytes);
  ++in_flight_[{number_of(task), bytes}];
}

void Replay::decided(TapeKind kind, TaskId task, std::int64_t offset_bytes, std::int64_t bytes) {
  TapeRecord decision;
  decision.kind = kind;
  decision.number = number_of(task);
  decision.offset_bytes = offset_bytes;
  decision.bytes = bytes;
  decided_.push_back(std::move(decision));
}

}  // namespace

Result<TapeReplay> replay_tape(TapeReader& tape) {
  return Replay(tape).run();
}

}  // namespace hocket
