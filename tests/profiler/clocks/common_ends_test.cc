#include "profiler/clocks/common_ends.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "profiler/clocks/clock_fit.h"
#include "profiler/metrics/metrics.h"
#include "tests/profiler/simulated_clocks.h"

namespace hocket {
namespace {

/// A job on a mesh: each step every row and every column has collectives, at its own time.
struct MeshJob {
  std::vector<RankTrace> traces;
  /// True arrivals' skew of each collective, by group and sequence.
  std::map<std::pair<std::string, std::int64_t>, double> skew_ns;
};

struct RankMesh {
  int rows = 2, columns = 4, collectives = 20;
  double scatter_ns = 3e3, apart_ns = 1e6, every_ns = 2e7;
  bool says_ranks = true;
  double missing = 0;              ///< share of records that a trace lacks
  double late = 0, late_ns = 1e6;  ///< share of ends that are up to late_ns late
  double biased_ns = 0;            ///< how much later a rank may always end
  bool is_in_step = false;         ///< all rows at about the same time, then all columns
};

/// Draws a job in which a collective ends on its members `scatter_ns` apart, with a tail, and
/// begins on them up to `apart_ns` apart.
MeshJob mesh_job(SimulatedClocks& clocks, const RankMesh& mesh, std::mt19937_64& random) {
  std::uniform_real_distribution<double> any(0, 1);
  std::exponential_distribution<double> tail(1);
  MeshJob job;
  job.traces = clocks.bare_traces();
  const int ranks = mesh.rows * mesh.columns;
  for (int rank = 0; rank < ranks; ++rank) {
    const int row = rank / mesh.columns, column = rank % mesh.columns;
    TraceGroup of_row{"row", {}}, of_column{"column", {}};
    for (int i = 0; i < mesh.columns && mesh.says_ranks; ++i)
      of_row.ranks.push_back(row * mesh.columns + i);
    for (int i = 0; i < mesh.rows && mesh.says_ranks; ++i)
      of_column.ranks.push_back(i * mesh.columns + column);
    job.traces[static_cast<std::size_t>(rank)].groups = {of_row, of_column};
  }
  std::vector<double> biases_ns;
  for (int rank = 0; rank < ranks; ++rank) biases_ns.push_back(mesh.biased_ns * any(random));
  const auto run = [&](std::int32_t group, const std::string& name, const std::vector<int>& members,
                       int index) {
    double from_ns = 1e9 + index * mesh.every_ns + any(random) * mesh.every_ns / 2;
    if (mesh.is_in_step)
      from_ns = 1e9 + (index + group / 2.0) * mesh.every_ns + any(random) * mesh.apart_ns / 2;
    std::vector<double> begins;
    for (std::size_t i = 0; i < members.size(); ++i)
      begins.push_back(from_ns + any(random) * mesh.apart_ns);
    const double last_ns = *std::ranges::max_element(begins);
    const double end_ns = last_ns + 1e5 + 2e5 * any(random);
    job.skew_ns[{name + std::to_string(members.front()), index}] =
        last_ns - *std::ranges::min_element(begins);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto rank = static_cast<std::size_t>(members[i]);
      double late_ns = mesh.scatter_ns * tail(random) + biases_ns[rank];
      if (any(random) < mesh.late) late_ns += mesh.late_ns * any(random);
      if (any(random) < mesh.missing) continue;
      TraceRecord record = SimulatedClocks::all_reduce(index, clocks.read(rank, begins[i]),
                                                       clocks.read(rank, end_ns + late_ns));
      record.group = group;
      job.traces[rank].records.push_back(record);
    }
  };
  for (int index = 0; index < mesh.collectives; ++index) {
    for (int row = 0; row < mesh.rows; ++row) {
      std::vector<int> members;
      for (int i = 0; i < mesh.columns; ++i) members.push_back(row * mesh.columns + i);
      run(0, "row", members, index);
    }
    for (int column = 0; column < mesh.columns; ++column) {
      std::vector<int> members;
      for (int i = 0; i < mesh.rows; ++i) members.push_back(i * mesh.columns + column);
      run(1, "column", members, index);
    }
  }
  for (RankTrace& trace : job.traces) put_in_order(trace);
  return job;
}

double share_of(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

/// Counts of the clocks that are within their residuals over the whole trace.
struct Held {
  int held = 0, all = 0;
  double worst_ns = 0;
  std::vector<double> residuals_ns;
};

void count(const SimulatedClocks& clocks, const std::vector<RankTrace>& traces,
           const std::vector<ClockFit>& fits, Held& held) {
  for (std::size_t rank = 1; rank < traces.size(); ++rank) {
    const auto& records = traces[rank].records;
    double error_ns = 0;
    for (const TraceRecord* record : {&records.front(), &records.back()}) {
      error_ns = std::max({error_ns, clocks.error_ns(fits[rank], rank, record->begin_ns),
                           clocks.error_ns(fits[rank], rank, record->end_ns)});
    }
    ++held.all;
    held.held += error_ns <= fits[rank].residual_ns + 3;
    held.worst_ns = std::max(held.worst_ns, error_ns);
    held.residuals_ns.push_back(fits[rank].residual_ns);
  }
}

TEST(CommonEnds, ClocksOfAMeshAreKnownWithinWhatIsClaimed) {
  Held held;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    RankMesh mesh;
    mesh.rows = 2 + static_cast<int>(seed % 3);
    mesh.collectives = 4 + static_cast<int>(random() % 40);
    SimulatedClocks clocks(seed, static_cast<std::size_t>(mesh.rows * mesh.columns), 50e-6);
    const MeshJob job = mesh_job(clocks, mesh, random);
    count(clocks, job.traces, fit_clocks(job.traces, {}), held);
  }
  EXPECT_GE(held.held, held.all * 99 / 100) << held.held << " of " << held.all;
  std::ranges::sort(held.residuals_ns);
  EXPECT_LT(held.residuals_ns[held.residuals_ns.size() / 2], 2e4);
  RecordProperty("held", held.held);
  RecordProperty("of", held.all);
}

TEST(CommonEnds, MissingRecordsLateEndsAndBiasesAreWithinWhatIsClaimed) {
  for (const bool is_plain : {true, false}) {
    Held held;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      std::mt19937_64 random(seed);
      RankMesh mesh;
      mesh.rows = is_plain ? 1 : 2 + static_cast<int>(seed % 3);
      mesh.columns = is_plain ? 2 + static_cast<int>(seed % 7) : 4;
      mesh.collectives = 4 + static_cast<int>(random() % 57);
      mesh.scatter_ns = 1e3 * std::pow(10.0, share_of(random));
      mesh.missing = seed % 2 ? 0.1 : 0;
      mesh.late = seed % 3 ? 0.05 : 0;
      mesh.biased_ns = seed % 5 ? 0 : 1e3;
      SimulatedClocks clocks(seed, static_cast<std::size_t>(mesh.rows * mesh.columns),
                             seed % 4 ? 50e-6 : 400e-6);
      const MeshJob job = mesh_job(clocks, mesh, random);
      count(clocks, job.traces, fit_clocks(job.traces, {}), held);
    }
    EXPECT_GE(held.held, held.all * 99 / 100) << held.held << " of " << held.all;
    std::ranges::sort(held.residuals_ns);
    EXPECT_LT(held.residuals_ns[held.residuals_ns.size() / 2], 2e4);
  }
}

