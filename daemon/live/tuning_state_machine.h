#pragma once

// The live tuning of one key as a state machine: its states, the action that is due in a state, and
// the state after an event. Pure: no clock, no store, no thread. KeyTuner (daemon/live/key_tuner.h)
// carries out the actions.
//
//   idle       no job of the key can explore
//   waiting    one job, the explorer, was chosen; no study runs
//   measuring  a study runs; iterations under the explorer's configuration are being measured
//   ready      their time is known; the search may be asked
//   asking     the search works out the next candidate
//   trying     the explorer has a candidate and has not answered
//   settled    the search has ended; another one begins when times drift, or when what an earlier
//              job left of it is not enough (daemon/live/ended_search.h)
//
//   idle <-> waiting -> measuring <-> ready -> asking -> trying -> measuring or ready
//                                              asking -> ready or measuring or settled
//   waiting -> settled -> waiting; every state -> waiting when its study ends early
//
// Invariants:
// 1. Only due() decides, from the state and what is seen now. An action that failed changes nothing
//    and is due again; one that was carried out is not due again until another event.
// 2. A study ends before another one begins, and before its explorer is replaced.
// 3. At most one candidate is outstanding. It ends before the next one is offered or its study is
//    ended by a drift.
// 4. A candidate is offered only while exploring is allowed, and only if the search was asked for
//    the configuration that the explorer still has, whose time is known.
// 5. While the search is asked, no action uses its session.
// 6. Each drift is recorded, then the study ends and the quarantine is lifted, and then a new study
//    begins; none is resumed in between.
// 7. A job that is left alone does not become the explorer while it runs.
// 8. An explorer opens an ended search again at most once, and never the one that it ended itself.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/protocol/job_message.h"
#include "core/step/schedule_config.h"
#include "daemon/live/drift.h"
#include "daemon/live/ended_search.h"
#include "store/rows.h"
#include "tuner/space/space.h"

namespace hocket::tuning {

/// Iterations under the current configuration before a job is given a candidate.
inline constexpr std::size_t kBaselineIterations = 8;
/// Consecutive candidates that a job may reject before it is no longer used as explorer.
inline constexpr int kMostRejections = 5;
/// Time after which an explorer that has not answered is replaced if another job can explore.
inline constexpr std::int64_t kAnswerLimitNs = 3'600'000'000'000;

/// A lasting change of iteration times under an unchanged configuration.
struct FoundDrift {
  std::string job;
  double before_ns = 0, now_ns = 0;  ///< medians
};

struct Explorer {
  std::string job;
  ScheduleConfig config;
  double value_ns = 0;                 ///< value of `config` in the study; 0 while it is not known
  std::vector<double> latest_ns = {};  ///< latest iterations under `config`, while value_ns is 0
  DriftDetector drift = DriftDetector();
  int rejections = 0;        ///< consecutive
  std::uint64_t number = 0;  ///< of the job's registration (daemon/live/job_registry.h)
};

struct OpenStudy {
  std::int64_t id = 0;
  std::string name;
};

struct Candidate {
  std::int64_t trial = 0;
  Params params = {};
  ScheduleConfig config = {};
  std::int64_t since_ns = 0;
};

/// An answer of a job before it was chosen, to a candidate that an earlier daemon had offered.
struct EarlyOutcome {
  std::string job;
  ChangeOutcome outcome;
};

struct Idle {
  std::optional<EarlyOutcome> early = {};
};

struct Waiting {
  Explorer explorer;
  std::optional<EarlyOutcome> early = {};
};

struct Measuring {
  Explorer explorer;
  OpenStudy study;
};

struct Ready {
  Explorer explorer;
  OpenStudy study;
};

struct Asking {
  Explorer explorer;
  OpenStudy study;
  ScheduleConfig base;  ///< the explorer's configuration when the search was asked
};

struct Trying {
  Explorer explorer;
  OpenStudy study;
  Candidate candidate;
  std::optional<ChangeOutcome> outcome = {};
};

struct Settled {
  Explorer explorer;
  EndedSearch search = {};
  bool may_reopen = false;  ///< an earlier job has searched, and this one has not opened it again
};

/// State of what the studies and the quarantine of the key say about iteration times.
enum class Learned {
  holds,
  outdated,  ///< a drift was recorded
  dropped,   ///< the quarantine was lifted after it; the next study is a new one
};

/// The tuning of one key.
struct State {
  std::variant<Idle, Waiting, Measuring, Ready, Asking, Trying, Settled> at = {};
  std::set<std::string> left_alone = {};  ///< jobs that refused too often, or did not answer
  std::optional<FoundDrift> drift = {};   ///< outcomes that are not recorded yet
  Learned learned = Learned::holds;

