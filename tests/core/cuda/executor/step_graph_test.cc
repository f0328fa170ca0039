#include "core/cuda/executor/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/core/cuda/model_device.h"

namespace hocket {
namespace {

/// The sum over one rank, which records when it runs.
class NotingRank final : public SoleRankCollective {
 public:
  explicit NotingRank(ModelDevice& device) : device_(device) {}

  Result<void> exchange(CollectiveKind, std::span<const DevicePiece> pieces, int,
                        DeviceStream stream) override {
    for (const auto& [values, owner] : pieces) {
      device_.launch(stream, {writes(values.as<float>())},
                     [this, begin = values.data()] { has_run.push_back(begin); });
    }
    return {};
  }

  std::vector<const void*> has_run;

 private:
  ModelDevice& device_;
};

/// A step of collectives only, each with its own data and values.
class CollectiveStep {
 public:
  CollectiveStep(std::mt19937_64& random, const PlanOptions& options) : values_(3 + random() % 8) {
    std::vector<CapturedStep::Task> tasks;
    for (auto& values : values_) {
      values.resize(1 + random() % 300);
      const DataId data{static_cast<std::uint32_t>(tasks.size())};
      tasks.push_back({.name = "sum",
                       .priority = static_cast<std::uint32_t>(random() % 4),
                       .is_collective = true,
                       .bytes = static_cast<std::int64_t>(values.size() * sizeof(float)),
                       .accesses = {update(data)}});
      work.bodies.push_back(nullptr);
    }
    work.step = std::make_shared<const CapturedStep>(std::move(tasks));
    work.sequence = sequence_of(work.step, options, {});
    for (const StepEntry& entry : work.sequence) {
      PartWork& part = work.parts.emplace_back();
      part.task = {entry.task, 0};
      part.collective.values =
          std::span(values_[entry.task])
              .subspan(static_cast<std::size_t>(entry.offset_bytes) / sizeof(float),
                       static_cast<std::size_t>(entry.bytes) / sizeof(float));
      part.number = entry.part;
      part.accesses = work.step->task(entry.task).accesses;
    }
  }

  /// Returns the begin of each part, in the order of the sequence.
  std::vector<const float*> parts() const {
    std::vector<const float*> all;
    for (const StepEntry& entry : work.sequence)
      all.push_back(values_[entry.task].data() + entry.offset_bytes / 4);
    return all;
  }

  StepWork work;

 private:
  std::vector<std::vector<float>> values_;
};

TEST(StepGraph, PartsRunWithinTheWindow) {
  bool is_ever_out_of_order = false;
  for (std::uint64_t seed = 1; seed <= 100 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const PlanOptions options{.partition_bytes = 256,
                              .credit_bytes = std::int64_t{256} << random() % 4,
                              .order = PartOrder::fifo};
    CollectiveStep step(random, options);
    step.work.version = 1;
    ModelDevice device(seed);
    NotingRank collective(device);
    DeviceGroups groups(collective, {});
    DeviceMemory memory(device);
    auto graph = StepGraph::open({.driver = device,
                                  .groups = groups,
                                  .memory = memory,
                                  .lanes = {.streams = 1, .channels = 1 + int(random() % 4)}});
    ASSERT_TRUE(graph) << graph.error().message;
    const DeviceStream stream = device.create_stream(StreamPriority::normal).value();
    const auto parts = step.parts();
    for (int launch = 0; launch < 4; ++launch) {
      collective.has_run.clear();
      const auto ok = (*graph)->launch(step.work, stream);
      ASSERT_TRUE(ok) << ok.error().message;
      ASSERT_TRUE(device.synchronize(stream));
      EXPECT_THAT(collective.has_run, testing::UnorderedElementsAreArray(parts));
      const auto place = [&](std::size_t part) {
        return std::ranges::find(collective.has_run, parts[part]) - collective.has_run.begin();
      };
      for (std::size_t part = 0; part < parts.size(); ++part) {
        const auto ended = step.work.sequence[part].after_part;
        for (std::size_t before = 0; ended && before <= *ended; ++before)
          EXPECT_LT(place(before), place(part));
      }
      is_ever_out_of_order = is_ever_out_of_order || !std::ranges::equal(collective.has_run, parts);
    }
    EXPECT_THAT(device.problems(), testing::IsEmpty());
    EXPECT_EQ(device.graph_launches(), 3);
  }
  EXPECT_TRUE(is_ever_out_of_order) << "parts within the window run at once";
}

}  // namespace
}  // namespace hocket
