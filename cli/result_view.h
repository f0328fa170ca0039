#pragma once

// A study and its trials as people and programs read them. Thread-safe.

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/text.h"
#include "core/result.h"
#include "store/store.h"
#include "tuner/study.h"

namespace hocket {

/// A study with what is needed to show it.
struct StudyView {
  std::string name;
  Unit unit = Unit::nanoseconds;
  std::string objective = {};  ///< the first one
  Topology topology;
  std::string workload;
  std::vector<std::string> constraints = {};  ///< that every setting satisfies
  std::vector<std::string> limits = {};       ///< over which a trial has failed
  std::vector<Objective> others = {};         ///< further objectives
};

/// Reads what describes `study` from its row and the store.
Result<StudyView> study_view(Store& store, const StudyRow& study);

/// What print_trials() and its likes need to know of the trials.
TrialDetail detail_for(const StudyView& view);

/// `{"study":…,"objective":…,"unit":…,"objectives":[{"objective":…,"unit":…},…],"workload":…,
/// "topology":…,"link":…,"emulated_link":false,"constraints":[],"limits":[]}`
nlohmann::json to_json(const StudyView& view);

/// `[{"number":…,"phase":…,"state":…,"params":…,"value":…,"spread":…,"message":…,
/// "started_at":…,"finished_at":…},…]`, and "others" of what completed with several objectives
nlohmann::json trials_json(std::span<const TrialRow> trials);

/// A table, one column a parameter and one a further objective.
void print_trials(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view);

/// The finished trials of the search as a recorded sweep (docs/formats/table.md): a column a
/// parameter, then "value", which is empty for a failed trial and has "_" behind it where a
/// parameter has that name. Of several objectives each has a column, "objective:" and its text.
void print_trials_csv(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view);

/// "study NAME: WORKLOAD on TOPOLOGY (emulated link: …)", and "required CONSTRAINT, …" and "limited
/// to LIMIT, …" where there are some.
void print_heading(std::ostream& out, const StudyView& view);

/// The winner against the default, the noise beside the gain, and the decision.
void print_result(std::ostream& out, const StudyResult& result, Unit unit);

}  // namespace hocket
