#include "profiler/cupti/timeline.h"

#include <algorithm>
#include <optional>

#include "core/base/intervals.h"
#include "core/trace/collective_name.h"
#include "profiler/cupti/kernel_name.h"

namespace hocket {
namespace {

/// Slack for CUPTI's conversion of the device's clock to the host's, which is inexact.
constexpr std::int64_t kSessionSlackNs = 1'000'000;

bool is_call(ActivityType type) {
  return type == ActivityType::runtime_call || type == ActivityType::driver_call;
}

std::string stream_place(const CuptiActivity& activity) {
  return "device " + std::to_string(activity.device) + " context " +
         std::to_string(activity.context) + " stream " + std::to_string(activity.stream);
}

/// Returns the group that orders a collective: a task's collectives come in the same order on every
/// rank, whatever their streams.
std::string communication_group(const TraceRecord& record, const std::string& place) {
  if (record.task == kNoTask) return place;
  const std::string digits = std::to_string(record.task);
  return "task " + std::string(20 - digits.size(), '0') + digits;
}

}  // namespace

/// The state of one finish() call.
class TimelineAssembly {
 public:
  TimelineAssembly(const CuptiTimeline& timeline, const ClockMap& clock, const TimelineSpan& span)
      : timeline_(timeline), clock_(clock), span_(span) {
    // The builder shares the timeline's numbering of names.
    for (const std::string& name : timeline.names_.texts()) builder_.names().number(name);
    for (std::uint32_t i = 0; i < builder_.names().size(); ++i) {
      communication_.push_back(communication_name(builder_.names().text(i)));
    }
  }

  CuptiTrace run() {
    result_.quarantined = timeline_.quarantined_;
    join();
    for (const CuptiTimeline::Kept& kept : timeline_.kept_) take(kept);
    const std::vector<StepRange> steps = find_steps();
    find_windows(steps);
    for (const Placed& placed : placed_) add(placed);
    RankTrace& trace = result_.trace;
    trace.rank = span_.rank;
    trace.ranks = span_.ranks;
    trace.host = span_.host;
    trace.source = "cupti";
    builder_.finish(trace, steps);
    trace.quarantined += result_.quarantined.total();
    trace.dropped = timeline_.dropped_;
    trace.clock_samples = clock_.samples();
    return std::move(result_);
  }

 private:
  struct Call {
    std::int64_t begin_ns = 0;  // on CUPTI's clock
    std::uint32_t thread = 0;
  };
  struct Placed {
    TraceRecord record;
    std::uint32_t place = 0;
    bool is_on_device = false;
  };

  /// Collects what ties records together. Nested calls of one launch share its number; the
  /// outermost counts.
  void join() {
    for (const CuptiTimeline::Kept& kept : timeline_.kept_) {
      const CuptiActivity& activity = kept.activity;
      if (activity.type == ActivityType::correlation) {
        tasks_.insert_or_assign(activity.correlation,
                                span_.tasks.of(activity.id, span_.first_step));
      } else if (is_call(activity.type)) {
        const Call call{activity.begin_ns, activity.thread};
        const auto [at, is_new] = calls_.try_emplace(activity.correlation, call);
        if (!is_new && call.begin_ns < at->second.begin_ns) at->second = call;
      } else if (activity.type == ActivityType::range_end) {
        range_ends_.try_emplace(activity.id, activity.begin_ns);
      } else if (activity.type == ActivityType::event) {
        event_streams_.insert_or_assign(activity.id, activity.stream);
      }
    }
  }

