#include "cli/output/progress.h"

#include <algorithm>
#include <ostream>

#include "cli/output/text_gate.h"
#include "core/base/text.h"
#include "core/protocol/promotion_rule.h"

namespace hocket {
namespace {

constexpr std::size_t kLineLimitBytes = 400;

std::int64_t search_total(const StudyDefinition& definition) {
  const auto trials = static_cast<std::uint64_t>(definition.trials);
  return static_cast<std::int64_t>(std::min(trials, definition.space.allowed_size()));
}

}  // namespace

StudyProgress::StudyProgress(std::ostream& err, int columns, const StudyDefinition& definition)
    : err_(err),
      columns_(columns),
      unit_(unit_of(definition.objective)),
      direction_(definition.objective.direction),
      others_(definition.other_objectives),
      search_total_(search_total(definition)),
      confirm_pairs_(definition.confirm_pairs) {}

StudyProgress::~StudyProgress() {
  if (line_open_) err_ << std::endl;
}

std::string StudyProgress::label(TrialPhase phase, std::int64_t ordinal) const {
  if (phase == TrialPhase::search) {
    return "trial " + std::to_string(ordinal) + "/" + std::to_string(search_total_);
  }
  const std::int64_t points = others_.empty() ? 1 : kMostFrontPoints;
  const std::int64_t total = default_works_
                                 ? (1 + points) * confirm_pairs_
                                 : points * std::min<std::int64_t>(confirm_pairs_, kFewestPairs);
  return "confirmation " + std::to_string(ordinal) + "/" + std::to_string(total);
}

std::string StudyProgress::best_text() const {
  return best_ ? "  best " + value_text(*best_, unit_) : std::string();
}

void StudyProgress::rewrite(const std::string& line) {
  // Leaves one column free, because a full line would wrap.
  err_ << TerminalControl::clear_line
       << printable(line, static_cast<std::size_t>(std::max(columns_ - 1, 1))) << std::flush;
  line_open_ = true;
}

void StudyProgress::recall(const Trial& trial) {
  if (trial.phase == TrialPhase::confirm) {
    ++confirmed_;
    return;
  }
  if (searched_++ == 0) default_works_ = is_complete(trial);
  const auto is_better = [&](double value) {
    return !best_ || cost(value, direction_) < cost(*best_, direction_);
  };
  if (is_complete(trial) && is_better(*trial.outcome.value)) best_ = trial.outcome.value;
}

void StudyProgress::note(const std::string& line) {
  if (line_open_) err_ << TerminalControl::clear_line;
  line_open_ = false;
  err_ << line << std::endl;
}

void StudyProgress::started(TrialPhase phase, const Params& params) {
  if (columns_ == 0) return;
  const std::int64_t done = phase == TrialPhase::search ? searched_ : confirmed_;
  rewrite(label(phase, done + 1) + best_text() + last_ + "  now " + params_text(params));
}

void StudyProgress::finished(const Trial& trial, const std::string& note) {
  recall(trial);
  const auto& outcome = trial.outcome;
  std::string ending = outcome.state == TrialState::complete
                           ? measured_text(*outcome.value, outcome.spread.value_or(0), unit_)
                           : std::string(to_string(outcome.state));
  if (outcome.state == TrialState::complete) {
    for (std::size_t i = 0; i < std::min(others_.size(), outcome.others.size()); ++i)
      ending += ", " + value_text(outcome.others[i], unit_of(others_[i]));
  }
  if (!note.empty()) ending += " (" + note + ")";
  last_ = "  last " + ending;
  const std::int64_t ordinal = trial.phase == TrialPhase::search ? searched_ : confirmed_;
  const std::string start = label(trial.phase, ordinal);
  if (columns_ > 0) {
    rewrite(start + best_text() + last_ + "  " + params_text(trial.params));
    return;
  }
  std::string line = start + "  " + params_text(trial.params) + "  " + ending + best_text();
  if (!outcome.message.empty()) line += "  " + outcome.message;
  err_ << printable(line, kLineLimitBytes) << std::endl;
}

}  // namespace hocket
