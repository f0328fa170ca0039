#pragma once

// How far apart two jobs are, as far as that says whether what is good for one is good for the
// other. Pure functions; thread-safe.
//
// A distance is a sum of differences, each in doublings: a job on four times the ranks is as far
// away as one on a link of a quarter the rate. docs/guides/transfer.md has the table. Distances are
// symmetric, and 0 between equals. Between topologies, and between workloads that say what their
// tensors are, the triangle inequality holds.

#include <span>
#include <string>
#include <vector>

#include "core/topology.h"
#include "core/workload.h"

namespace hocket {

/// What a study tunes for.
struct TunedJob {
  Topology topology;
  Workload workload;
};

/// Studies of jobs further apart have nothing to tell each other.
inline constexpr double kFarthestDonor = 8;

struct Difference {
  std::string what;      ///< "4 ranks instead of 2", the other's first
  double doublings = 0;  ///< > 0
};

/// What makes up the distance from `other`.
std::vector<Difference> differences(const Topology& other, const Topology& own);
std::vector<Difference> differences(const Workload& other, const Workload& own);
std::vector<Difference> differences(const TunedJob& other, const TunedJob& own);

double distance(const Topology& a, const Topology& b);
double distance(const Workload& a, const Workload& b);
double distance(const TunedJob& a, const TunedJob& b);

/// "4 ranks instead of 2, workload …", the largest difference first; "the same topology and
/// workload" where there is none.
std::string readable(std::vector<Difference> differences);

/// The places of `others` in the order of rising distance from `own`; of equals the last comes
/// first.
std::vector<std::size_t> nearest_first(const TunedJob& own, std::span<const TunedJob> others);

}  // namespace hocket
