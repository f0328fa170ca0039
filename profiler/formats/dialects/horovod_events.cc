#include "profiler/formats/dialects/horovod_events.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/statistics.h"
#include "core/step/collective_kind.h"
#include "core/trace/collective_name.h"
#include "core/trace/repetition.h"

namespace hocket {
namespace {

constexpr std::string_view kNegotiate = "NEGOTIATE_";
constexpr std::array<std::string_view, 8> kOperations{"ALLREDUCE", "ALLGATHER",     "BROADCAST",
                                                      "ALLTOALL",  "REDUCESCATTER", "ADASUM",
                                                      "BARRIER",   "JOIN"};

bool is_operation(std::string_view name) {
  return std::ranges::find(kOperations, name) != kOperations.end();
}

bool is_negotiation(std::string_view name) {
  return name.starts_with(kNegotiate) && is_operation(name.substr(kNegotiate.size()));
}

/// Returns the rank that an event without length says is ready.
std::optional<std::int64_t> ready_rank(const PlainEvent& event, std::string_view name) {
  constexpr std::size_t kMostDigits = 7;
  const bool is_number = !name.empty() && name.size() <= kMostDigits &&
                         name.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number || !event.is_whole || event.begin_ns != event.end_ns) return std::nullopt;
  std::int64_t rank = 0;
  for (const char digit : name) rank = 10 * rank + (digit - '0');
  return rank;
}

std::string milliseconds(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g ms", ns / 1e6);
  return text;
}

/// Gives intervals that overlap different lanes. Intervals must come in the order of their begins.
class Lanes {
 public:
  std::int32_t lane_for(std::int64_t begin_ns, std::int64_t end_ns) {
    std::int32_t lane = static_cast<std::int32_t>(busy_.size());
    if (!busy_.empty() && busy_.top().first <= begin_ns) {
      lane = busy_.top().second;
      busy_.pop();
    }
    busy_.push({end_ns, lane});
    return lane;
  }

 private:
  using Busy = std::pair<std::int64_t, std::int32_t>;  // until when, and the lane
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
};

/// One tensor's negotiations, when ranks were ready, and its collectives.
struct Negotiations {
  struct Tick {
    std::int64_t at_ns = 0, rank = 0;
  };
  std::vector<const PlainEvent*> spans;
  std::vector<Tick> ticks;
  std::vector<std::size_t> operations;  ///< indices, in order of their begins
};

/// A collective of a tensor.
struct Operation {
  TraceRecord record;                          ///< from the begin of what is done for it
  std::map<std::int64_t, std::int64_t> ready;  ///< time at which a rank was ready, by rank
};

/// Counts, for each rank, the negotiations in which it was ready last, and keeps how long after the
/// first.
struct Arrivals {
  std::int64_t negotiations = 0;  ///< in which at least two ranks said that they are ready
  std::map<std::int64_t, std::int64_t> last;
  std::vector<double> late_ns;
};

class HorovodReader {
 public:
  explicit HorovodReader(const PlainEvents& events) : events_(events) {}

  std::vector<RankTrace> read(ImportNotes& notes) {
    sort(notes);
    find_operations();
    const Arrivals arrivals = arrivals_of();
    say(arrivals, notes);
    const std::vector<std::size_t> starts = starts_of_steps(notes);
    std::vector<RankTrace> traces;
    const std::int64_t ranks = knows_ranks() ? most_rank_ + 1 : 1;
    if (ranks > 1) {
      notes.add(
          "each rank's collectives begin where rank 0 heard that it was ready, and end when they "
          "were done",
          NoteWeight::informs);
    }
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      traces.push_back(trace_of(rank, ranks > 1, starts));
    return traces;
  }

 private:
  void sort(ImportNotes& notes) {
    for (const PlainEvent& event : events_.events()) {
      const std::string& name = events_.name(event);
      if (!event.is_whole) {
        ++quarantined_;
        notes.count("events without an end");
      } else if (const auto rank = ready_rank(event, name)) {
        negotiations_[event.place].ticks.push_back({event.begin_ns, *rank});
        most_rank_ = std::max(most_rank_, *rank);
      } else {
        in_order_.push_back(&event);
        if (is_negotiation(name)) negotiations_[event.place].spans.push_back(&event);
      }
    }
    std::ranges::stable_sort(
        in_order_, {}, [](const PlainEvent* e) { return std::pair(e->begin_ns, ~e->end_ns); });
  }