  void take(const CuptiTimeline::Kept& kept) {
    const CuptiActivity& activity = kept.activity;
    Placed placed;
    placed.record.name = kept.name;
    std::int64_t end_ns = activity.end_ns;
    switch (activity.type) {
      case ActivityType::kernel:
      case ActivityType::copy:
      case ActivityType::fill:
        describe_device_work(activity, placed);
        break;
      case ActivityType::runtime_call:
      case ActivityType::driver_call:
        placed.record.kind = TraceKind::call;
        placed.place = thread_place(activity.thread);
        break;
      case ActivityType::overhead:
        placed.record.kind = TraceKind::call;
        placed.place =
            activity.thread == 0 ? places_.number("CUPTI") : thread_place(activity.thread);
        break;
      case ActivityType::synchronization:
        describe_wait(activity, placed);
        break;
      case ActivityType::range_begin: {
        // A range that is still open has no end.
        const auto end = range_ends_.find(activity.id);
        if (end == range_ends_.end()) return;
        end_ns = end->second;
        placed.record.kind = TraceKind::range;
        placed.place = thread_place(activity.thread);
        break;
      }
      case ActivityType::range_end:
      case ActivityType::correlation:
      case ActivityType::event:
        return;
    }
    const auto task = tasks_.find(activity.correlation);
    if (activity.correlation != 0 && task != tasks_.end()) {
      placed.record.step = task->second.step;
      placed.record.task = task->second.task;
    }
    place(activity.begin_ns, end_ns, std::move(placed));
  }

  void describe_device_work(const CuptiActivity& activity, Placed& placed) {
    TraceRecord& record = placed.record;
    record.kind = activity.type == ActivityType::kernel ? TraceKind::compute : TraceKind::copy;
    record.bytes = activity.bytes;
    const auto& communication = communication_[record.name];
    if (activity.type == ActivityType::kernel && communication &&
        communication->source == CommunicationSource::kernel) {
      record.kind = TraceKind::communication;
      record.collective = communication->collective;
    }
    placed.is_on_device = true;
    placed.place = places_.number(stream_place(activity));
    const auto call = calls_.find(activity.correlation);
    if (call == calls_.end()) return;
    record.submitted_ns = clock_.to_clock_ns(call->second.begin_ns).value_or(0);
  }

  void describe_wait(const CuptiActivity& activity, Placed& placed) {
    TraceRecord& record = placed.record;
    record.kind = TraceKind::call;
    // CUPTI does not tell which thread waited, but the call around the wait does.
    const auto call = calls_.find(activity.correlation);
    placed.place =
        call == calls_.end() ? places_.number("waits") : thread_place(call->second.thread);
    const auto recorded = event_streams_.find(activity.id);
    if (activity.id == 0 || recorded == event_streams_.end()) return;
    record.name = builder_.names().number(builder_.names().text(record.name) + " of stream " +
                                          std::to_string(recorded->second));
  }

  std::uint32_t thread_place(std::uint32_t thread) {
    return places_.number("thread " + std::to_string(thread));
  }

  void place(std::int64_t begin_ns, std::int64_t end_ns, Placed placed) {
    if (end_ns < begin_ns) {
      ++result_.quarantined.reversed_times;
      return;
    }
    if (begin_ns < span_.begin_cupti_ns - kSessionSlackNs ||
        end_ns - kSessionSlackNs > span_.end_cupti_ns) {
      ++result_.quarantined.outside;
      return;
    }
    const auto begin = clock_.to_clock_ns(begin_ns), end = clock_.to_clock_ns(end_ns);
    if (!begin || !end || *end < *begin || *begin < 0) {
      ++result_.quarantined.unplaced;
      return;
    }
    placed.record.begin_ns = *begin;
    placed.record.end_ns = *end;
    placed.record.submitted_ns = std::max<std::int64_t>(placed.record.submitted_ns, 0);
    placed_.push_back(std::move(placed));
  }

  /// Returns the steps of the span and the one after it, which ends the last window.
  std::vector<StepRange> find_steps() const {
    const std::int64_t last = span_.first_step + span_.steps;
    std::map<std::int64_t, std::int64_t> on_host;
    for (const StepStart& start : span_.host_starts) {
      if (start.step < span_.first_step || start.step > last) continue;
      on_host.try_emplace(start.step, start.begin_ns);
    }
    std::map<std::int64_t, std::int64_t> on_device;
    for (const Placed& placed : placed_) {
      const TraceRecord& record = placed.record;
      if (!placed.is_on_device || record.step < span_.first_step || record.step > last) continue;
      if (!on_host.empty() && !on_host.contains(record.step)) continue;
      const auto [at, is_new] = on_device.try_emplace(record.step, record.begin_ns);
      if (!is_new) at->second = std::min(at->second, record.begin_ns);
    }
    const bool has_all = !on_device.empty() && on_device.size() >= on_host.size();
    std::vector<StepRange> steps;
    for (const auto& [step, begin_ns] : has_all ? on_device : on_host) {
      steps.push_back({step, begin_ns, begin_ns});
    }
    return steps;
  }

