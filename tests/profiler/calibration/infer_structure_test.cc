#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "profiler/calibration/calibration.h"
#include "profiler/calibration/step_structure.h"
#include "tests/profiler/simulated_trace.h"

namespace hocket {
namespace {

using testing::HasSubstr;

StepDescription random_layers(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  StepDescription step;
  step.layers.resize(2 + random() % 8);
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    step.layers[i] = {"layer", (1 + below(2000)) * 640, 100'000 + below(2'000'000),
                      100'000 + below(3'000'000)};
  }
  step.collective = {static_cast<double>(below(100'000)), static_cast<double>(1 + below(2)), 0};
  return step;
}

/// Returns a trace as another profiler would record it, without tasks.
RankTrace foreign_trace(const StepDescription& step, const SimulationOptions& options) {
  RankTrace trace = simulated_trace(step, options).trace;
  for (TraceRecord& record : trace.records) record.task = kNoTask;
  return trace;
}

SimulationOptions whole_collectives(CollectiveOrder order = CollectiveOrder::negotiated) {
  SimulationOptions options;
  options.config.partition_bytes = 1 << 30;
  options.config.credit_bytes = 1 << 30;
  options.config.order = order;
  options.iterations = 8;
  return options;
}

TEST(InferStructure, PredictsTheIterationOfWhereItCameFrom) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const StepDescription step = random_layers(seed);
    RankTrace trace = foreign_trace(step, whole_collectives());
    const auto structure = infer_structure(trace);
    ASSERT_TRUE(structure) << structure.error().message;
    const ClockFit fit;
    const auto calibration = calibrate(*structure, {&trace, 1}, {&fit, 1});
    ASSERT_TRUE(calibration) << calibration.error().message;
    const auto predicted = simulate(calibration->step, whole_collectives());
    ASSERT_TRUE(predicted);
    EXPECT_NEAR(static_cast<double>(predicted->iteration_ns) / calibration->measured_iteration_ns,
                1, 0.05);
  }
}

TEST(InferStructure, FindsBetweenWhichTasksACollectiveStands) {
  StepDescription step;
  step.layers = {{"first", 1000, 100'000, 100'000}, {"last", 1000, 100'000, 100'000}};
  step.collective = {0, 10, 0};
  RankTrace trace = foreign_trace(step, whole_collectives());
  const auto structure = infer_structure(trace);
  ASSERT_TRUE(structure) << structure.error().message;
  ASSERT_EQ(structure->tasks.size(), 6u);
  for (const StructureTask& collective : structure->tasks) {
    if (!collective.collective) continue;
    ASSERT_EQ(collective.accesses.size(), 1u);
    const DataId moved = collective.accesses[0].data;
    const std::string layer = collective.name.substr(collective.name.rfind(' ') + 1);
    for (const StructureTask& task : structure->tasks) {
      for (const Access& access : task.accesses) {
        if (task.collective || access.data != moved) continue;
        // The task that waits for it is the first that began afterwards, here always in a forward
        // pass.
        if (access.mode == AccessMode::read) {
          EXPECT_THAT(task.name, HasSubstr("forward"));
        } else {
          EXPECT_THAT(task.name, HasSubstr("backward"));
          EXPECT_THAT(task.name, HasSubstr(layer));
        }
      }
    }
  }
}

/// Returns the iteration that is predicted from the structure of `trace`, relative to the measured
/// one.
double predicted_ratio(RankTrace& trace, double* outside = nullptr) {
  const auto structure = infer_structure(trace, outside);
  EXPECT_TRUE(structure) << structure.error().message;
  const ClockFit fit;
  const auto calibration = calibrate(*structure, {&trace, 1}, {&fit, 1});
  EXPECT_TRUE(calibration) << calibration.error().message;
  const auto predicted = simulate(calibration->step, whole_collectives());
  EXPECT_TRUE(predicted);
  return static_cast<double>(predicted->iteration_ns) / calibration->measured_iteration_ns;
}

TEST(InferStructure, WhatMostStepsShareIsTheStep) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    RankTrace trace = foreign_trace(random_layers(seed), whole_collectives());
    trace.names.push_back("sometimes");
    // Each step does some short work of its own, and its communication is on any lane.
    std::vector<TraceRecord> extra;
    for (TraceRecord& record : trace.records) {
      if (record.kind == TraceKind::communication) {
        record.lane = static_cast<std::int32_t>(random() % 3);
      } else if (random() % 10 == 0) {
        extra.push_back(record);
        extra.back().name = static_cast<std::uint32_t>(trace.names.size() - 1);
        extra.back().end_ns = record.begin_ns + 10;
        record.begin_ns = std::min(record.begin_ns + 10, record.end_ns);
      }
    }
    trace.records.insert(trace.records.end(), extra.begin(), extra.end());
    put_in_order(trace);
    double outside = 0;
    EXPECT_NEAR(predicted_ratio(trace, &outside), 1, 0.05);
    EXPECT_LT(outside, 0.01);
  }
}

TEST(InferStructure, StepsThatDifferAreNoStep) {
  RankTrace trace = foreign_trace(random_layers(1), whole_collectives());
  std::uint32_t name = 0;
  for (TraceRecord& record : trace.records) {
    trace.names.push_back("once " + std::to_string(name));
    record.name = static_cast<std::uint32_t>(trace.names.size() - 1);
    ++name;
  }
  EXPECT_THAT(infer_structure(trace).error().message, HasSubstr("its steps differ"));
  RankTrace empty;
  EXPECT_THAT(infer_structure(empty).error().message, HasSubstr("no whole step"));
}

TEST(InferStructure, OfStepsWithMessagesIsRefused) {
  RankTrace trace = foreign_trace(random_layers(1), whole_collectives());
  ASSERT_TRUE(infer_structure(trace));
  trace.groups.push_back({"0 to 1", {0, 1}});
  const auto some = std::ranges::find(trace.records, TraceKind::communication, &TraceRecord::kind);
  ASSERT_NE(some, trace.records.end());
  some->collective = CollectiveKind::send;
  some->group = 0;
  const auto refused = infer_structure(trace);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it sends or receives messages"));
}

}  // namespace
}  // namespace hocket
