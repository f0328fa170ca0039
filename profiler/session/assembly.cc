#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/intervals.h"
#include "core/base/statistics.h"
#include "core/trace/communication_groups.h"
#include "core/trace/message_ends.h"
#include "profiler/calibration/step_profile.h"
#include "profiler/session/span_log.h"

namespace hocket {
namespace {

constexpr std::size_t kUnknown = ~std::size_t{0};

/// Finds submissions by task id; ids are reused after a task has ended.
class SubmissionIndex {
 public:
  explicit SubmissionIndex(const FixedBuffer<Submission>& submissions) : submissions_(submissions) {
    sorted_.reserve(submissions.size());
    for (std::size_t i = 0; i < submissions.size(); ++i)
      sorted_.emplace_back(packed(submissions[i].id), i);
    std::sort(sorted_.begin(), sorted_.end());
  }

  /// Returns the last submission of `task` among the first `count`, or kUnknown.
  std::size_t before(TaskId task, std::size_t count) const {
    const auto after =
        std::lower_bound(sorted_.begin(), sorted_.end(), std::pair(packed(task), count));
    if (after == sorted_.begin() || std::prev(after)->first != packed(task)) return kUnknown;
    return std::prev(after)->second;
  }

  /// Returns the last submission of `event`'s task that precedes the event's begin.
  std::size_t of(const TraceEvent& event) const {
    std::size_t at = before(event.task, submissions_.size());
    while (at != kUnknown && submissions_[at].submitted_ns > event.begin_ns)
      at = before(event.task, at);
    return at;
  }

 private:
  const FixedBuffer<Submission>& submissions_;
  std::vector<std::pair<std::uint64_t, std::size_t>> sorted_;
};

struct KeptEvent {
  const TraceEvent* event = nullptr;
  bool is_task = false;
  std::size_t submission = kUnknown;
};

/// Numbers the groups of communications in the order in which they occur.
class GroupNumbers {
 public:
  /// Adds the groups to `groups`.
  GroupNumbers(const ProfileSessionOptions& options, std::vector<TraceGroup>& groups)
      : rank_(options.rank),
        mesh_(options.mesh && options.mesh->grid().ranks == options.ranks && options.rank >= 0 &&
                      options.rank < options.ranks
                  ? &*options.mesh
                  : nullptr),
        groups_(groups) {}

  /// Sets the kind and the group of a communication, if it is known who took part. `submission` may
  /// be null; then nobody knows the other end of a message.
  void assign(const TraceEvent& event, const Submission* submission, TraceRecord& record) {
    const bool is_sent = is_message(event.collective);
    const bool has_all = !is_sent && event.group == CollectiveGroup::world;
    const std::int64_t peer = is_sent && submission ? submission->communication.peer : 0;
    if (!has_all && (!is_of_mesh(event.group, peer) || (is_sent && !submission))) return;
    record.collective = event.collective;
    if (has_all) return;
    const auto [at, is_new] = numbers_.try_emplace(
        {event.group, peer, is_sent ? event.collective : CollectiveKind::all_reduce}, kAllRanks);
    if (is_new) at->second = number_of(event, peer);
    record.group = at->second;
  }

 private:
  bool is_of_mesh(CollectiveGroup group, std::int64_t peer) const {
    return mesh_ && (group.axes.is_all() || group.axes.bits() >> mesh_->axes().size() == 0) &&
           peer >= 0 && peer < mesh_->size_of(group);
  }

  std::int32_t number_of(const TraceEvent& event, std::int64_t peer) {
    std::optional<TraceGroup> group;
    if (is_message(event.collective)) {
      group = message_group(message_ends(*mesh_, rank_, event.collective, event.group, peer));
    } else {
      group = trace_group(*mesh_, rank_, event.group);
    }
    if (!group) return kAllRanks;
    // The same two ranks may be members of several groups.
    const auto number = std::ranges::find(groups_, *group) - groups_.begin();
    if (number == std::ssize(groups_)) groups_.push_back(std::move(*group));
    return static_cast<std::int32_t>(number);
  }

  const std::int64_t rank_;
  const Mesh* const mesh_;
  std::vector<TraceGroup>& groups_;
  std::map<std::tuple<CollectiveGroup, std::int64_t, CollectiveKind>, std::int32_t> numbers_;
};

class Assembly {
 public:
  Assembly(const SpanLog& log, const ProfileSessionOptions& options)
      : log_(log), options_(options), index_(log.submissions), ready_ns_(log.submissions.size()) {}

