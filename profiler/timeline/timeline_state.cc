#include "profiler/timeline/timeline_state.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/trace/paired_collectives.h"
#include "core/trace/trace_builder.h"
#include "profiler/formats/lane_tracks.h"
#include "profiler/metrics/exposed_time.h"
#include "profiler/metrics/iteration_windows.h"
#include "profiler/timeline/axis.h"
#include "profiler/timeline/timed_records.h"

namespace hocket {
namespace {

LaneKind lane_kind_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::compute:
      return LaneKind::compute;
    case TraceKind::communication:
      return LaneKind::communication;
    case TraceKind::copy:
      return LaneKind::copy;
    case TraceKind::range:
      return LaneKind::range;
    case TraceKind::call:
      break;
  }
  return LaneKind::call;
}

std::string name_of(const std::string& name) {
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f;
  });
  if (is_plain && name.size() <= kMaxTimelineNameBytes) return name;
  return printable(name, kMaxTimelineNameBytes);
}

std::optional<std::int64_t> unless(std::int64_t unknown, std::int64_t value) {
  return value == unknown ? std::nullopt : std::optional(value);
}

class TimelineAssembly {
 public:
  TimelineAssembly(std::span<const RankTrace> traces, std::span<const ClockFit> fits)
      : traces_(traces),
        axis_(traces, fits),
        groups_(groups_of(traces)),
        state_(std::make_unique<TimelineState>()) {}