  void find_operations() {
    for (const PlainEvent* event : in_order_) {
      const std::string& name = events_.name(*event);
      if (!is_operation(name)) continue;
      const std::string& tensor = events_.place(*event).process_name;
      TraceRecord record;
      record.kind = TraceKind::communication;
      record.collective = name == "ADASUM" ? CollectiveKind::all_reduce : spelled_collective(name);
      record.name = names_.number(tensor.empty() ? name : tensor);
      record.begin_ns = event->begin_ns;
      record.end_ns = event->end_ns;
      record.sequence = std::ssize(operations_);
      negotiations_[event->place].operations.push_back(operations_.size());
      operations_.push_back({record, {}});
      collective_ns_.push_back(static_cast<double>(record.end_ns - record.begin_ns));
    }
  }

  /// Returns whether it is known of nearly all collectives when each of several ranks was ready.
  bool knows_ranks() const {
    if (most_rank_ == 0 || most_rank_ >= kMostRanks) return false;
    const auto known = std::ranges::count_if(
        operations_, [&](const Operation& operation) { return is_known(operation); });
    return 10 * known >= 9 * std::ssize(operations_);
  }

  bool is_known(const Operation& operation) const {
    return std::ssize(operation.ready) == most_rank_ + 1;
  }

  /// Returns the trace of a rank. If `are_apart`, its collectives begin where it was ready, so that
  /// the ranks can be compared; collectives of which that is not known are in the trace of rank 0,
  /// which wrote the file, alone.
  RankTrace trace_of(std::int64_t rank, bool are_apart, const std::vector<std::size_t>& starts) {
    std::vector<TraceRecord> records;
    for (const Operation& operation : operations_) {
      TraceRecord record = operation.record;
      if (!are_apart) {
        record.sequence = kNoSequence;
      } else if (is_known(operation)) {
        record.begin_ns = operation.ready.at(rank);
      } else if (rank > 0) {
        continue;
      }
      records.push_back(record);
    }
    std::ranges::stable_sort(records, {}, &TraceRecord::begin_ns);
    TraceBuilder builder;
    Lanes channels;
    for (TraceRecord& record : records) {
      record.lane = channels.lane_for(record.begin_ns, record.end_ns);
      record.name = builder.names().number(names_.text(record.name));
      builder.add(record);
    }
    if (rank == 0) add_ranges(builder);
    RankTrace trace;
    trace.source = "horovod";
    trace.rank = rank;
    trace.ranks = most_rank_ + 1;
    trace.quarantined = rank == 0 ? quarantined_ : 0;
    std::vector<StepRange> steps;
    for (const std::size_t start : starts) {
      const Operation& first = operations_[start];
      const bool has_own = are_apart && is_known(first);
      const std::int64_t begin_ns = has_own ? first.ready.at(rank) : first.record.begin_ns;
      steps.push_back({std::ssize(steps), begin_ns, begin_ns});
    }
    builder.finish(trace, steps);
    return trace;
  }

  /// Adds negotiations and what is done within collectives.
  void add_ranges(TraceBuilder& builder) const {
    Lanes ranges;
    for (const PlainEvent* event : in_order_) {
      const std::string& name = events_.name(*event);
      if (is_operation(name)) continue;
      TraceRecord record;
      record.kind = TraceKind::range;
      record.name = builder.names().number(name);
      record.begin_ns = event->begin_ns;
      record.end_ns = event->end_ns;
      record.lane = ranges.lane_for(record.begin_ns, record.end_ns);
      builder.add(record);
    }
  }