TEST(CommonEnds, OneStepOfEightRanksIsEnough) {
  Held held;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SimulatedClocks clocks(seed, 8, 50e-6);
    // Ends agree within some microseconds, begins differ by milliseconds.
    const auto traces =
        clocks.traces({.collectives = 3 + static_cast<int>(seed % 10), .noise_ns = 2e3});
    count(clocks, traces, fit_clocks(traces, {}), held);
  }
  EXPECT_GE(held.held, held.all * 99 / 100) << held.held << " of " << held.all;
  std::ranges::sort(held.residuals_ns);
  EXPECT_LT(held.residuals_ns[held.residuals_ns.size() / 2], 1.5e4);
}

TEST(CommonEnds, OneGroupOfAnySizeIsWithinWhatIsClaimed) {
  Held held;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SimulatedClocks clocks(seed, 2 + seed % 4, seed % 2 ? 400e-6 : 50e-6);
    const auto traces = clocks.traces({.collectives = 4 + static_cast<int>(random() % 60),
                                       .every_ns = seed % 3 ? 1e7 : 3e8,
                                       .noise_ns = clocks.uniform(5e2, 5e3)});
    count(clocks, traces, fit_clocks(traces, {}), held);
  }
  EXPECT_GE(held.held, held.all * 99 / 100) << held.held << " of " << held.all;
}

TEST(CommonEnds, EveryCollectiveOfAMeshIsMeasuredRight) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const RankMesh mesh;
    SimulatedClocks clocks(seed, 8, 50e-6);
    const MeshJob job = mesh_job(clocks, mesh, random);
    const auto fits = fit_clocks(job.traces, {});
    const JobMetrics metrics = measure_job(job.traces, fits);
    EXPECT_EQ(std::ssize(metrics.collectives), mesh.collectives * (mesh.rows + mesh.columns));
    for (const CollectiveMetrics& collective : metrics.collectives) {
      ASSERT_EQ(std::ssize(collective.arrivals),
                collective.group == "row" ? mesh.columns : mesh.rows);
      const double skew_ns =
          job.skew_ns.at({collective.group + std::to_string(collective.arrivals.front().rank),
                          collective.sequence});
      double residual_ns = 0;
      for (const CollectiveArrival& arrival : collective.arrivals)
        residual_ns =
            std::max(residual_ns, fits[static_cast<std::size_t>(arrival.rank)].residual_ns);
      EXPECT_NEAR(collective.arrival_skew_ns, skew_ns, 2 * residual_ns + 10);
    }
  }
}

TEST(CommonEnds, GroupsThatNobodyTellsClaimNoSkew) {
  int claimed = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    std::mt19937_64 random(seed);
    SimulatedClocks clocks(seed, 8, 50e-6);
    RankMesh mesh;
    mesh.is_in_step = seed % 2 == 1;
    mesh.apart_ns = seed % 4 < 2 ? 1e6 : 1e5;
    MeshJob job = mesh_job(clocks, mesh, random);
    // Numbered over all groups, as where a trace does not tell groups apart.
    for (RankTrace& trace : job.traces) {
      trace.groups.clear();
      std::int64_t sequence = 0;
      for (TraceRecord& record : trace.records) {
        record.group = kAllRanks;
        record.sequence = sequence++;
      }
    }
    const auto fits = fit_clocks(job.traces, {});
    const JobMetrics metrics = measure_job(job.traces, fits);
    if (!metrics.collectives.empty()) ++claimed;
    for (std::size_t rank = 1; rank < 8; ++rank) EXPECT_GT(fits[rank].residual_ns, 3e4);
  }
  EXPECT_EQ(claimed, 0);
}

}  // namespace
}  // namespace hocket
