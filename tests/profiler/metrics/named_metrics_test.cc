#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "profiler/metrics/metrics.h"

namespace hocket {
namespace {

using Figures = std::map<std::pair<std::optional<std::int64_t>, std::string>, double>;

Figures figures_of(const JobMetrics& job, std::optional<double> bound_ns = {}) {
  Figures figures;
  for (const NamedMetric& metric : named_metrics(job, bound_ns)) {
    EXPECT_TRUE(figures.emplace(std::pair(metric.rank, metric.name), metric.value).second)
        << metric.name << " comes twice";
    EXPECT_TRUE(std::isfinite(metric.value)) << metric.name;
  }
  return figures;
}

RankMetrics some_rank(std::int64_t rank) {
  RankMetrics metrics;
  metrics.rank = rank;
  // W, C, M, P, exposed, other, idle.
  metrics.iterations = {{0, 0, 100, 60, 40, 10, 10, 5, 25},
                        {1, 100, 200, 80, 0, 20, 0, 20, 100},
                        {2, 300, 150, 70, 60, 0, 30, 0, 50}};
  metrics.streams = {{TraceKind::compute, 0, 9, 210, {3, 6, 9, 12}},
                     {TraceKind::copy, 1, 2, 30, {3, 0, 0, 6}}};
  metrics.launch = LaunchLatency{{2, 7, 8}, {4, 9, 12}};
  return metrics;
}

JobMetrics some_job() {
  JobMetrics job;
  job.ranks = {some_rank(0), some_rank(3)};
  CollectiveMetrics collective;
  collective.arrival_skew_ns = 30;
  collective.wait_ns = 10;
  collective.transfer_ns = 500;
  collective.algorithm_bandwidth = 4;
  collective.bus_bandwidth = 6;
  job.collectives = {collective, collective, collective};
  for (const std::size_t i : {1, 2}) {
    CollectiveMetrics& without_transfer = job.collectives[i];
    without_transfer.transfer_ns = 0;
    without_transfer.algorithm_bandwidth = without_transfer.bus_bandwidth = 0;
  }
  job.slowest_rank = 3;
  job.slowest_rank_ns = 12;
  job.headroom_ns = 70;
  return job;
}

/// Returns the names that the figures of a job with a collective in each of `groups` groups have.
std::set<std::string> names_with_groups(int groups) {
  JobMetrics job;
  for (int i = 0; i < groups; ++i) {
    CollectiveMetrics collective = some_job().collectives.front();
    collective.group = i == 0 ? "" : "row " + std::to_string(i);
    collective.arrival_skew_ns = 10 * (i + 1);
    job.collectives.push_back(std::move(collective));
  }
  std::set<std::string> names;
  for (const NamedMetric& metric : named_metrics(job)) names.insert(metric.name);
  return names;
}

TEST(NamedMetrics, SeveralGroupsHaveFiguresOfTheirOwn) {
  EXPECT_EQ(names_with_groups(1).count("all_reduce@all.count"), 0U) << "it is the kind's";
  for (const int groups : {2, 8}) {
    const auto names = names_with_groups(groups);
    EXPECT_EQ(names.count("all_reduce.count"), 1U);
    EXPECT_EQ(names.count("all_reduce@all.transfer_ns"), 1U);
    EXPECT_EQ(names.count("all_reduce@row 1.arrival_skew_ns"), 1U);
  }
  EXPECT_EQ(names_with_groups(9), names_with_groups(1)) << "so many say nothing";
}

TEST(NamedMetrics, AreMediansAndMeans) {
  const Figures expected{{{{}, "all_reduce.count"}, 3},
                         {{{}, "all_reduce.arrival_skew_ns"}, 30},
                         {{{}, "all_reduce.wait_ns"}, 10},
                         {{{}, "all_reduce.transfer_ns"}, 0},
                         {{{}, "all_reduce.algorithm_bandwidth"}, 4},
                         {{{}, "all_reduce.bus_bandwidth"}, 6},
                         {{{}, "slowest_rank"}, 3},
                         {{{}, "slowest_rank_ns"}, 12},
                         {{{}, "headroom_ns"}, 70},
                         {{{}, "bound_ns"}, 100},
                         // C + M = 70 + 40, T = 150, T* = 100.
                         {{{}, "overlap_efficiency"}, (110.0 - 150) / (110 - 100)}};
  Figures actual = figures_of(some_job(), 100);
  for (const std::int64_t rank : {0, 3}) {
    const Figures of_rank{{{rank, "iterations"}, 3},
                          {{rank, "iteration_ns"}, 150},
                          {{rank, "compute_ns"}, 70},
                          {{rank, "communication_ns"}, 40},
                          {{rank, "copy_ns"}, 10},
                          {{rank, "exposed_ns"}, 10},
                          {{rank, "other_ns"}, 5},
                          {{rank, "idle_ns"}, 50},
                          {{rank, "exposed_share"}, 0.1},
                          {{rank, "overlap"}, (0.75 + 0.5) / 2},
                          {{rank, "gap_host_ns"}, 2},
                          {{rank, "gap_event_ns"}, 2},
                          {{rank, "gap_kernel_ns"}, 3},
                          {{rank, "gap_unknown_ns"}, 6},
                          {{rank, "launch_median_ns"}, 7},
                          {{rank, "launch_p95_ns"}, 8},
                          {{rank, "launch_all_median_ns"}, 9},
                          {{rank, "launch_all_p95_ns"}, 12}};
    for (const auto& [key, value] : of_rank) {
      ASSERT_TRUE(actual.contains(key)) << key.second;
      EXPECT_DOUBLE_EQ(actual.at(key), value) << key.second;
      actual.erase(key);
    }
  }
  EXPECT_EQ(actual, expected);
}

TEST(NamedMetrics, WhatDoesNotExistHasNoName) {
  EXPECT_TRUE(named_metrics({}).empty());
  JobMetrics job;
  job.ranks.resize(1);
  EXPECT_EQ(figures_of(job), (Figures{{{0, "iterations"}, 0}}));
  EXPECT_EQ(figures_of(job, 5), (Figures{{{0, "iterations"}, 0}, {{{}, "bound_ns"}, 5}}));

  job.ranks[0] = some_rank(0);
  for (IterationMetrics& iteration : job.ranks[0].iterations) iteration.communication_ns = 0;
  job.ranks[0].launch->to_idle_stream = {};
  job.ranks[0].streams.clear();
  const Figures figures = figures_of(job);
  for (const char* name : {"overlap", "launch_median_ns", "gap_host_ns"})
    EXPECT_FALSE(figures.contains({0, name})) << name;
  for (const char* name : {"headroom_ns", "slowest_rank", "overlap_efficiency", "bound_ns"})
    EXPECT_FALSE(figures.contains({std::nullopt, name})) << name;
}

}  // namespace
}  // namespace hocket
