// Tests the accesses that the model declares: they are sufficient for any order, and leave the
// freedom that hides communication.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/examples/gpt2/model/host_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

constexpr int kSteps = kDrawnSteps;  // steps that may be unfinished at once
constexpr Gpt2Config kConfig{.layers = 3, .heads = 2, .d_model = 16, .sequence = 6, .batch = 2};
const Text kText("whoever rests while the others sing is part of the song all the same");

/// A model and the tasks of its first steps.
struct Recording {
  explicit Recording(int rank = 0, bool fuses = false)
      : Recording({.steps = kSteps, .rank = rank, .world_size = 2}, fuses) {}
  explicit Recording(const TrainingOptions& options, bool fuses = false)
      : model(kConfig, options, kText, fuses) {
    model->attach(recorder);
    for (int step = 0; step < kSteps; ++step) {
      model->submit_step(step);
      recorder.end_step();
    }
  }

  std::size_t find(const std::string& name, int step) {
    const auto& tasks = recorder.tasks();
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].name == name && tasks[i].step == step) return i;
    }
    ADD_FAILURE() << "no task " << name << " in step " << step;
    return 0;
  }

  bool depends(const std::string& later, int later_step, const std::string& earlier,
               int earlier_step) {
    return recorder.depends(find(later, later_step), find(earlier, earlier_step));
  }

  /// Runs the tasks in the order that `choose` makes, every sum over two equal ranks, and returns
  /// losses and parameters. Call once.
  std::string outcome(const std::function<std::size_t(std::span<const std::size_t>)>& choose) {
    recorder.run(choose, [](std::span<float> values) {
      for (float& value : values) value *= 2;
    });
    const std::vector<float> losses = model->losses();
    std::string bytes(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(float));
    return bytes + std::to_string(model->parameters_hash());
  }

  RecordingSubmitter recorder;
  HostModel model;
};

struct Schedule : testing::Test, Recording {};

TEST_F(Schedule, EveryAllowedOrderGivesTheSameBits) {
  const std::string expected = outcome([](auto ready) { return ready.front(); });
  EXPECT_EQ(Recording().outcome([](auto ready) { return ready.back(); }), expected)
      << "latest first";
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    std::mt19937_64 engine(seed);
    const bool fuses = seed % 3 == 0;
    EXPECT_EQ(
        Recording(0, fuses).outcome([&](auto ready) { return ready[engine() % ready.size()]; }),
        expected)
        << "random order of seed " << seed;
  }
}

// Gradients are added in one order for any number of kept micro-batches.
TEST(ScheduleOfMicroBatches, EveryAllowedOrderGivesTheSameBits) {
  const auto options = [](int kept) {
    return TrainingOptions{
        .steps = kSteps, .world_size = 2, .micro_batches = 4, .micro_batches_kept = kept};
  };
  const std::string expected = Recording(options(1)).outcome([](auto ready) { return ready[0]; });
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 engine(seed);
    const int kept = 1 + static_cast<int>(seed % 4);
    EXPECT_EQ(Recording(options(kept)).outcome([&](auto ready) {
      return ready[engine() % ready.size()];
    }),
              expected)
        << "random order of seed " << seed << ", " << kept << " kept";
  }
}

// Runs each kind of task as late as possible, after everything else: finds a missing access that a
// random order seldom would.
TEST_F(Schedule, AnyTaskMayBeLate) {
  const std::string expected = outcome([](auto ready) { return ready.front(); });
  std::set<std::string> names;
  for (const RecordedTask& task : recorder.tasks()) names.insert(task.name);
  for (const std::string& late : names) {
    Recording run;
    const auto choose = [&](std::span<const std::size_t> ready) {
      for (const std::size_t index : ready) {
        if (run.recorder.tasks()[index].name != late) return index;
      }
      return ready.front();
    };
    EXPECT_EQ(run.outcome(choose), expected) << late << " late";
  }
}

