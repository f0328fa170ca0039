#pragma once

// The study of a job while it trains: its definition, and its search so far out of the store. A
// study like any other (tuner/study/study_session.h), whose space has as default the configuration
// that the job has; and what the ended ones of a key have left. One thread; asking the session may
// take a second.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/job_message.h"
#include "daemon/live/ended_search.h"
#include "store/store.h"
#include "tuner/study/study_definition.h"
#include "tuner/study/study_session.h"

namespace hocket {

/// Trials of one search at most, measurements of the current configuration included.
inline constexpr std::int64_t kLiveTrials = 30;
/// No rule ends a search of the job's own knobs alone before so many trials: no model of the step
/// says where to begin, and only a drift begins another search.
inline constexpr std::int64_t kLeastLiveTrials = 12;
/// Once a search has ended, what may still gain this share is measured again.
inline constexpr double kWorthwhileGain = 0.02;

/// Returns the knobs of a job that have at least two values to which it can change while it runs
/// (core/protocol/runnable_values.h), in its order.
std::vector<std::string> searched_knobs(const JobDescription& job);

/// Returns the study for a job: over the knobs and values to which it can change, with its
/// configuration as default. invalid_argument for a job that can change none, or names one that
/// does not exist.
Result<StudyDefinition> live_definition(const JobDescription& job);

/// Returns what the job predicts, as a donor for a search of `space`; nothing if it predicts
/// nothing.
std::optional<Donor> predicted_donor(const JobDescription& job, const Space& space);

/// Returns the session of a live study that has been through `trials`: those that have ended, and
/// `offered`, which still runs. A trial without a worker measured what the job had, unasked. Trials
/// that cannot be read or are outside the space are passed over, since another version may have
/// written them. Before anything else, each of the job's own knobs that has two words is tried with
/// the other one, since such a knob switches something on or off.
Result<StudySession> live_session(const StudyDefinition& definition,
                                  std::span<const TrialRow> trials,
                                  std::optional<std::int64_t> offered);

/// Returns the live studies of a key, the newest first.
Result<std::vector<StudyRow>> live_studies(Store& store, std::int64_t topology_id,
                                           std::int64_t workload_id);

/// Returns what `studies[index]`, one of live_studies() that has finished, has left for a job that
/// has the configuration `config`; without one its times are left out.
Result<EndedSearch> read_ended_search(Store& store, const std::vector<StudyRow>& studies,
                                      std::size_t index, const ScheduleConfig* config = nullptr);

/// Returns what the newest search of the key has left; nothing if it goes on, or there is none.
Result<std::optional<EndedSearch>> newest_ended_search(Store& store, std::int64_t topology_id,
                                                       std::int64_t workload_id);

}  // namespace hocket
