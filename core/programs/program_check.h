#pragma once

// Compares the communications of all ranks of a job before they run, by which those that contradict
// each other are errors and not ranks that wait for each other (core/plan/job_order.h). All ranks
// call it together; equal programs are sent once.

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/collective/collective.h"
#include "core/programs/communication_program.h"

namespace hocket {

/// The programs of a job's ranks; equal ones are there once.
struct RankPrograms {
  std::vector<CommunicationProgram> programs;
  std::vector<std::uint32_t> program_of;  ///< by rank, an index into `programs`
};

/// Limits on the bytes of a program and on those of all different ones together.
inline constexpr std::size_t kMostProgramBytes = 16 << 20;
inline constexpr std::size_t kMostProgramsBytes = 64 << 20;

/// Exchanges the programs of all ranks of `mesh`; a collective of all ranks, by one all-gather and
/// a broadcast for each program where not all are equal. `collective` runs nothing else on this
/// rank meanwhile. invalid_argument, on every rank the same, where a rank sends what is no program,
/// or too much; the collective's errors otherwise.
Result<RankPrograms> exchange_programs(const CommunicationProgram& own, const Mesh& mesh,
                                       Collective& collective);

/// Returns nothing if the ranks of `mesh` can run these programs, whatever the times and however
/// few communications can be under way. invalid_argument otherwise, with the ranks and tasks that
/// contradict each other. Pure: the same on every rank.
Result<void> check_programs(const RankPrograms& job, const Mesh& mesh);

/// Does both. A rank returns with an error of invalid_argument once all have the programs, so that
/// it may leave the job at once.
Result<void> check_job(const CommunicationProgram& own, const Mesh& mesh, Collective& collective);

}  // namespace hocket
