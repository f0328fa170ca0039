#include "cli/verbs/studies/follow.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "archive/studies/open_study.h"
#include "archive/studies/study_job.h"
#include "archive/studies/told_trial.h"
#include "cli/output/progress.h"
#include "cli/views/result_view.h"
#include "core/protocol/topology.h"

namespace hocket {
namespace {

Result<StudyRow> study_to_follow(Store& store, const FollowOptions& following) {
  if (!following.study.empty()) return store.study(following.study);
  UnreadRows unread;
  auto studies = store.studies(&unread);
  HOCKET_TRY(studies);
  for (auto study = studies->rbegin(); study != studies->rend(); ++study) {
    if (study->state == StudyState::running && !is_orphan(*study, following.host)) {
      return std::move(*study);
    }
  }
  return failure(ErrorCode::not_found, "no study is running; `hocket studies` lists all");
}

Error interrupted_error(const StudyRow& study) {
  std::string message = "study " + study.name + " was interrupted: nobody runs it any more";
  if (study.origin == StudyOrigin::live) {
    message = "study " + study.name +
              " is paused: its job has ended, and the next job of its key goes on with it";
  } else if (study.origin == StudyOrigin::tune) {
    message += "; `hocket tune --resume --study " + study.name + "` goes on with it";
  }
  return {ErrorCode::unavailable, std::move(message)};
}

/// Shows a study, and remembers which of its trials were shown.
class FollowedStudy {
 public:
  FollowedStudy(Store& store, const FollowOptions& following, VerbContext& context, StudyRow study)
      : store_(store), following_(following), context_(context), study_(std::move(study)) {}

  /// Counts what has finished before.
  Result<void> begin() {
    auto definition = study_definition_from_json(study_.definition);
    if (!definition) return failure(definition.error().in("study " + study_.name));
    const auto rows = finished_trials();
    HOCKET_TRY(rows);
    std::vector<Trial> history;
    for (const TrialRow& row : *rows) {
      auto trial = trial_of(row);
      HOCKET_TRY(trial);
      history.push_back(std::move(*trial));
      seen_.insert(row.id);
    }
    definition->objective = resolved_objective(definition->objective, history);
    if (!following_.json) progress_.emplace(context_.err, context_.err_columns, *definition);
    if (progress_) {
      context_.err << "following study " << study_.name << ", which has " << history.size()
                   << (history.size() == 1 ? " finished trial" : " finished trials") << std::endl;
      for (const Trial& trial : history) progress_->recall(trial);
    }
    return show_running();
  }

  /// Shows what has finished since.
  Result<void> look() {
    auto study = store_.study(std::to_string(study_.id));
    HOCKET_TRY(study);
    study_ = std::move(*study);
    const auto rows = finished_trials();
    HOCKET_TRY(rows);
    for (const TrialRow& row : *rows) {
      if (seen_.insert(row.id).second) HOCKET_TRY(show(row));
    }
    return show_running();
  }

  /// Returns how following ends; nothing while the study is running.
  Result<std::optional<int>> ending() {
    // Its process may have ended it, and then itself, since the last look.
    if (is_orphan(study_, following_.host)) HOCKET_TRY(look());
    if (study_.state == StudyState::running && !is_orphan(study_, following_.host)) {
      return std::nullopt;
    }
    const bool is_finished = study_.state == StudyState::finished;
    progress_.reset();  // ends its line
    if (following_.json) {
      context_.out << json_text({{"study", study_.name},
                                 {"state", is_finished ? "finished" : "interrupted"},
                                 {"trials", seen_.size()},
                                 {"result", study_.result}})
                   << std::endl;
    } else if (is_finished) {
      context_.out << context_.placed("study " + study_.name + " is finished; `hocket best " +
                                      study_.name + "` shows what came of it")
                   << std::endl;
    }
    if (!is_finished) return failure(interrupted_error(study_));
    return kDone;
  }

 private:
  /// Returns the trials that have ended, in the order in which they did.
  Result<std::vector<TrialRow>> finished_trials() {
    auto rows = store_.trials(study_.id, TrialDetail::with_measurements);
    HOCKET_TRY(rows);
    running_.reset();
    for (const TrialRow& row : *rows) {
      const bool runs = row.state == TrialState::running && !row.is_offered;
      if (runs && !running_) running_ = row;
    }
    std::erase_if(*rows, [](const TrialRow& row) { return row.state == TrialState::running; });
    std::ranges::stable_sort(*rows, {}, &TrialRow::finished_at_ns);
    return rows;
  }

  Result<void> show(const TrialRow& row) {
    if (following_.json) {
      auto document = trials_json(std::span(&row, 1)).at(0);
      document["study"] = study_.name;
      context_.out << json_text(document) << std::endl;
      return {};
    }
    const auto trial = trial_of(row);
    HOCKET_TRY(trial);
    std::string note;
    if (study_.topology_id) {
      const auto topology = topology_of(store_, study_);
      HOCKET_TRY(topology);
      note = emulation_note(*topology);
    }
    progress_->finished(*trial, note);
    return {};
  }

  Result<void> show_running() {
    if (!running_ || !progress_ || running_->id == shown_running_) return {};
    const auto params = params_from_json(running_->params);
    HOCKET_TRY(params);
    shown_running_ = running_->id;
    progress_->started(running_->phase, *params);
    return {};
  }

  Store& store_;
  const FollowOptions& following_;
  VerbContext& context_;
  StudyRow study_;
  std::set<std::int64_t> seen_;  ///< ids of the trials that were counted or shown
  std::optional<TrialRow> running_;
  std::int64_t shown_running_ = 0;  ///< id of the running trial that is shown
  std::optional<StudyProgress> progress_;
};

}  // namespace

bool is_orphan(const StudyRow& study, const HostView& host) {
  return study.state == StudyState::running && owner_state(study.owner, host) == OwnerState::gone;
}

Result<int> follow_study(Store& store, const FollowOptions& following, VerbContext& context) {
  // Counted first, so that a change during the first look is seen at the second.
  auto count = store.change_count();
  HOCKET_TRY(count);
  auto study = study_to_follow(store, following);
  HOCKET_TRY(study);
  FollowedStudy followed(store, following, context, std::move(*study));
  HOCKET_TRY(followed.begin());
  for (;;) {
    const auto ended = followed.ending();
    HOCKET_TRY(ended);
    if (*ended) return **ended;
    if (!following.wait()) return kInterrupted;
    const auto now = store.change_count();
    HOCKET_TRY(now);
    if (*now != *count) HOCKET_TRY(followed.look());
    count = now;
  }
}

}  // namespace hocket
