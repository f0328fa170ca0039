#pragma once

// The workload of a plain command: one that does not itself say what it is, as a job of hocket's
// scheduler does in its report. It is the program that the command runs
// (tuner/command/command_program.h), or the name that the user gives in its place, and the names
// and kinds of the parameters; so two scripts never share a configuration because the same
// interpreter runs them. Reads the file system; thread-safe.
//
// A script is known by its absolute path without symbolic links. That keeps it the same job while
// it is edited, which a fingerprint of its content would not, and keeps equal files of two projects
// (a `run.sh` that starts whatever lies beside it) apart. A script that moves, or that lies
// elsewhere on another host, needs a name.

#include <span>
#include <string>

#include "core/protocol/workload.h"
#include "store/rows.h"
#include "tuner/space/space.h"
#include "tuner/study/study_definition.h"

namespace hocket {

/// Returns what tells the program of `command`, started in the absolute path `working_directory`,
/// from every other on this host: the path of its file, or the folder and the words where no file
/// is known.
std::string program_of(std::span<const std::string> command, const std::string& working_directory);

/// Returns the workload of a command that is tuned over `space`. A `name` that is not empty stands
/// for the program.
Workload plain_workload(std::span<const std::string> command, const std::string& working_directory,
                        const Space& space, const std::string& name = "");

/// Returns the workload of a stored study. Studies of earlier versions have only a name: if it is
/// that of the command's first word, their command says what they ran.
Workload known_workload(Workload stored, const StudyRow& study, const StudyDefinition& definition);

}  // namespace hocket
