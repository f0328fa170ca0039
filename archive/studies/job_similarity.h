#pragma once

// The distance between two jobs, as a measure of whether a good configuration for one is good for
// the other. Pure functions; thread-safe.
//
// A distance is a sum of differences, each in doublings: four times the ranks is as far away as a
// quarter of the link rate. docs/guides/transfer.md has the table. Distances are symmetric, and 0
// between equal jobs. The triangle inequality holds between topologies, and between workloads that
// list their tensors.

#include <span>
#include <string>
#include <vector>

#include "core/protocol/topology.h"
#include "core/protocol/workload.h"

namespace hocket {

/// The job that a study tunes.
struct TunedJob {
  Topology topology;
  Workload workload;
};

/// Greatest useful distance; a study of a job further away is not used as donor.
inline constexpr double kFarthestDonor = 8;

/// Returns whether two jobs that do not both list their tensors are the same. One that lists no
/// parameters may have any, because earlier versions did not store them.
bool is_same_job(const Workload& a, const Workload& b);

struct JobDifference {
  std::string what;      ///< "4 ranks instead of 2", the other job's value first
  double doublings = 0;  ///< > 0
};

/// Returns the differences that add up to the distance from `other`.
std::vector<JobDifference> job_differences(const Topology& other, const Topology& own);
std::vector<JobDifference> job_differences(const Workload& other, const Workload& own);
std::vector<JobDifference> job_differences(const TunedJob& other, const TunedJob& own);

double job_distance(const Topology& a, const Topology& b);
double job_distance(const Workload& a, const Workload& b);
double job_distance(const TunedJob& a, const TunedJob& b);

/// Returns "4 ranks instead of 2, workload …", the largest difference first; "the same topology and
/// workload" if there is none.
std::string readable(std::vector<JobDifference> differences);

/// Returns the indices of `others` by rising distance from `own`; of equally distant jobs the last
/// comes first.
std::vector<std::size_t> nearest_first(const TunedJob& own, std::span<const TunedJob> others);

}  // namespace hocket
