#include "profiler/formats/collective_flows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/check.h"
#include "core/trace/paired_collectives.h"
#include "profiler/formats/file_clock.h"

namespace hocket {
namespace {

/// A part with its times on the reference's clock.
struct PlacedPart {
  std::size_t trace = 0, index = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  CollectiveKind kind = CollectiveKind::all_reduce;
};

/// Returns the part that arrows begin at: the last arrival, or the send of a message. Null for two
/// parts of messages that are no send and its receive. Requires parts sorted by their begins.
const PlacedPart* source_of(const std::vector<PlacedPart>& parts) {
  const auto is_of_message = [](const PlacedPart& part) { return is_message(part.kind); };
  if (std::ranges::none_of(parts, is_of_message)) return &parts.back();
  const PlacedPart &first = parts.front(), &second = parts.back();
  if (parts.size() != 2 || !is_message(first.kind) || !is_message(second.kind) ||
      first.kind == second.kind) {
    return nullptr;
  }
  return first.kind == CollectiveKind::send ? &first : &second;
}

std::int64_t difference_ns(std::int64_t later, std::int64_t earlier) {
  std::int64_t difference = 0;
  return __builtin_sub_overflow(later, earlier, &difference)
             ? std::numeric_limits<std::int64_t>::max()
             : difference;
}

class FlowNumbers {
 public:
  FlowNumbers(std::span<const RankTrace> traces, std::span<const ClockFit> fits)
      : traces_(traces), fits_(fits), pairs_(traces) {
    for (const RankTrace& trace : traces) parts_.emplace_back(trace.records.size());
  }

  std::vector<std::vector<PartFlows>> take() { return std::move(parts_); }

  void measure_and_number(std::size_t most, std::vector<std::string>& notes) {
    std::vector<std::pair<std::int64_t, std::size_t>> by_skew;
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const std::vector<PlacedPart> parts = placed(i);
      if (parts.size() < 2 || source_of(parts) == nullptr) continue;
      if (pairs_.is_complete(i) && parts.size() == pairs_[i].parts.size()) describe(parts);
      by_skew.emplace_back(difference_ns(parts.back().begin_ns, parts.front().begin_ns), i);
      wanted += parts.size() - 1;
    }
    if (wanted > most) {
      std::ranges::stable_sort(by_skew, std::greater<>(),
                               [](const auto& each) { return each.first; });
    }
    const std::size_t joined = number(by_skew, most);
    if (joined < by_skew.size()) {
      notes.push_back("arrows join the parts of " + std::to_string(joined) + " of " +
                      std::to_string(by_skew.size()) +
                      " collectives, those whose ranks arrived furthest apart: a picture has at "
                      "most " +
                      std::to_string(most) + " arrows");
    }
  }

 private:
  /// Returns the parts of a collective whose clocks are related, by their begins.
  std::vector<PlacedPart> placed(std::size_t collective) const {
    const PairedCollective pair = pairs_[collective];
    const std::vector<std::size_t>& members = pairs_.groups()[pair.group].traces;
    std::vector<PlacedPart> parts;
    for (std::size_t member = 0; member < members.size(); ++member) {
      const TraceRecord* record = pair.parts[member];
      const std::size_t trace = members[member];
      if (record == nullptr || fits_[trace].method == "none") continue;
      parts.push_back({trace, static_cast<std::size_t>(record - traces_[trace].records.data()),
                       FileClock::on_reference(fits_[trace], record->begin_ns),
                       FileClock::on_reference(fits_[trace], record->end_ns), *record->collective});
    }
    std::ranges::stable_sort(parts, {}, &PlacedPart::begin_ns);
    return parts;
  }

  /// Describes the arrivals at a collective whose parts are all there. Requires at least two.
  void describe(const std::vector<PlacedPart>& parts) {
    const auto residual = [&](const PlacedPart& part) { return fits_[part.trace].residual_ns; };
    const PlacedPart &last = parts.back(), &second = parts[parts.size() - 2];
    const bool is_told_apart = static_cast<double>(difference_ns(last.begin_ns, second.begin_ns)) >
                               residual(last) + residual(second);
    double error_ns = 0;
    for (const PlacedPart& part : parts) error_ns = std::max(error_ns, residual(part));
    for (const PlacedPart& part : parts) {
      PartFlows& flows = parts_[part.trace][part.index];
      flows.late_ns = difference_ns(part.begin_ns, parts.front().begin_ns);
      flows.clock_error_ns = std::llround(std::clamp(error_ns, 0.0, 1e18));
      if (part.kind == CollectiveKind::send) continue;
      flows.wait_ns = difference_ns(last.begin_ns, part.begin_ns);
      const bool waits = part.kind != CollectiveKind::receive || last.trace != part.trace;
      if (is_told_apart && waits) flows.waited_for = traces_[last.trace].rank;
    }
  }

  /// Numbers the arrows of the first collectives that fit in `most`; returns how many these are.
  std::size_t number(const std::vector<std::pair<std::int64_t, std::size_t>>& collectives,
                     std::size_t most) {
    std::uint64_t numbers = 0;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const std::vector<PlacedPart> parts = placed(collectives[i].second);
      if (numbers + parts.size() - 1 > most) return i;
      const PlacedPart& source = *source_of(parts);
      PartFlows& from = parts_[source.trace][source.index];
      from.first_outgoing = numbers + 1;
      for (const PlacedPart& part : parts) {
        // A part that ended before the last arrival did not wait for it. Viewers join an arrow's
        // ends in the order of time: the begin of the last part and the end of the other.
        if (&part == &source || part.end_ns <= source.begin_ns) continue;
        parts_[part.trace][part.index].incoming = ++numbers;
        ++from.outgoing;
      }
    }
    return collectives.size();
  }

  std::span<const RankTrace> traces_;
  std::span<const ClockFit> fits_;
  PairedCollectives pairs_;
  std::vector<std::vector<PartFlows>> parts_;
};

}  // namespace

CollectiveFlows::CollectiveFlows(std::span<const RankTrace> traces, std::span<const ClockFit> fits,
                                 std::size_t most) {
  HOCKET_CHECK(traces.size() == fits.size(), "each trace has a fit of its clock");
  if (traces.size() < 2) return;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (fits[i].method != "none") continue;
    notes_.push_back("rank " + std::to_string(traces[i].rank) +
                     "'s clock is related to no other: no arrows join its collectives");
  }
  FlowNumbers numbers(traces, fits);
  numbers.measure_and_number(most, notes_);
  parts_ = numbers.take();
}

PartFlows CollectiveFlows::of(std::size_t trace, std::size_t index) const {
  return parts_.empty() ? PartFlows() : parts_[trace][index];
}

}  // namespace hocket
