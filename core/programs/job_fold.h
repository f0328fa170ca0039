#pragma once

// A job whose ranks run different programs, folded: ranks that are alike become one class, and the
// communications that are alike between the same classes become one. Ranks are alike if they run
// the same program at the same speed, if whom they communicate with is alike, and if the ranks of
// their hosts are. Whatever one of them does, and when, all of its class do, so that a simulation
// of one rank of each class is exact. (This is the coarsest equitable partition of the ranks, found
// by refinement: Cardon and Crochemore, Theoretical Computer Science 19, 1982.)
//
// Folding matches communications: the n-th of a group on one of its ranks is the n-th on the
// others, and the n-th message from one rank to another in a group is the n-th that this receives
// from it. Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/collective/shared_flows.h"
#include "core/description/step_description.h"
#include "core/step/element_type.h"

namespace hocket {

/// Ranks that do the same at the same times.
struct RankClass {
  std::int64_t first_rank = 0;
  std::int64_t ranks = 0;
  double compute_scale = 1;
  std::uint32_t program = 0;  ///< index into program_steps()

  bool operator==(const RankClass&) const = default;
};

/// A collective or a message of the job, and those that are alike.
struct FoldedCommunication {
  /// Classes whose ranks take part. One that sends to ranks of its own is there twice.
  std::vector<std::uint32_t> members;
  bool crosses_hosts = false;
  /// Links that its bytes use, and those of the communications alike to it, below JobFold::links.
  std::vector<SharedFlows::Use> uses;
};

/// Properties of a communication that a running program has and a description has not.
struct CommunicationDetail {
  ElementType type = ElementType::float32;
  std::uint32_t root = 0;  ///< of a broadcast: its index in the group

  bool operator==(const CommunicationDetail&) const = default;
};

struct JobFold {
  std::vector<StepDescription> programs;  ///< as program_steps() returns them
  /// By program, those of its communications in order; empty where they are not known.
  std::vector<std::vector<CommunicationDetail>> details;
  std::vector<RankClass> classes;       ///< that of rank 0 first
  std::vector<std::uint32_t> class_of;  ///< by rank
  std::vector<FoldedCommunication> communications;
  /// By class, in the order of its program's collectives and messages: the communication.
  std::vector<std::vector<std::uint32_t>> begun;
  /// Number of links: out of each class's rank and into it, out of each host of a kind and into it.
  /// A link inside hosts carries what a rank exchanges with others there.
  std::size_t links = 0;
};

/// Folds `step`, which must be valid. With jitter every rank is a class of its own.
/// invalid_argument, with two ranks and the names of tasks, where ranks of a group have different
/// numbers of communications in it, different kinds or bytes, and where a rank sends to itself.
Result<JobFold> fold_job(const StepDescription& step);

/// A job by the programs of its ranks, without a description of all of it.
struct JobPrograms {
  /// Steps of the same ranks and mesh, at least one; only their communications count.
  std::vector<StepDescription> steps;
  /// By step, one for each communication.
  std::vector<std::vector<CommunicationDetail>> details;
  std::vector<std::uint32_t> program_of;  ///< by rank, an index into `steps`
};

/// Limit on the communications of all classes together in fold_programs().
inline constexpr std::size_t kMostFoldedBegun = 8'000'000;

/// Folds the same from programs. Details must be equal where communications meet, too; the error
/// names them. invalid_argument also above kMostFoldedBegun.
Result<JobFold> fold_programs(JobPrograms job);

/// Returns an order of the job's communications, one entry per part, as a class begins it: the
/// numbers of its own communications, counted in its program.
std::vector<std::uint32_t> order_of_class(const JobFold& fold, std::size_t of_class,
                                          std::span<const std::uint32_t> order);

}  // namespace hocket
