#pragma once

// A study and its trials as people and programs read them. Thread-safe.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>

#include "cli/output/value_text.h"
#include "core/base/result.h"
#include "store/store.h"
#include "tuner/study/default_source.h"
#include "tuner/study/study.h"

namespace hocket {

/// A study with the data needed to show it.
struct StudyView {
  std::string name;
  ObjectiveUnit unit = ObjectiveUnit::nanoseconds;
  std::string objective = {};   ///< the first objective
  std::string label = "value";  ///< name of the objective in tables
  Direction direction = Direction::minimise;
  std::optional<Topology> topology = {};      ///< absent if the study has none that can be read
  std::string workload = {};                  ///< empty if the study has none that can be read
  std::vector<std::string> constraints = {};  ///< constraints that every setting satisfies
  std::vector<std::string> limits = {};       ///< limits; a trial that exceeds one has failed
  std::vector<Objective> others = {};         ///< further objectives
  DefaultSources default_sources = {};
};

/// Reads the data to show `study` from its row and the store. What cannot be read of its topology
/// and its workload is absent, and has a line in `unread`.
Result<StudyView> study_view(Store& store, const StudyRow& study, UnreadRows& unread);

/// Returns place_text() of the topology; "-" without one.
std::string place_text(const StudyView& view);

/// Returns the detail of trials that print_trials() needs. The forms for programs take all.
TrialDetail detail_for(const StudyView& view);

/// Returns this object:
/// `{"study":…,"objective":…,"unit":…,"objectives":[{"objective":…,"name":…,
/// "direction":"min","unit":…},…],"workload":…,
/// "topology":…,"link":…,"emulated_link":false,"constraints":[],"limits":[],
/// "default_sources":{…}}` (tuner/study/default_source.h); workload, topology and link are null
/// where the study has none.
nlohmann::json to_json(const StudyView& view);

/// `[{"number":…,"phase":…,"state":…,"params":…,"value":…,"spread":…,"message":…,
/// "started_at":…,"finished_at":…},…]`, "peak_memory_bytes" where it was measured, and "others" of
/// what completed with several objectives
nlohmann::json trials_json(std::span<const TrialRow> trials);

/// Prints a table with a column per parameter and per further objective.
void print_trials(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view);

/// Prints the finished trials, confirmations included, as a recorded sweep (docs/formats/table.md):
/// a column per parameter, then "value", which is empty for a failed trial and gets a trailing "_"
/// if a parameter has that name. With several objectives each has a column, "objective:" and its
/// text. Texts are plain lines (core/base/plain_text.h), so that a cell is on one line: what is
/// replaced there is in the JSON. The last columns, "trial:" and a name, have the trial's number,
/// phase, state, spread, times and peak memory.
void print_trials_csv(std::ostream& out, std::span<const TrialRow> trials, const StudyView& view);

/// Prints "study NAME: WORKLOAD on TOPOLOGY (emulated link: …)", what is maximised, and "required
/// CONSTRAINT, …" and "limited to LIMIT, …" if there are any.
void print_heading(std::ostream& out, const StudyView& view);

/// Returns the setting of the default, each parameter with where it comes from unless that is the
/// scheduler or not known: "BUCKET=8 (assumed), LR=0.1 (argparse of train.py)".
std::string default_text(const Params& params, const DefaultSources& sources);

/// Returns what a default that is assumed means, and what to do about it; empty if none is.
std::string assumption_text(const Params& defaults, const DefaultSources& sources);

/// Prints the winner against the default, the gain with its interval, and the decision.
void print_result(std::ostream& out, const StudyResult& result, const StudyView& view);

}  // namespace hocket