  void find_windows(const std::vector<StepRange>& steps) {
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      if (steps[i].step + 1 != steps[i + 1].step) continue;
      windows_.push_back({steps[i].begin_ns, steps[i + 1].begin_ns});
    }
  }

  bool is_outside(const TraceRecord& record) const {
    if (windows_.empty()) return false;
    const auto window = std::ranges::upper_bound(windows_, record.begin_ns, {}, &Interval::end_ns);
    return window == windows_.end() ||
           (record.begin_ns < window->begin_ns && record.end_ns <= window->begin_ns);
  }

  void add(const Placed& placed) {
    TraceRecord record = placed.record;
    if (is_outside(record)) {
      ++result_.left_out;
      return;
    }
    if (placed.is_on_device) {
      ++result_.device_records;
      result_.marked += record.step != kNoStep;
    }
    const std::string& place = places_.text(placed.place);
    record.lane = builder_.lane(record.kind, place);
    const bool is_communication = record.kind == TraceKind::communication;
    builder_.add(record, is_communication ? communication_group(record, place) : "");
  }

  const CuptiTimeline& timeline_;
  const ClockMap& clock_;
  const TimelineSpan& span_;
  TraceBuilder builder_;
  Interner places_;
  std::vector<std::optional<CommunicationName>> communication_;  // by name
  std::unordered_map<std::uint32_t, MarkedTask> tasks_;          // by correlation
  std::unordered_map<std::uint32_t, Call> calls_;                // by correlation
  std::unordered_map<std::uint64_t, std::int64_t> range_ends_;
  std::unordered_map<std::uint64_t, std::uint32_t> event_streams_;
  std::vector<Placed> placed_;
  std::vector<Interval> windows_;  // disjoint, by begin
  CuptiTrace result_;
};

std::uint32_t CuptiTimeline::name_of(const CuptiActivity& activity, const CuptiApi& api) {
  switch (activity.type) {
    case ActivityType::kernel: {
      const std::string symbol = activity.name == nullptr ? "" : activity.name;
      const auto [at, is_new] = kernel_names_.try_emplace(symbol, 0);
      if (is_new) at->second = names_.number(kernel_name(symbol.c_str()));
      return at->second;
    }
    case ActivityType::copy:
      return names_.number(copy_name(activity.code));
    case ActivityType::fill:
      return names_.number("memset");
    case ActivityType::overhead:
      return names_.number(overhead_name(activity.code));
    case ActivityType::synchronization:
      return names_.number(synchronization_name(activity.code));
    case ActivityType::range_begin:
      return names_.number(activity.name == nullptr ? "range without a name" : activity.name);
    case ActivityType::runtime_call:
    case ActivityType::driver_call: {
      const auto [at, is_new] = call_names_.try_emplace({activity.type, activity.code}, 0);
      if (!is_new) return at->second;
      const bool is_runtime = activity.type == ActivityType::runtime_call;
      std::string name =
          api.call_name(is_runtime ? ApiDomain::runtime : ApiDomain::driver, activity.code);
      if (name.empty()) {
        name = (is_runtime ? "runtime call " : "driver call ") + std::to_string(activity.code);
      }
      at->second = names_.number(name);
      return at->second;
    }
    case ActivityType::correlation:
    case ActivityType::range_end:
    case ActivityType::event:
      break;
  }
  return 0;
}

void CuptiTimeline::add(const DecodedBuffer& buffer, const CuptiApi& api) {
  quarantined_ += buffer.quarantined;
  for (const CuptiActivity& activity : buffer.activities) {
    if (kept_.size() >= capacity_) {
      ++dropped_;
      continue;
    }
    Kept kept{activity, name_of(activity, api)};
    kept.activity.name = nullptr;
    kept_.push_back(kept);
  }
}

CuptiTrace CuptiTimeline::finish(const ClockMap& clock, const TimelineSpan& span) const {
  return TimelineAssembly(*this, clock, span).run();
}

}  // namespace hocket