TEST_F(Schedule, ForwardWaitsForItsOwnGroupOnly) {
  const std::vector<std::pair<std::string, std::string>> first_reader{
      {"embedding", "embedding.lookup"},   {"block.0.attention", "block.0.attention.norm"},
      {"block.0.mlp", "block.0.mlp.norm"}, {"block.1.attention", "block.1.attention.norm"},
      {"block.1.mlp", "block.1.mlp.norm"}, {"block.2.attention", "block.2.attention.norm"},
      {"block.2.mlp", "block.2.mlp.norm"}, {"final_norm", "final_norm.norm"}};
  for (std::size_t reader = 0; reader < first_reader.size(); ++reader) {
    for (std::size_t group = 0; group < first_reader.size(); ++group) {
      EXPECT_EQ(depends(first_reader[reader].second, 1, first_reader[group].first, 0),
                group <= reader)
          << first_reader[reader].second << " and the all-reduce of " << first_reader[group].first;
    }
  }
}

TEST_F(Schedule, AllReduceWaitsForItsGroupsBackwardOnly) {
  EXPECT_TRUE(depends("block.1.mlp", 0, "block.1.mlp.up.dw", 0));
  EXPECT_TRUE(depends("block.1.mlp", 0, "block.1.mlp.down.dw", 0));
  EXPECT_TRUE(depends("block.1.mlp", 0, "block.1.mlp.norm.dw", 0));
  EXPECT_TRUE(depends("embedding", 0, "embedding.dw", 0));
  EXPECT_TRUE(depends("embedding", 0, "head.dw", 0));
  EXPECT_FALSE(depends("block.1.mlp", 0, "block.1.mlp.norm.dx", 0));
  EXPECT_FALSE(depends("block.1.mlp", 0, "block.2.mlp.down.dw", 0));
  for (const RecordedTask& task : recorder.tasks()) {
    if (task.step == 0 && task.name.starts_with("block.0.") && task.name.ends_with(".dx")) {
      EXPECT_FALSE(depends("block.1.attention", 0, task.name, 0)) << task.name;
    }
  }
}

TEST_F(Schedule, NothingWaitsForAnotherGroupsUpdate) {
  EXPECT_FALSE(depends("block.0.attention.norm", 1, "block.2.mlp.adamw", 0));
  EXPECT_FALSE(depends("block.0.mlp", 0, "block.1.mlp", 0)) << "collectives are independent";
  EXPECT_FALSE(depends("embedding", 0, "final_norm.adamw", 0));
}

// A block's weight gradients may run until nearly the end of the next block's backward pass.
TEST_F(Schedule, WeightGradientsAreOffTheCriticalPath) {
  for (const int block : {0, 1}) {
    const std::string own = "block." + std::to_string(block) + ".",
                      next = "block." + std::to_string(block + 1) + ".";
    int checked = 0;
    for (const RecordedTask& task : recorder.tasks()) {
      if (task.step != 0 || !task.name.ends_with(".dw")) continue;
      if (!task.name.starts_with(own) && !task.name.starts_with(next)) continue;
      EXPECT_FALSE(depends(own + "attention.qkv.dx", 0, task.name, 0))
          << block << " and " << task.name;
      ++checked;
    }
    EXPECT_EQ(checked, 12);
  }
}

/// Returns the modes in which the first step's tasks access `data`, in order.
std::vector<AccessMode> modes_of(RecordingSubmitter& recorder, DataId data) {
  std::vector<AccessMode> modes;
  for (const RecordedTask& task : recorder.tasks()) {
    for (const Access& access : task.accesses)
      if (task.step == 0 && access.data == data) modes.push_back(access.mode);
  }
  return modes;
}

TEST_F(Schedule, FirstWriterOfAGradientOverwrites) {
  for (ParameterGroup& group : model->groups()) {
    SCOPED_TRACE(group.name());
    const std::vector<AccessMode> own = modes_of(recorder, group.gradient_data(0));
    ASSERT_FALSE(own.empty());
    EXPECT_EQ(own.front(), AccessMode::write);
    EXPECT_EQ(std::count(own.begin(), own.end(), AccessMode::write), 1);
    const std::vector<AccessMode> all = modes_of(recorder, group.gradients().id);
    const auto first_change = std::find(all.begin(), all.end(), AccessMode::update);
    EXPECT_EQ(all.end() - first_change, 2) << "the all-reduce and the update";
    EXPECT_EQ(std::count(all.begin(), first_change, AccessMode::read), first_change - all.begin());
  }
}