  /// Returns null in the states that have none. Valid until the state changes.
  const Explorer* explorer() const;
  const OpenStudy* study() const;
  const Candidate* candidate() const;
};

/// Returns the state's name, as in the list above.
std::string_view to_string(const State& state);

/// The answer of a search that was asked.
struct SearchAnswer {
  enum class Kind { candidate, end, error };
  Kind kind = Kind::candidate;
  std::string reason = {};  ///< why the search has ended, or the error
};

/// A job that may become the explorer.
struct NextExplorer {
  std::string job;
  ScheduleConfig config;
  std::uint64_t number = 0;  ///< of the job's registration
};

/// The surroundings of a key's tuning at one time.
struct Sight {
  std::int64_t now_ns = 0;
  std::int64_t now_unix_ns = 0;
  bool may_explore = false;                 ///< new studies, searches and candidates are allowed
  bool has_explorer = false;                ///< the explorer runs and can explore
  std::optional<NextExplorer> other = {};   ///< another job, which is connected and can explore
  std::optional<SearchAnswer> answer = {};  ///< answer of the search that was asked
};

struct Action {
  enum class Kind {
    conclude,         ///< record the answer to the candidate
    leave_alone,      ///< use the explorer no longer
    end_study,        ///< `study_state` and `reason` say how; abandons a candidate
    end_search,       ///< end the study because the search has nothing more to try: `reason`
    change_explorer,  ///< change the explorer to Sight::other, or to none
    record_drift,
    reopen_search,  ///< record that an ended search is opened again: `reason`
    lift_quarantine,
    resume_study,  ///< resume a study, or begin one if there is none
    begin_study,
    tell_baseline,  ///< measure the current configuration as a trial of the study
    ask,            ///< ask the search
    return_answer,  ///< give the candidate back to the search
    offer,          ///< send the candidate to the explorer
    fail_search,    ///< `reason` is the error
  };
  Kind kind = Kind::conclude;
  StudyState study_state = StudyState::finished;
  std::string reason = {};
};

/// Returns whether due() looks at Sight::other, which takes a while to find among many jobs.
bool needs_other(const State& state, const Sight& sight);

/// Returns the action to carry out now; nothing if only an event can change the state.
std::optional<Action> due(const State& state, const Sight& sight);

/// The end of a candidate that follows from the job's answer.
struct Conclusion {
  bool is_kept = false;
  bool is_slower = false;               ///< measured as slower, and not kept
  std::vector<double> samples_ns = {};  ///< in the study's values; empty if it was not measured
  std::vector<double> candidate_ns = {}, current_ns = {};  ///< as measured

  bool is_measured() const { return !samples_ns.empty(); }
};

/// A trial's value is relative to the current configuration, which its window measured too:
/// (median of the candidate) / (median of the current one) · (value of the current one). So a slow
/// change of the machine cancels out. `runs_with` is the explorer's configuration, null if the
/// explorer is gone. Requires an outcome.
Conclusion conclusion_of(const Trying& trying, const ScheduleConfig* runs_with);

/// A report of any job of the key; `config` is the configuration of that job.
struct JobReported {
  ScheduleConfig config;
  const JobReport& report;
};
struct ConfigSeen {
  ScheduleConfig config;  ///< configuration of the explorer
};
/// The registrations of these have ended.
struct JobsForgotten {
  std::vector<std::string> jobs;
};
struct LeftAlone {};
struct ExplorerChanged {
  std::optional<NextExplorer> next;
};
struct DriftRecorded {};
struct QuarantineLifted {};
struct StudyOpened {
  OpenStudy study;
  double value_ns = 0;  ///< value of the explorer's configuration; 0 if the study has none
  std::optional<Candidate> candidate = {};  ///< candidate that the search still waits for
};
/// The last study for the explorer's knobs has ended, so none is begun.
struct NothingToSearch {
  EndedSearch search = {};
};
/// It is searched again, as after a drift.
struct SearchReopened {};
struct StudyEnded {
  bool is_settled = false;  ///< the search itself has ended
  EndedSearch search = {};  ///< if it has
};
struct StudyRemoved {};
struct BaselineTold {
  double value_ns = 0;
};
struct SearchAsked {};
/// An answer was given back, or is an error.
struct AnswerDropped {};
struct CandidateOffered {
  Candidate candidate;
};
struct CandidateEnded {
  Conclusion conclusion;
  double value_ns = 0;  ///< value of the candidate; 0 if it was not measured
};

using Event = std::variant<JobReported, ConfigSeen, JobsForgotten, LeftAlone, ExplorerChanged,
                           DriftRecorded, QuarantineLifted, StudyOpened, NothingToSearch,
                           SearchReopened, StudyEnded, StudyRemoved, BaselineTold, SearchAsked,
                           AnswerDropped, CandidateOffered, CandidateEnded>;

/// Returns the state after an event. Requires that the state can have it: of what an action leads
/// to, that the action was due; StudyRemoved and the ends of a study, that one runs.
State after(State state, const Event& event);

}  // namespace hocket::tuning
