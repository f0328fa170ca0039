#pragma once

// A study that this process is about to run: a new or a resumed one. One thread.

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/topology.h"
#include "core/protocol/workload.h"
#include "store/store.h"
#include "tuner/study/study.h"
#include "tuner/study/study_definition.h"
#include "tuner/trial/command_runner.h"

namespace hocket {

struct OpenStudy {
  StudyRow study;  ///< owned by this process
  StudyDefinition definition;
  std::vector<Trial> history;
};

struct StudyToStart {
  StudyDefinition definition;
  std::vector<std::string> command;
  std::string name;   ///< empty: generated
  Workload workload;  ///< replaced once a report names the workload
  Topology topology;  ///< this host's; replaced once a report names the job's topology
};

Result<OpenStudy> start_study(Store& store, const StudyToStart& wanted);

struct StudyToResume {
  std::string name = {};  ///< empty: the latest of origin tune that is not finished
  /// Other hosts have the store, too. Without a name, only a study that was run on this host
  /// counts, since those of others may be somebody else's.
  bool is_shared = false;
  std::vector<std::string> command = {};  ///< must be the study's, when there is one
  bool take_over = false;  ///< from an owner on another host, which cannot be checked from here
  /// Goes on although the default failed, also where the study ended for that reason.
  bool keep_going = false;
  /// Goes on with so many workers (StudyDefinition::workers); nothing: as before.
  std::optional<std::int64_t> workers = {};
  /// Another number of trials of the search (StudyDefinition::trials); nothing: as before. One that
  /// has been run already ends the search, so that the winner is confirmed; it is not changed once
  /// that has begun.
  std::optional<std::int64_t> trials = {};
  /// Goes on although files of the command have changed, whose content is now the study's.
  bool accept_changes = false;
  /// New options of Slurm (StudyDefinition::slurm); absent: they stay as they are.
  std::optional<std::string> slurm = {};
};

/// Refuses a study of another origin than tune, whose command came from elsewhere; one that is
/// finished, with the reason for its end, whose owner is alive, whose command is another than the
/// wanted one, or of whose command a file has changed (archive/studies/command_files.h). Removes
/// the trial that was running when the study stopped; it runs again under its number. Trials of a
/// study of workers stay, since they may still run.
Result<OpenStudy> resume_study(Store& store, const StudyToResume& wanted);

/// Returns how the trials of a study are run.
CommandOptions command_options(const StudyRow& study, const StudyDefinition& definition);

/// Returns the trials of a study that have ended, in the order in which they ended, with the times
/// of run_study().
Result<std::vector<Trial>> read_history(Store& store, std::int64_t study_id);

/// Returns an automatic objective as the first completed trial has shown what it means, any other
/// `objective` as it is.
Objective resolved_objective(Objective objective, const std::vector<Trial>& history);

/// Says whether a job's report was among the measurements of `trials`.
bool has_report(const std::vector<Trial>& trials);

}  // namespace hocket
