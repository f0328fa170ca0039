#pragma once

// The time of a study that has to confirm and promote within it (`hocket tune --max-time`): which
// runs still fit, and what is set aside for the confirmation. It is told what runs took; the
// longest so far, a tenth more and 50 ms, is what the next one is expected to take. Pure: time is
// an argument, in nanoseconds of any clock. One thread at a time.
//
// Set aside are as many confirmation runs as the study may need, but no more than fit into a third
// of the time, and at least the fewest that can decide. Where not even those, the default and one
// more setting fit, nothing is set aside: the study measures what it can and is left unconfirmed.

#include <cstdint>
#include <string>

#include "core/protocol/trial_outcome.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// Numbers of runs that confirm a study's winner.
struct ConfirmationRuns {
  int fewest = 0;  ///< with which it can be decided
  int most = 0;

  bool operator==(const ConfirmationRuns&) const = default;
};

ConfirmationRuns confirmation_runs(const StudyDefinition& definition);

class TimeBudget {
 public:
  /// `total_ns`, above 0, begin at `begin_ns`.
  TimeBudget(std::int64_t total_ns, std::int64_t begin_ns, ConfirmationRuns confirmation)
      : total_ns_(total_ns), begin_ns_(begin_ns), confirmation_(confirmation) {}

  /// A run took so long.
  void took(std::int64_t run_ns);

  std::int64_t total_ns() const { return total_ns_; }
  std::int64_t end_ns() const { return begin_ns_ + total_ns_; }
  /// Expected duration of a run; 0 while none has ended.
  std::int64_t expected_ns() const;
  /// Number of confirmation runs that time is set aside for.
  int runs_set_aside() const;
  /// When a run of this phase has to have ended.
  std::int64_t deadline_ns(TrialPhase phase) const;

  /// Returns why no run of this phase is to begin at `now_ns`, in which `searched` trials of the
  /// search have ended; empty if one fits.
  std::string why_none_fits(TrialPhase phase, std::int64_t now_ns, std::int64_t searched) const;

  /// Returns what the first run means for the rest: how many more fit, and what is set aside.
  std::string outlook(std::int64_t now_ns) const;

 private:
  const std::int64_t total_ns_, begin_ns_;
  const ConfirmationRuns confirmation_;
  std::int64_t longest_ns_ = 0;
};

/// Returns "3 min", "2.5 s", "1 h 30 min": a time as people say it.
std::string time_span_text(std::int64_t ns);

}  // namespace hocket
