#pragma once

// What to try next on a job while it trains, and when to leave it alone. A study like any other
// (tuner/study/study_definition.h), whose space has as default the configuration that the job has.
// One thread; asking may take a second.

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "tuner/search/search.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// Candidates of one search, at most.
inline constexpr std::int64_t kLiveTrials = 30;

/// The study for a job: over the knobs that it can change, with what it runs with as default.
/// invalid_argument for a job that can change none.
Result<StudyDefinition> live_definition(const JobDescription& job);

/// The setting of the space's parameters in `config`.
Params params_of(const ScheduleConfig& config, const Space& space);

/// `base` with the parameters that are knobs put in.
Result<ScheduleConfig> with_params(const ScheduleConfig& base, const Params& params);

class LiveSearch {
 public:
  /// `first` are tried before what the search asks for: what is good for a neighbour, say.
  static Result<LiveSearch> make(const StudyDefinition& definition, std::vector<Params> first = {});

  const Space& space() const { return space_; }

  /// What a trial measured, in nanoseconds; of a failed one, no value.
  Result<void> tell(const Evaluation& evaluation);

  /// The next setting, none that `is_excluded` or that was told; nothing when the search is over:
  /// finished() says why.
  std::optional<Suggestion> ask(const std::function<bool(const Params&)>& is_excluded);

  /// Why there is nothing more to try; empty while there is.
  const std::string& finished() const { return finished_; }

 private:
  LiveSearch(Space space, std::unique_ptr<Search> search, std::deque<Params> first);
  bool was_told(const Params& params) const;
  void look_for_end();

  Space space_;
  std::unique_ptr<Search> search_;
  std::deque<Params> first_;
  std::vector<Evaluation> told_;
  std::vector<double> expected_improvements_;
  std::string finished_;
};

}  // namespace hocket
