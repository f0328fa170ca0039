#include "archive/workers/worker_crew.h"

#include <algorithm>
#include <utility>

#include "archive/studies/study_job.h"
#include "archive/studies/told_trial.h"
#include "core/base/check.h"

namespace hocket {

WorkerCrew::WorkerCrew(Store& store, const StudyRow& study, const Clock& clock,
                       const CancelToken& cancel, InterruptibleWait wait, OnLook on_look,
                       SayWaiting say)
    : store_(store),
      study_(study),
      clock_(clock),
      cancel_(cancel),
      wait_(wait),
      on_look_(std::move(on_look)),
      patience_(
          clock, std::move(wait),
          [this] {
            away_ns_ = clock_.now_ns();
            return !cancel_.cancelled();
          },
          std::move(say), std::nullopt) {}

Result<std::vector<Trial>> WorkerCrew::running() {
  const auto rows = patience_([&] { return store_.trials(study_.id, TrialDetail::summary); });
  HOCKET_TRY(rows);
  running_.clear();
  last_number_ = 0;
  std::vector<Trial> trials;
  for (const TrialRow& row : *rows) {
    last_number_ = std::max(*last_number_, row.number);
    if (row.state != TrialState::running) continue;
    auto trial = trial_of(row);
    HOCKET_TRY(trial);
    trial->began = std::ranges::count_if(*rows, [&](const TrialRow& other) {
      return other.finished_at_ns && *other.finished_at_ns <= row.started_at_ns;
    });
    running_[row.id] = trial->number;
    trials.push_back(std::move(*trial));
  }
  return trials;
}

Result<void> WorkerCrew::check_owner() const {
  const auto study = patience_([&] { return store_.study(std::to_string(study_.id)); });
  HOCKET_TRY(study);
  if (study->owner == study_.owner) return {};
  return failure(ErrorCode::unavailable,
                 "study " + study_.name + " was taken over by " + study->owner);
}

Result<std::vector<WorkerRow>> WorkerCrew::look() const {
  HOCKET_TRY(check_owner());
  const bool has_just_returned = away_ns_ && clock_.now_ns() - *away_ns_ < kReturnGraceNs;
  if (!has_just_returned)
    HOCKET_TRY(patience_([&] { return store_.offer_lost_trials(study_.id); }));
  auto workers = patience_([&] { return store_.workers(study_.id); });
  HOCKET_TRY(workers);
  if (on_look_) HOCKET_TRY(on_look_(*workers));
  return workers;
}

std::size_t WorkerCrew::places_of(const std::vector<WorkerRow>& workers) const {
  return workers.size() > running_.size() ? workers.size() - running_.size() : 0;
}

Result<std::size_t> WorkerCrew::free() {
  const auto workers = look();
  HOCKET_TRY(workers);
  places_ = places_of(*workers);
  return places_;
}

Result<std::optional<TrialRow>> WorkerCrew::find_offer(const NewTrial& trial) const {
  const auto rows = store_.trials(study_.id, TrialDetail::summary);
  HOCKET_TRY(rows);
  const auto next = std::ranges::find(*rows, *last_number_ + 1, &TrialRow::number);
  if (next == rows->end()) return std::nullopt;
  if (next->phase == trial.phase && next->params == trial.params) return *next;
  return failure(ErrorCode::invalid_argument,
                 "another process adds trials to study " + study_.name);
}

Result<TrialRow> WorkerCrew::offer(const NewTrial& trial) const {
  bool may_be_offered = false;
  return patience_([&]() -> Result<TrialRow> {
    if (may_be_offered) {
      auto offered = find_offer(trial);
      HOCKET_TRY(offered);
      if (*offered) return std::move(**offered);
    }
    may_be_offered = true;
    return store_.start_trial(trial);
  });
}

Result<std::int64_t> WorkerCrew::start(const Trial& trial, std::span<const double>) {
  HOCKET_CHECK(last_number_, "running() comes first");
  const auto row = offer({.study_id = study_.id,
                          .phase = trial.phase,
                          .params = to_json(trial.params),
                          .worker = trial.worker,
                          .is_offered = true});
  if (!row) return failure(as_bad_input(row.error()));
  running_[row->id] = row->number - 1;
  last_number_ = row->number;
  if (places_ > 0) --places_;
  return row->number - 1;
}

Result<const TrialRow*> WorkerCrew::first_ended(const std::vector<TrialRow>& rows) const {
  const TrialRow* first = nullptr;
  std::size_t found = 0;
  for (const TrialRow& row : rows) {
    if (!running_.contains(row.id)) continue;
    ++found;
    if (row.state == TrialState::running) continue;
    if (!first || row.finished_at_ns < first->finished_at_ns) first = &row;
  }
  if (found == running_.size()) return first;
  return failure(ErrorCode::unavailable,
                 "trials of study " + study_.name + " were removed by another process");
}

Result<void> WorkerCrew::give_up_lost(const std::vector<TrialRow>& rows) const {
  for (const TrialRow& row : rows) {
    if (!running_.contains(row.id) || row.state != TrialState::running) continue;
    if (!row.is_offered || row.losses < kMostLosses) continue;
    TrialOutcome lost;
    lost.message =
        "lost with its worker " + std::to_string(row.losses) +
        " times; if hosts fail without the trial, too, run it again in a study of its own";
    HOCKET_TRY(patience_([&] { return store_.finish_trial(row.id, lost); }));
  }
  return {};
}

Result<Trial> WorkerCrew::ended_trial(std::int64_t id) {
  const auto rows =
      patience_([&] { return store_.trials(study_.id, TrialDetail::with_measurements); });
  HOCKET_TRY(rows);
  const auto row = std::ranges::find(*rows, id, &TrialRow::id);
  if (row == rows->end()) {
    return failure(ErrorCode::unavailable,
                   "trials of study " + study_.name + " were removed by another process");
  }
  running_.erase(id);
  return trial_of(*row);
}

Result<bool> WorkerCrew::has_ended() {
  if (running_.empty()) return false;
  const auto rows = patience_([&] { return store_.trials(study_.id, TrialDetail::summary); });
  HOCKET_TRY(rows);
  const auto ended = first_ended(*rows);
  HOCKET_TRY(ended);
  return *ended != nullptr;
}

Result<std::optional<Trial>> WorkerCrew::wait() {
  const std::int64_t begin_ns = clock_.now_ns();
  for (;;) {
    if (cancel_.cancelled()) return failure(ErrorCode::interrupted, "the study was interrupted");
    const auto workers = look();
    HOCKET_TRY(workers);
    const auto rows = patience_([&] { return store_.trials(study_.id, TrialDetail::summary); });
    HOCKET_TRY(rows);
    const auto ended = first_ended(*rows);
    HOCKET_TRY(ended);
    if (*ended) {
      auto trial = ended_trial((*ended)->id);
      HOCKET_TRY(trial);
      return std::optional(std::move(*trial));
    }
    HOCKET_TRY(give_up_lost(*rows));
    const std::size_t places = places_of(*workers);
    const bool has_more = places > places_;
    places_ = places;
    if (has_more) return std::nullopt;
    wait_(next_wait_ns(clock_.now_ns() - begin_ns));
  }
}

}  // namespace hocket