  ProfileResult run() {
    join();
    number_steps();
    find_begun_before();
    for (const BlockLog& block : log_.blocks) find_windows(block);
    ProfileResult result;
    RankTrace& trace = result.trace;
    trace.rank = options_.rank;
    trace.ranks = options_.ranks;
    trace.host = options_.host;
    trace.source = options_.source;
    trace.step_starts = starts_;
    trace.clock_samples = log_.clock_samples;
    trace.dropped = log_.dropped;
    make_records(result);
    result.structure = make_structure();
    leave_out_unpredictable(result);
    if (log_.placed_from) set_placed_from(result);
    result.overhead = overhead();
    if (log_.host_at_start && log_.host_at_end)
      result.host = shares_between(*log_.host_at_start, *log_.host_at_end);
    return result;
  }

 private:
  /// Joins events, submissions and ready times.
  void join() {
    for (std::size_t i = 0; i < log_.readiness.size(); ++i) {
      const Readiness& ready = log_.readiness[i];
      const std::size_t at = index_.before(ready.id, ready.submissions);
      if (at != kUnknown) ready_ns_[at] = ready.ready_ns;
    }
    for (const TraceEvent* event : log_.events.events()) {
      const bool is_task = event->kind != TraceKind::range && event->kind != TraceKind::call;
      events_.push_back({event, is_task, is_task ? index_.of(*event) : kUnknown});
    }
    std::stable_sort(events_.begin(), events_.end(), [](const KeptEvent& a, const KeptEvent& b) {
      return a.event->begin_ns < b.event->begin_ns;
    });
  }

  /// Finds the submission of each step's first task, where it is certain. It follows the last one
  /// of the step before, or is the first that was kept. Either is known once a task of the step
  /// after it has ended, since all of the step before has run then, or once that task itself has
  /// run.
  void number_steps() {
    struct Range {
      std::size_t first = kUnknown, last = 0;
    };
    std::map<std::int64_t, Range> steps;
    for (const KeptEvent& kept : events_) {
      if (kept.submission == kUnknown) continue;
      Range& step = steps[kept.event->step];
      step.first = std::min(step.first, kept.submission);
      step.last = std::max(step.last, kept.submission);
    }
    std::map<std::int64_t, std::size_t> begins;  // begins of blocks
    for (const BlockLog& block : log_.blocks)
      begins[log_.steps.block(block.block).begin] = block.first_submission;
    for (const auto& [step, range] : steps) {
      const auto earlier = steps.find(step - 1);
      const auto begin = begins.find(step);
      if (earlier == steps.end() && begin == begins.end()) continue;
      const std::size_t first = earlier != steps.end() ? earlier->second.last + 1 : begin->second;
      if (first == range.first || (step < log_.latest_step && lost_ns() == kNeverNs))
        first_submissions_[step] = first;
    }
  }

  /// Returns the time from which records are missing.
  std::int64_t lost_ns() const {
    return std::min(log_.first_dropped_ns.load(), log_.submissions_full_ns);
  }

  std::size_t first_submission(std::int64_t step) const {
    const auto at = first_submissions_.find(step);
    return at == first_submissions_.end() ? kUnknown : at->second;
  }

  /// Returns the time until which `block` is complete.
  std::int64_t whole_until_ns(const BlockLog& block) const {
    if (block.is_closed) return lost_ns();
    // Tasks that were ready and have not ended may have begun.
    std::vector<std::int64_t> bytes(log_.submissions.size());
    std::vector<bool> seen(log_.submissions.size());
    for (const KeptEvent& kept : events_) {
      if (kept.submission == kUnknown) continue;
      if (ends_part(kept.event->collective)) bytes[kept.submission] += kept.event->bytes;
      seen[kept.submission] = true;
    }
    std::int64_t until_ns = lost_ns();
    for (std::size_t i = block.first_readiness; i < log_.readiness.size(); ++i) {
      const std::size_t at = index_.before(log_.readiness[i].id, log_.readiness[i].submissions);
      if (at == kUnknown || (seen[at] && bytes[at] >= log_.submissions[at].bytes)) continue;
      until_ns = std::min(until_ns, ready_ns_[at]);
    }
    return until_ns;
  }

  /// Finds the steps with submissions before recording began.
  void find_begun_before() {
    if (log_.submissions.size() == 0) return;  // watches only the trace
    for (const KeptEvent& kept : events_) {
      if (kept.submission == kUnknown && kept.is_task &&
          kept.event->begin_ns < log_.submissions_full_ns)
        begun_before_.insert(kept.event->step);
    }
  }

