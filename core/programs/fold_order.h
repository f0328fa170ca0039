#pragma once

// Checks that the ranks of a folded job can begin their collectives and messages without waiting
// for each other in a circle (core/plan/job_order.h). Pure.

#include <memory>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/description/step_description.h"
#include "core/plan/captured_step.h"
#include "core/programs/job_fold.h"

namespace hocket {

/// Returns nothing if all ranks can begin their communications in order of submission.
/// invalid_argument names a circle of tasks and ranks otherwise.
Result<void> check_order_of_submission(const JobFold& fold);

/// Returns nothing if there is any order in which all ranks can begin their communications: if none
/// depends on itself over several ranks. `programs` are those of the fold, captured.
/// invalid_argument names a circle otherwise, and two tasks of a rank where ranks of one class send
/// to each other, since whatever one of them does first, all of them do.
Result<void> check_dependencies(const JobFold& fold,
                                std::span<const std::shared_ptr<const CapturedStep>> programs);

/// Returns a communication for people: its name, kind, bytes and group.
std::string in_words(const StepTask& communication, const Mesh& mesh);

}  // namespace hocket
