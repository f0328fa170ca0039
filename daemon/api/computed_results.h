#pragma once

// Results that are computed from the store for readers: explanations of studies,
// timelines and calibrations of profiles. Kept in memory within limits, since each takes from
// milliseconds to seconds to make. Thread-safe.

#include <cstddef>
#include <memory>
#include <string>

#include "archive/profiles/measured_job.h"
#include "archive/studies/explanation/explained_study.h"
#include "core/base/result.h"
#include "daemon/api/loaded_cache.h"
#include "daemon/traces/served_traces.h"
#include "profiler/timeline/timeline.h"
#include "store/store.h"

namespace hocket {

/// A profile's records as a timeline, and what is missing in it.
struct LoadedTimeline {
  std::string profile;
  Timeline timeline;
  std::vector<std::string> notes;
};

struct ComputedResultsLimits {
  std::size_t timeline_bytes = 512 << 20;
  std::size_t explanations = 64, measured_jobs = 8;
};

class ComputedResults {
 public:
  /// Both must outlive this object.
  ComputedResults(Store& store, const ServedTraces& traces, ComputedResultsLimits limits = {});

  /// Returns the explanation of a study as it is now.
  Result<std::shared_ptr<const StudyExplanation>> explanation(const std::string& study);

  Result<std::shared_ptr<const LoadedTimeline>> timeline(const std::string& profile);

  /// Returns the profile calibrated for predictions.
  Result<std::shared_ptr<const MeasuredJob>> measured_job(const std::string& profile);

 private:
  Result<ProfileRow> profile(const std::string& name);

  Store& store_;
  const ServedTraces& traces_;
  LoadedCache<StudyExplanation> explanations_;
  LoadedCache<LoadedTimeline> timelines_;
  LoadedCache<MeasuredJob> measured_jobs_;
};

}  // namespace hocket