  void find_windows(const BlockLog& block) {
    ProfiledBlock steps = log_.steps.block(block.block);
    const auto begun = begun_before_.lower_bound(steps.end);
    if (begun != begun_before_.begin()) steps.begin = std::max(steps.begin, *std::prev(begun) + 1);
    if (log_.submissions.size() > 0) {
      // If the first task is unknown, some tasks may have run before recording began.
      const auto known = first_submissions_.lower_bound(steps.begin);
      if (known == first_submissions_.end()) return;
      steps.begin = known->first;
    }
    const std::int64_t until_ns = whole_until_ns(block);
    const std::size_t before = starts_.size();
    for (std::int64_t step = steps.begin; step <= steps.end; ++step) {
      const std::int64_t start_ns = log_.start_ns(step);
      if (start_ns == kNeverNs || start_ns > until_ns) break;
      if (starts_.empty() || start_ns > starts_.back().begin_ns)
        starts_.push_back({step, start_ns});
    }
    // A single start makes no window.
    if (starts_.size() == before + 1) starts_.pop_back();
    for (std::size_t i = before + 1; i < starts_.size(); ++i) {
      if (starts_[i - 1].step + 1 == starts_[i].step)
        windows_.push_back({starts_[i - 1].begin_ns, starts_[i].begin_ns});
    }
  }

  bool is_inside(const TraceEvent& event) const {
    const auto window = std::upper_bound(
        windows_.begin(), windows_.end(), event.begin_ns,
        [](std::int64_t begin_ns, const Interval& w) { return begin_ns < w.end_ns; });
    return window != windows_.end() &&
           (window->begin_ns < event.end_ns || window->begin_ns <= event.begin_ns);
  }

  void make_records(ProfileResult& result) const {
    RankTrace& trace = result.trace;
    std::unordered_map<std::string_view, std::uint32_t> names;
    GroupNumbers groups(options_, trace.groups);
    for (const KeptEvent& kept : events_) {
      const TraceEvent& event = *kept.event;
      const std::size_t first =
          kept.submission == kUnknown ? kUnknown : first_submission(event.step);
      const auto task = static_cast<std::int64_t>(kept.submission - first);
      // Also of what lies outside: where the device has the times, it may lie inside.
      if (first != kUnknown) result.tasks.push_back({event.task, event.step, task});
      if (!is_inside(event)) continue;
      const auto [name, added] =
          names.try_emplace(event.name, static_cast<std::uint32_t>(trace.names.size()));
      if (added) trace.names.push_back(text_of(event.name));
      TraceRecord record{.kind = event.kind,
                         .collective = {},
                         .lane = event.lane,
                         .name = name->second,
                         .begin_ns = event.begin_ns,
                         .end_ns = event.end_ns,
                         .step = event.step,
                         .bytes = event.bytes,
                         .sequence = event.sequence};
      if (event.kind == TraceKind::communication) {
        groups.assign(event,
                      kept.submission == kUnknown ? nullptr : &log_.submissions[kept.submission],
                      record);
      }
      if (kept.submission != kUnknown) {
        record.submitted_ns = log_.submissions[kept.submission].submitted_ns;
        record.ready_ns = ready_ns_[kept.submission];
        if (first != kUnknown) record.task = task;
      }
      trace.records.push_back(record);
    }
    put_in_order(trace);
  }

  /// Returns `name` with bytes that are not UTF-8 replaced, since text formats accept only UTF-8.
  static std::string text_of(std::string_view name) {
    using nlohmann::json;
    return json::parse(json(name).dump(-1, ' ', false, json::error_handler_t::replace))
        .get<std::string>();
  }

  /// Builds the structure of the first window's step.
  StepStructure make_structure() const {
    StepStructure structure;
    structure.servers = options_.servers;
    std::unordered_map<std::size_t, CollectiveKind> kinds;  // by submission
    for (const KeptEvent& kept : events_) {
      if (kept.event->kind == TraceKind::communication)
        kinds[kept.submission] = task_kind(kept.event->collective);
    }
    for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
      const std::size_t first = first_submission(starts_[i].step);
      const std::size_t end = first_submission(starts_[i].step + 1);
      if (starts_[i + 1].step != starts_[i].step + 1 || first == kUnknown || end == kUnknown)
        continue;
      std::unordered_map<std::uint32_t, std::uint32_t> data;
      for (std::size_t at = first; at < end; ++at) {
        StructureTask& task =
            structure.tasks.emplace_back(structure_task(log_.submissions[at], data));
        if (!log_.submissions[at].is_collective) continue;
        const auto kind = kinds.find(at);
        task.collective = kind == kinds.end() ? CollectiveKind::all_reduce : kind->second;
      }
      break;
    }
    return structure;
  }

