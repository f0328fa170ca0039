#pragma once

// Says on one page what the traces of a job show, without a store: where the time of an iteration
// goes, which collectives cost most, who waits for whom, and what to try. Pure.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "archive/profiles/report/straggler_report.h"
#include "core/step/collective_kind.h"
#include "core/trace/rank_trace.h"

namespace hocket {

/// A rank's iterations; none if nothing of its trace is known as work. Times are medians over its
/// iterations, as docs/METRICS.md defines them; gaps are of the computing stream with the most
/// work, per iteration.
struct RankReport {
  std::int64_t rank = 0;
  std::string host;
  std::int64_t iterations = 0;
  double iteration_ns = 0, spread_ns = 0;
  double compute_ns = 0, communication_ns = 0, exposed_ns = 0;
  double copy_ns = 0, exposed_copy_ns = 0, idle_ns = 0;
  double gap_host_ns = 0, gap_event_ns = 0, gap_kernel_ns = 0, gap_unknown_ns = 0;
  std::int64_t lost = 0;  ///< records that were lost or cannot be true

  bool operator==(const RankReport&) const = default;
};

/// Collectives of one name, kind and group: means of an iteration on one rank.
struct CollectiveReport {
  std::string name, group;  ///< group: empty for all ranks
  std::optional<CollectiveKind> kind;
  double per_iteration = 0;
  double bytes = 0;  ///< sum over all of them; 0 if the trace does not say
  double busy_ns = 0, exposed_ns = 0;

  bool operator==(const CollectiveReport&) const = default;
};

struct TraceReport {
  std::string source;
  std::int64_t job_ranks = 1;  ///< ranks of the job, also those without a trace
  /// True if a trace has no iterations; the figures then count the whole trace as one.
  bool is_of_whole_trace = false;
  /// False if no rank has any computation. Then it is not known which communication and copies are
  /// exposed, nor when ranks were idle, and there is no advice.
  bool has_computation = true;
  std::vector<RankReport> ranks;              ///< by rank; at least one
  std::vector<CollectiveReport> collectives;  ///< the most exposed time first
  std::optional<StragglerReport> stragglers;  ///< absent where ranks cannot be compared
  std::vector<std::string> notes;             ///< notes on withheld figures come first
  std::vector<std::string> advice;            ///< suggestions, the largest possible gain first
};

/// Reports on traces, which are sorted by rank. `notes` are those of their import. Requires at
/// least one trace. Without any work, or if too much of it is lost to tell whole iterations, there
/// are no figures. Beyond a tenth of lost, impossible or cut records of work there is no advice.
TraceReport report_traces(std::vector<RankTrace> traces, std::vector<std::string> notes);

/// Returns what to try by the figures of `report`.
std::vector<std::string> advice_for(const TraceReport& report);

/// Returns `{"source":…,"job_ranks":…,"whole_trace":…,"ranks":[…],"collectives":[…],
/// "stragglers":…,"advice":[…],"notes":[…]}`; null where a value is unknown.
nlohmann::json to_json(const TraceReport& report);

}  // namespace hocket