  std::unique_ptr<const TimelineState> run() {
    std::vector<std::size_t> order(traces_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return traces_[a].rank < traces_[b].rank;
    });
    const auto with_iterations = find_iterations(order);
    for (const std::size_t trace : order) add_rank(trace, trace == with_iterations);
    finish();
    return std::move(state_);
  }

 private:
  /// Keeps the windows of the reference's or another trace, and returns which it is.
  std::optional<std::size_t> find_iterations(std::vector<std::size_t> candidates) {
    if (!traces_.empty()) candidates.insert(candidates.begin(), reference_index(traces_));
    for (const std::size_t trace : candidates) {
      windows_ = windows_of(traces_[trace].step_starts, 0);
      if (!windows_.empty()) return trace;
    }
    return std::nullopt;
  }

  void add_rank(std::size_t index, bool has_iterations) {
    const RankTrace& trace = traces_[index];
    state_->ranks.push_back({trace.rank, printable(trace.host, kMaxTimelineNameBytes),
                             printable(trace.source, kMaxTimelineNameBytes)});
    name_numbers_.assign(trace.names.size(), kSeveralNames);
    if (has_iterations) add_iterations(index);
    const TimedLanes lanes = timed_lanes(axis_, trace, index);
    const BusyIntervals activity = busy_intervals_of(lanes);
    const auto exposed = difference_of(activity.communication, activity.compute);
    const std::uint32_t exposed_lane = next_lane();
    if (!exposed.empty()) add_exposed(trace.rank, exposed);
    RankCover cover;
    cover.first_lane = next_lane();
    for (const auto& [key, records] : lanes) add_lane(index, key.first, key.second, records);
    cover.last_lane = next_lane();
    if (!exposed.empty()) cover.exposed = KindCover({}, exposed_lane);
    cover.other = KindCover(
        difference_of(difference_of(activity.copy, activity.compute), activity.communication), {});
    cover.compute = cover_of(cover, LaneKind::compute, activity.compute);
    cover.communication = cover_of(cover, LaneKind::communication, activity.communication);
    cover.copy = cover_of(cover, LaneKind::copy, activity.copy);
    state_->covers.push_back(std::move(cover));
  }

  std::uint32_t next_lane() const { return static_cast<std::uint32_t>(state_->lanes.size()); }

  LaneRecords& open_lane(std::int64_t rank, LaneKind kind, std::int32_t lane, std::string title) {
    state_->lanes.push_back({rank, kind, lane, std::move(title)});
    return state_->lane_records.emplace_back();
  }

  void add_iterations(std::size_t index) {
    LaneRecords& lane = open_lane(traces_[index].rank, LaneKind::iteration, 0, "iterations");
    lane.reserve(windows_.size());
    std::int64_t last_ns = 0;
    for (const auto& [step, window] : windows_) {
      const std::int64_t begin_ns = std::max(axis_.at(index, window.begin_ns), last_ns);
      last_ns = std::max(axis_.at(index, window.end_ns), begin_ns);
      state_->iterations.push_back({step, begin_ns, last_ns});
      LaneRecord record{begin_ns, last_ns, names_.number("step " + std::to_string(step))};
      record.step = step;
      lane.push_back(record);
    }
  }

  void add_exposed(std::int64_t rank, const std::vector<Interval>& exposed) {
    LaneRecords& lane = open_lane(rank, LaneKind::exposed, 0, "exposed communication");
    lane.reserve(exposed.size());
    const std::uint32_t name = names_.number("exposed");
    for (const Interval& interval : exposed) {
      lane.push_back({interval.begin_ns, interval.end_ns, name});
    }
  }

  /// Adds the records of one stream, channel or thread as one lane for each row.
  void add_lane(std::size_t trace, TraceKind kind, std::int32_t number,
                std::span<const TimedRecord> records) {
    const RowPlan plan = plan_rows(records, kMaxLaneRows);
    if (state_->lanes.size() + plan.sizes.size() > kMaxTimelineLanes) {
      without_lane_ += std::ssize(records);
      return;
    }
    left_out_ += plan.left_out;
    const std::uint32_t first = next_lane();
    for (std::size_t row = 0; row < plan.sizes.size(); ++row) {
      open_lane(traces_[trace].rank, lane_kind_of(kind), number, track_name(kind, number, row))
          .reserve(plan.sizes[row]);
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (plan.row_of[i] != RowPlan::kLeftOut) place(trace, records[i], first + plan.row_of[i]);
    }
  }

  void place(std::size_t trace, const TimedRecord& timed, std::uint32_t lane) {
    const TraceRecord& from = traces_[trace].records[timed.index];
    LaneRecord record{timed.begin_ns, timed.end_ns, number_of(traces_[trace], from.name)};
    record.step = unless(kNoStep, from.step);
    record.task = unless(kNoTask, from.task);
    record.bytes = unless(0, from.bytes);
    record.sequence = unless(kNoSequence, from.sequence);
    if (from.submitted_ns != 0) record.submitted_ns = axis_.at(trace, from.submitted_ns);
    if (from.ready_ns != 0) record.ready_ns = axis_.at(trace, from.ready_ns);
    record.collective = from.collective;
    LaneRecords& records = state_->lane_records[lane];
    if (is_part(traces_[trace], from)) {
      parts_.push_back({groups_.of(trace, from),
                        from.sequence,
                        state_->ranks.size(),
                        timed.begin_ns,
                        {lane, static_cast<std::uint32_t>(records.size())}});
    }
    records.push_back(record);
    ++state_->records;
  }

  std::uint32_t number_of(const RankTrace& trace, std::uint32_t name) {
    std::uint32_t& number = name_numbers_[name];
    if (number == kSeveralNames) number = names_.number(name_of(trace.names[name]));
    return number;
  }

  /// Returns the cover of the rank whose lanes `own` names.
  KindCover cover_of(const RankCover& own, LaneKind kind, std::vector<Interval> of_kind) const {
    std::uint32_t lanes = 0, last = 0;
    for (std::uint32_t lane = own.first_lane; lane < own.last_lane; ++lane) {
      if (state_->lanes[lane].kind != kind) continue;
      ++lanes;
      last = lane;
    }
    return KindCover(std::move(of_kind), lanes == 1 ? std::optional(last) : std::nullopt);
  }

  void finish() {
    state_->joins = JoinTable(std::move(parts_));
    for (std::uint32_t join = 1; join <= state_->joins.size(); ++join) {
      for (const RecordPlace& part : state_->joins.parts(join)) {
        state_->lane_records[part.lane].set_join(part.record, join);
      }
    }
    for (std::size_t lane = 0; lane < state_->lanes.size(); ++lane) {
      LaneRecords& records = state_->lane_records[lane];
      records.finish();
      state_->lanes[lane].records = static_cast<std::uint32_t>(records.size());
      if (records.size() == 0) continue;
      const std::size_t last = records.size() - 1;
      state_->end_ns = std::max({state_->end_ns, records.end_ns(last), records.begin_ns(last) + 1});
    }
    state_->names = names_.texts();
    count_names();
    state_->notes = axis_.notes();
    if (left_out_ > 0) {
      state_->notes.push_back(std::to_string(left_out_) + " records overlap with " +
                              std::to_string(kMaxLaneRows) +
                              " others of their stream, channel or thread and are left out");
    }
    if (without_lane_ > 0) {
      state_->notes.push_back(std::to_string(without_lane_) +
                              " records are left out because they would need more than " +
                              std::to_string(kMaxTimelineLanes) + " lanes");
    }
  }

  void count_names() {
    for (std::size_t kind = 0; kind < kLaneKinds; ++kind) {
      std::vector<std::uint32_t> counts(state_->names.size(), 0);
      for (std::size_t lane = 0; lane < state_->lanes.size(); ++lane) {
        if (static_cast<std::size_t>(state_->lanes[lane].kind) != kind) continue;
        const LaneRecords& records = state_->lane_records[lane];
        for (std::size_t i = 0; i < records.size(); ++i) ++counts[records.name(i)];
      }
      for (std::uint32_t name = 0; name < counts.size(); ++name) {
        if (counts[name] > 0)
          state_->name_counts.push_back({static_cast<LaneKind>(kind), name, counts[name]});
      }
    }
  }

  std::span<const RankTrace> traces_;
  const TimelineAxis axis_;
  const JobGroups groups_;
  std::vector<StepWindow> windows_;
  std::unique_ptr<TimelineState> state_;
  Interner names_;
  std::vector<SequencedPart> parts_;
  std::int64_t left_out_ = 0, without_lane_ = 0;
  /// Numbers of the names of the trace that is being added; kSeveralNames for a name not yet used.
  std::vector<std::uint32_t> name_numbers_;
};

template <class T>
std::size_t held_by(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

std::size_t held_by(const std::string& text) {
  return text.capacity();
}

}  // namespace

std::size_t TimelineState::bytes() const {
  std::size_t sum = sizeof(TimelineState) + held_by(names) + held_by(ranks) + held_by(lanes) +
                    held_by(iterations) + held_by(notes) + held_by(lane_records) + held_by(covers) +
                    held_by(name_counts) + joins.bytes();
  for (const std::string& name : names) sum += held_by(name);
  for (const TimelineRank& rank : ranks) sum += held_by(rank.host) + held_by(rank.source);
  for (const TimelineLane& lane : lanes) sum += held_by(lane.title);
  for (const std::string& note : notes) sum += held_by(note);
  for (const LaneRecords& records_of_lane : lane_records) sum += records_of_lane.bytes();
  for (const RankCover& cover : covers) sum += cover.bytes();
  return sum;
}

std::unique_ptr<const TimelineState> build_timeline(std::span<const RankTrace> traces,
                                                    std::span<const ClockFit> fits) {
  return TimelineAssembly(traces, fits).run();
}

}  // namespace hocket