  /// Predictions take every communication for one of all ranks.
  void leave_out_unpredictable(ProfileResult& result) const {
    const auto is_of_some = [](const KeptEvent& kept) {
      return kept.event->kind == TraceKind::communication &&
             (is_message(kept.event->collective) ||
              kept.event->collective == CollectiveKind::shift || !kept.event->group.axes.is_all());
    };
    if (result.structure.tasks.empty() || std::ranges::none_of(events_, is_of_some)) return;
    result.structure.tasks.clear();
    result.notes.push_back(
        "no step is predicted from this profile: its ranks send messages, shift values, or "
        "communicate in groups of some axes, and a step is predicted from a profile only when all "
        "ranks take part in "
        "everything");
  }

  void set_placed_from(ProfileResult& result) const {
    StepDescription step = *log_.placed_from;
    for (std::string& name : step.data) name = text_of(name);
    for (StepTask& task : step.tasks) task.name = text_of(task.name);
    step = with_unique_names(std::move(step));
    if (result.structure.tasks.empty()) return;
    const auto valid = validate(step);
    if (valid && can_be_placed_from(result.structure, step)) {
      result.structure.placed_from = std::move(step);
      return;
    }
    result.notes.push_back(
        "predictions take copies and the host's updates for computations of the device, because "
        "the profile does not say what the step was placed from: " +
        (valid ? std::string("the profiled steps are others") : valid.error().message));
  }

  StructureTask structure_task(const Submission& submission,
                               std::unordered_map<std::uint32_t, std::uint32_t>& data) const {
    StructureTask task{.name = text_of(submission.name),
                       .collective = {},
                       .bytes = submission.bytes,
                       .priority = submission.priority,
                       .lane = submission.lane};
    for (std::uint32_t i = 0; i < submission.accesses; ++i) {
      const Access& access = log_.accesses[submission.first_access + i];
      const auto next = static_cast<std::uint32_t>(data.size());
      task.accesses.push_back(
          {{data.try_emplace(access.data.index, next).first->second}, access.mode});
    }
    return task;
  }

  std::optional<ProfileOverhead> overhead() const {
    std::vector<double> profiled_ns, plain_ns;
    for (std::size_t i = 0; i + 1 < starts_.size(); ++i) {
      if (starts_[i + 1].step == starts_[i].step + 1)
        profiled_ns.push_back(static_cast<double>(starts_[i + 1].begin_ns - starts_[i].begin_ns));
    }
    for (std::int64_t block = 0; block < log_.steps.blocks(); ++block) {
      const ProfiledBlock steps = log_.steps.plain(block);
      for (std::int64_t step = steps.begin; step < steps.end; ++step) {
        // A step's start is certain once none of the step runs any more.
        if (step + 1 + SpanSteps::kAfter > log_.latest_step) break;
        const std::int64_t begin_ns = log_.start_ns(step), end_ns = log_.start_ns(step + 1);
        if (begin_ns < end_ns && end_ns != kNeverNs)
          plain_ns.push_back(static_cast<double>(end_ns - begin_ns));
      }
    }
    if (profiled_ns.empty() || plain_ns.empty()) return std::nullopt;
    return ProfileOverhead{
        median(profiled_ns), median(plain_ns), std::ssize(profiled_ns), std::ssize(plain_ns),
        std::hypot(median_standard_error(spread(profiled_ns), profiled_ns.size()),
                   median_standard_error(spread(plain_ns), plain_ns.size()))};
  }

  const SpanLog& log_;
  const ProfileSessionOptions& options_;
  const SubmissionIndex index_;
  std::vector<std::int64_t> ready_ns_;                     // by submission; 0: unknown
  std::vector<KeptEvent> events_;                          // by begin
  std::map<std::int64_t, std::size_t> first_submissions_;  // by step
  std::set<std::int64_t> begun_before_;
  std::vector<StepStart> starts_;
  std::vector<Interval> windows_;  // disjoint, by begin
};

}  // namespace

ProfileResult assemble_profile(const SpanLog& log, const ProfileSessionOptions& options) {
  return Assembly(log, options).run();
}

}  // namespace hocket
