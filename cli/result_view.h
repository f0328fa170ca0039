#pragma once

// What came of a study, as JSON and as people read it. Thread-safe.

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
  std::string objective;
  Topology topology;
  std::string workload;
  std::vector<std::string> constraints = {};  ///< that every setting satisfies
};

/// Reads what describes `study` from its row and the store.
Result<StudyView> study_view(Store& store, const StudyRow& study);

/// `{"study":…,"objective":…,"workload":…,"topology":…,"link":…,"emulated_link":false,
/// "constraints":[]}`
nlohmann::json to_json(const StudyView& view);

/// `{"default":{"params":…,"value":…,"spread":…},"best":…,"promoted":…,"gain":…,"noise":…,
/// "reason":…}`; a value is null when there is none. Without the trials.
nlohmann::json to_json(const StudyResult& result);
Result<StudyResult> study_result_from_json(const nlohmann::json& document);

/// `[{"number":…,"phase":…,"state":…,"params":…,"value":…,"spread":…,"message":…,
/// "started_at":…,"finished_at":…},…]`
nlohmann::json trials_json(std::span<const TrialRow> trials);

/// A table, one column a parameter.
void print_trials(std::ostream& out, std::span<const TrialRow> trials, Unit unit);

/// The finished trials of the search as a recorded sweep (docs/formats/table.md): a column a
/// parameter, then "value", which is empty for a failed trial and has "_" behind it where a
/// parameter has that name.
void print_trials_csv(std::ostream& out, std::span<const TrialRow> trials);

/// "study NAME: WORKLOAD on TOPOLOGY (emulated link: …)", and "required CONSTRAINT, …" where there
/// are some.
void print_heading(std::ostream& out, const StudyView& view);

/// The winner against the default, the noise beside the gain, and the decision.
void print_result(std::ostream& out, const StudyResult& result, Unit unit);

}  // namespace hocket
