#include "daemon/api/computed_results.h"

#include <utility>

#include "archive/profiles/load_profile.h"

namespace hocket {
namespace {

/// Profiles never change, but their names may be used again.
std::string cache_key(const ProfileRow& row) {
  return std::to_string(row.id) + " " + std::to_string(row.created_at_ns);
}

Result<LoadedTimeline> load_timeline(const ProfileRow& row) {
  auto loaded = load_profile(row);
  HOCKET_TRY(loaded);
  return LoadedTimeline{row.name, Timeline(loaded->traces, loaded->fits), std::move(loaded->notes)};
}

}  // namespace

ComputedResults::ComputedResults(Store& store, const ServedTraces& traces,
                                 ComputedResultsLimits limits)
    : store_(store),
      traces_(traces),
      explanations_(limits.explanations, [](const StudyExplanation&) { return std::size_t{1}; }),
      timelines_(limits.timeline_bytes,
                 [](const LoadedTimeline& loaded) { return loaded.timeline.bytes(); }),
      measured_jobs_(limits.measured_jobs, [](const MeasuredJob&) { return std::size_t{1}; }) {}

Result<std::shared_ptr<const StudyExplanation>> ComputedResults::explanation(
    const std::string& study) {
  const auto row = store_.study(study);
  HOCKET_TRY(row);
  const std::string key = std::to_string(row->id) + " " + std::to_string(row->updated_at_ns);
  return explanations_.get(key, [&] {
    return explain_study(store_, row->name, {.retrace_limit = kPromptRetraceLimit});
  });
}

Result<ProfileRow> ComputedResults::profile(const std::string& name) {
  auto row = store_.profile(name);
  HOCKET_TRY(row);
  return traces_.with_own_paths(std::move(*row));
}

Result<std::shared_ptr<const LoadedTimeline>> ComputedResults::timeline(const std::string& name) {
  const auto row = profile(name);
  HOCKET_TRY(row);
  return timelines_.get(cache_key(*row), [&] { return load_timeline(*row); });
}

Result<std::shared_ptr<const MeasuredJob>> ComputedResults::measured_job(const std::string& name) {
  const auto row = profile(name);
  HOCKET_TRY(row);
  return measured_jobs_.get(cache_key(*row), [&] { return hocket::measured_job(*row); });
}

}  // namespace hocket