  Arrivals arrivals_of() {
    Arrivals arrivals;
    for (auto& [place, of_tensor] : negotiations_) {
      auto& [spans, ticks, operations] = of_tensor;
      std::ranges::sort(spans, {}, [](const PlainEvent* e) { return e->begin_ns; });
      std::ranges::sort(ticks, {}, [](const auto& t) { return std::pair(t.at_ns, t.rank); });
      std::size_t next = 0, operation = 0;
      for (const PlainEvent* span : spans) {
        negotiation_ns_.push_back(static_cast<double>(span->end_ns - span->begin_ns));
        while (next < ticks.size() && ticks[next].at_ns < span->begin_ns) ++next;
        const std::size_t first = next;
        while (next < ticks.size() && ticks[next].at_ns <= span->end_ns) ++next;
        while (operation < operations.size() &&
               operations_[operations[operation]].record.begin_ns < span->end_ns)
          ++operation;
        for (std::size_t i = first; i < next && operation < operations.size(); ++i)
          operations_[operations[operation]].ready.try_emplace(ticks[i].rank, ticks[i].at_ns);
        if (next - first < 2) continue;
        ++arrivals.negotiations;
        ++arrivals.last[ticks[next - 1].rank];
        arrivals.late_ns.push_back(static_cast<double>(ticks[next - 1].at_ns - ticks[first].at_ns));
      }
    }
    return arrivals;
  }

  static std::string sum_and_middle(const std::vector<double>& times_ns) {
    double sum = 0;
    for (const double ns : times_ns) sum += ns;
    return milliseconds(sum) + " in all, " + milliseconds(median(times_ns)) + " in the middle";
  }

  void say(const Arrivals& arrivals, ImportNotes& notes) const {
    if (!collective_ns_.empty()) {
      notes.add(std::to_string(collective_ns_.size()) + " collectives took " +
                    sum_and_middle(collective_ns_),
                NoteWeight::informs);
    }
    if (!negotiation_ns_.empty()) {
      notes.add(
          "before them, " + std::to_string(negotiation_ns_.size()) +
              " negotiations waited for all ranks to be ready: " + sum_and_middle(negotiation_ns_),
          NoteWeight::informs);
    }
    if (arrivals.negotiations == 0) return;
    std::vector<std::pair<std::int64_t, std::int64_t>> last;  // how often, and the rank
    for (const auto& [rank, times] : arrivals.last) last.emplace_back(-times, rank);
    std::ranges::sort(last);
    std::string ranks;
    constexpr std::size_t kShown = 4;
    for (std::size_t i = 0; i < std::min(kShown, last.size()); ++i) {
      ranks += (i == 0 ? "rank " : ", rank ") + std::to_string(last[i].second) + " in " +
               std::to_string(-last[i].first);
    }
    if (last.size() > kShown) ranks += ", …";
    notes.add("ready last of " + std::to_string(arrivals.negotiations) + " negotiations: " + ranks +
                  "; in the middle " + milliseconds(median(arrivals.late_ns)) +
                  " after the first rank",
              NoteWeight::informs);
  }

  /// Returns the indices of the collectives with which steps begin.
  std::vector<std::size_t> starts_of_steps(ImportNotes& notes) const {
    std::vector<RepeatedItem> items;
    for (const Operation& operation : operations_)
      items.push_back({operation.record.name, operation.record.begin_ns, operation.record.end_ns});
    std::vector<std::size_t> starts = period_starts(items);
    if (starts.empty()) {
      notes.add("the tensors do not repeat, so there are no iterations");
    } else {
      notes.add("iterations are taken from the repetition of the tensors, " +
                    std::to_string(starts.size() - 1) + " times",
                NoteWeight::informs);
    }
    return starts;
  }

  const PlainEvents& events_;
  static constexpr std::int64_t kMostRanks = 65'536;

  std::vector<const PlainEvent*> in_order_;             ///< without ticks
  std::map<std::uint32_t, Negotiations> negotiations_;  ///< by place
  Interner names_;
  std::vector<Operation> operations_;  ///< in order of their begins
  std::vector<double> collective_ns_, negotiation_ns_;
  std::int64_t most_rank_ = 0, quarantined_ = 0;
};

}  // namespace

bool is_horovod(const PlainEvents& events) {
  return std::ranges::any_of(events.events(), [&](const PlainEvent& event) {
    const std::string& name = events.name(event);
    const PlainPlace& place = events.place(event);
    return is_negotiation(name) ||
           (place.thread.empty() && !place.process_name.empty() && is_operation(name));
  });
}

std::vector<RankTrace> horovod_traces(const PlainEvents& events, ImportNotes& notes) {
  return HorovodReader(events).read(notes);
}

}  // namespace hocket