// They may run on several streams at once.
TEST_F(Schedule, WeightGradientsOfALayerWaitForNoneOfEachOther) {
  for (const std::string group : {"block.1.attention.", "block.1.mlp."}) {
    std::vector<std::size_t> gradients;
    for (std::size_t i = 0; i < recorder.tasks().size(); ++i) {
      const RecordedTask& task = recorder.tasks()[i];
      if (task.step == 0 && task.name.starts_with(group) && task.name.ends_with(".dw"))
        gradients.push_back(i);
    }
    ASSERT_EQ(gradients.size(), 3u);
    for (std::size_t later = 0; later < 3; ++later)
      for (std::size_t earlier = 0; earlier < later; ++earlier)
        EXPECT_FALSE(recorder.depends(gradients[later], gradients[earlier]))
            << recorder.tasks()[gradients[later]].name;
  }
}

TEST_F(Schedule, CollectivesAreThoseOfTheWorkload) {
  const Workload described = workload(kConfig);
  std::vector<bool> seen(described.tensors.size(), false);
  for (const RecordedTask& task : recorder.tasks()) {
    if (!task.collective() || task.step != 0) continue;
    ASSERT_LT(task.priority, seen.size());
    const TensorSpec& tensor = described.tensors[task.priority];
    EXPECT_EQ(task.name, tensor.name) << "the priority is the place in the forward pass";
    EXPECT_EQ(static_cast<std::int64_t>(task.values.size_bytes()), tensor.bytes);
    EXPECT_FALSE(seen[task.priority]);
    seen[task.priority] = true;
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }));
}

TEST_F(Schedule, PrioritiesFollowTheNeed) {
  const auto priority = [&](const std::string& name) {
    return recorder.tasks()[find(name, 0)].priority;
  };
  const std::vector<std::string> urgent_first{"head.dx",
                                              "block.2.mlp.down.dx",
                                              "block.2.mlp.down.dw",
                                              "block.2.attention.qkv.dx",
                                              "block.2.attention.qkv.dw",
                                              "block.0.attention.norm.dx",
                                              "block.0.attention.norm.dw",
                                              "embedding.dw",
                                              "embedding.adamw",
                                              "block.0.attention.qkv",
                                              "block.0.mlp.adamw",
                                              "block.1.attention.adamw",
                                              "block.2.mlp.up",
                                              "final_norm.adamw"};
  for (std::size_t i = 1; i < urgent_first.size(); ++i) {
    EXPECT_LT(priority(urgent_first[i - 1]), priority(urgent_first[i])) << urgent_first[i];
  }
  for (const RecordedTask& task : recorder.tasks()) EXPECT_LT(task.priority, kPriorityLevels);
}

// Runs two ranks in step: a collective sums the buffers at the same position on both.
TEST(ScheduleOfRanks, RanksStayEqual) {
  Recording zero(0), one(1);
  ASSERT_EQ(zero.recorder.tasks().size(), one.recorder.tasks().size());
  for (std::size_t i = 0; i < zero.recorder.tasks().size(); ++i) {
    RecordedTask &a = zero.recorder.tasks()[i], &b = one.recorder.tasks()[i];
    ASSERT_EQ(a.name, b.name);
    if (!a.collective()) {
      a.body();
      b.body();
      continue;
    }
    for (std::size_t j = 0; j < a.values.size(); ++j)
      a.values[j] = b.values[j] = a.values[j] + b.values[j];
  }
  EXPECT_EQ(zero.model->parameters_hash(), one.model->parameters_hash());
  EXPECT_NE(zero.model->losses()[0], one.model->losses()[0]);
}

}  // namespace
}  // namespace hocket
