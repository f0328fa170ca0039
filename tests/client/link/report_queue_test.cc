#include "client/link/report_queue.h"

#include <gtest/gtest.h>

#include <random>

namespace hocket {
namespace {

JobReport iterations(std::int64_t version, std::int64_t step, std::vector<std::int64_t> times_ns) {
  return {.job = "j", .version = version, .step = step, .iteration_ns = std::move(times_ns)};
}

JobReport outcome(std::int64_t trial) {
  return {.job = "j", .version = 1, .outcomes = {{.trial = trial}}};
}

TEST(ReportQueue, JoinsReportsOfOneVersionWhileThereIsRoom) {
  ReportQueue queue;
  queue.add(iterations(1, 5, {10, 11}));
  EXPECT_FALSE(queue.has_news());
  auto tried = outcome(4);
  tried.step = 6;
  tried.explored = 0.25;
  tried.iteration_ns = {12};
  tried.activity = JobActivity{.exposed_ns = 5};
  queue.add(tried);
  EXPECT_TRUE(queue.has_news());
  queue.add(iterations(2, 7, {13}));
  queue.add(iterations(2, 8, std::vector<std::int64_t>(kMaxReportedIterations, 1)));

  const JobReport joined{.job = "j",
                         .version = 1,
                         .step = 6,
                         .iteration_ns = {10, 11, 12},
                         .outcomes = {{.trial = 4}},
                         .explored = 0.25,
                         .activity = JobActivity{.exposed_ns = 5}};
  EXPECT_EQ(queue.take(), joined);
  EXPECT_EQ(queue.take(), iterations(2, 7, {13}));
  EXPECT_EQ(queue.take()->iteration_ns.size(), kMaxReportedIterations);
  EXPECT_EQ(queue.take(), std::nullopt);
}

TEST(ReportQueue, NewsAreOutcomesAndTheEnd) {
  ReportQueue queue;
  queue.add(iterations(1, 1, {1}));
  queue.add(iterations(2, 2, {2}));
  auto tried = iterations(3, 3, {3});
  tried.outcomes = {{.trial = 4}};
  queue.add(tried);
  queue.add(iterations(4, 4, {4}));
  auto last = iterations(5, 5, {});
  last.ended = true;
  queue.add(last);
  queue.add(iterations(6, 6, {6}));
  EXPECT_EQ(queue.take_news(), tried);
  EXPECT_EQ(queue.take_news(), last);
  EXPECT_EQ(queue.take_news(), std::nullopt);
  EXPECT_TRUE(queue.empty());
}

TEST(ReportQueue, IsBoundedAndKeepsOrderAndOutcomesFirst) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    ReportQueue queue;
    std::size_t outcome_reports = 0;
    for (std::int64_t i = 1; i <= 60; ++i) {
      const std::uint64_t kind = random() % 8;
      // Reports too large to be merged, so that each takes an entry.
      const std::size_t most = kMaxReportedIterations;
      JobReport report = iterations(1, i, std::vector<std::int64_t>(most, i));
      if (kind == 0) report.outcomes = {{.trial = i}};
      if (kind == 1) {
        if (auto taken = queue.take()) {
          queue.put_back(std::move(*taken));
        }
      }
      queue.add(report);
      outcome_reports += kind == 0;
    }
    std::size_t reports = 0, kept = 0;
    std::int64_t last = 0;
    while (const auto report = queue.take()) {
      ASSERT_GT(report->step, last);
      last = report->step;
      ++reports;
      kept += !report->outcomes.empty();
    }
    EXPECT_EQ(reports, ReportQueue::kMaxReports);
    if (outcome_reports < ReportQueue::kMaxReports) {
      EXPECT_EQ(last, 60);
    }
    EXPECT_EQ(kept, std::min(outcome_reports, ReportQueue::kMaxReports));
  }
}

TEST(ReportQueue, OutcomesAreNeverJoinedWithoutRoom) {
  ReportQueue queue;
  for (std::int64_t i = 1; i <= 250; ++i) queue.add(outcome(i));
  std::int64_t next = 1;
  while (const auto report = queue.take()) {
    EXPECT_LE(report->outcomes.size(), ReportQueue::kMaxMergedOutcomes);
    for (const auto& one : report->outcomes) ASSERT_EQ(one.trial, next++);
  }
  EXPECT_EQ(next, 251);
}

}  // namespace
}  // namespace hocket
