#pragma once

// Checks that the ranks of a folded job can begin their collectives and messages without waiting
// for each other in a circle (core/plan/job_order.h). Pure.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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

/// Returns nothing if the orders in which ranks begin the parts of their communications are parts
/// of one order of the job. `orders` has that of each program of the fold, one entry per part: the
/// numbers of its communications, each as often as it has parts of `partition_bytes`.
/// invalid_argument names a circle otherwise.
Result<void> check_part_orders(const JobFold& fold,
                               std::span<const std::vector<std::uint32_t>> orders,
                               std::int64_t partition_bytes);

/// Returns nothing if a rank that begins the parts of its communications in this order begins none
/// before what it depends on has ended in the order. `order` is as in check_part_orders().
/// invalid_argument names two tasks otherwise.
Result<void> check_own_order(const CapturedStep& step, std::span<const std::uint32_t> order);

/// Returns a communication for people: its name, kind, bytes and group.
std::string in_words(const StepTask& communication, const Mesh& mesh);
/// Returns the same with its type, and with the rank that a message of `rank` goes to or comes
/// from, or the root of a broadcast.
std::string in_words(const StepTask& communication, const CommunicationDetail& detail,
                     const Mesh& mesh, std::int64_t rank);

}  // namespace hocket
