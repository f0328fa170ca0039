// Tests the accesses that graph models declare: they are sufficient for any order, and leave the
// freedom that hides communication.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/job/graph/language_model.h"
#include "tests/job/step/submitters.h"

namespace hocket {
namespace {

constexpr std::int64_t kRecordedSteps = 3;  // that may be unfinished at once

/// A model and the tasks of its first steps. Memory is used again from step to step alone, so that
/// what is left are the dependencies of the maths.
struct Recording {
  explicit Recording(int rank = 0)
      : model(small_gpt2(3, 16, 6),
              {.steps = kRecordedSteps, .rank = rank, .grid = {2, 2}, .slack = kMostSlack}) {
    model->attach(recorder);
    for (int step = 0; step < kRecordedSteps; ++step) {
      model.submit_step(step);
      recorder.end_step();
    }
  }

  /// Returns the tasks of a step for which `is` is true.
  std::vector<std::size_t> find(int step, const std::function<bool(const RecordedTask&)>& is) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < recorder.tasks().size(); ++i)
      if (recorder.tasks()[i].step == step && is(recorder.tasks()[i])) found.push_back(i);
    return found;
  }
  /// Returns the tasks of a part of the model: "block1.mlp", or "block1.mlp/backward".
  std::vector<std::size_t> of(const std::string& region, int step) {
    return find(step,
                [&](const RecordedTask& task) { return task.name.ends_with(" in " + region); });
  }
  std::size_t sum(const std::string& part, int step) {
    const auto sums =
        find(step, [&](const RecordedTask& task) { return task.name == "gradients of " + part; });
    EXPECT_EQ(sums.size(), 1U) << part;
    return sums.empty() ? 0 : sums.front();
  }
  /// Returns the tasks on which the sum of a part's gradients depends, of those that write them.
  std::vector<std::size_t> gradients(const std::string& part, int step) {
    std::vector<std::size_t> made;
    for (const std::size_t task : of(part + "/backward", step)) {
      const auto& accesses = recorder.tasks()[task].accesses;
      const DataId all = recorder.tasks()[sum(part, step)].accesses.front().data;
      if (std::ranges::find(accesses, all, &Access::data) != accesses.end()) made.push_back(task);
    }
    return made;
  }

  /// Returns those of weights.
  std::vector<std::size_t> products(const std::string& part, int step) {
    std::vector<std::size_t> made = gradients(part, step);
    std::erase_if(made, [&](std::size_t task) {
      const std::string& name = recorder.tasks()[task].name;
      return !name.starts_with("gradient of ") || name.find(".weight in ") == std::string::npos;
    });
    return made;
  }

  /// Runs the tasks in the order that `choose` makes, every sum over two equal ranks.
  std::string outcome(const std::function<std::size_t(std::span<const std::size_t>)>& choose) {
    recorder.run(choose, [](std::span<float> values) {
      for (float& value : values) value *= 2;
    });
    return outcome_of(*model, kRecordedSteps);
  }

  RecordingSubmitter recorder;
  LanguageModel model;
};

const std::vector<std::string> kParts = {
    "embedding",  "block0.attention", "block0.mlp", "block1.attention",
    "block1.mlp", "block2.attention", "block2.mlp", "head"};

struct GraphSchedule : testing::Test, Recording {};

// Runs each kind of task as late as possible, after everything else: finds a missing access that a
// random order seldom would.
TEST_F(GraphSchedule, AnyTaskMayBeLate) {
  const std::string expected = outcome([](auto ready) { return ready.front(); });
  std::set<std::string> names;
  for (const RecordedTask& task : recorder.tasks()) names.insert(task.name);
  for (const std::string& late : names) {
    Recording run;
    const auto choose = [&](std::span<const std::size_t> ready) {
      for (const std::size_t index : ready)
        if (run.recorder.tasks()[index].name != late) return index;
      return ready.front();
    };
    EXPECT_EQ(run.outcome(choose), expected) << late << " late";
  }
}

TEST_F(GraphSchedule, ForwardWaitsForItsOwnGroupOnly) {
  // The head has the table of the embedding, too.
  for (std::size_t reader = 0; reader < kParts.size(); ++reader) {
    for (std::size_t group = 0; group < kParts.size(); ++group) {
      EXPECT_EQ(recorder.depends(of(kParts[reader], 1).front(), sum(kParts[group], 0)),
                group <= reader)
          << kParts[reader] << " and the gradients of " << kParts[group];
    }
  }
}

TEST_F(GraphSchedule, SumsWaitForTheirGroupsBackwardOnly) {
  for (const std::size_t task : gradients("block1.mlp", 0))
    EXPECT_TRUE(recorder.depends(sum("block1.mlp", 0), task));
  EXPECT_GE(gradients("block1.mlp", 0).size(), 3U);
  // The gradient of a norm is on the path to what is below.
  for (const std::size_t task : products("block2.mlp", 0))
    EXPECT_FALSE(recorder.depends(sum("block1.mlp", 0), task)) << recorder.tasks()[task].name;
  for (const std::size_t task : of("block0.mlp/backward", 0))
    EXPECT_FALSE(recorder.depends(sum("block1.attention", 0), task)) << recorder.tasks()[task].name;
  EXPECT_FALSE(recorder.depends(sum("block0.mlp", 0), sum("block1.mlp", 0)))
      << "collectives are independent";
}

TEST_F(GraphSchedule, NothingWaitsForAnotherGroupsUpdate) {
  for (const std::size_t update : of("block2.mlp/update", 0))
    EXPECT_FALSE(recorder.depends(of("block0.attention", 1).front(), update));
  for (const std::size_t update : of("head/update", 0))
    EXPECT_FALSE(recorder.depends(sum("embedding", 0), update));
}

// A block's weight gradients may run until nearly the end of the next block's backward pass.
TEST_F(GraphSchedule, WeightGradientsAreOffTheCriticalPath) {
  for (const int block : {0, 1}) {
    const std::string own = "block" + std::to_string(block),
                      next = "block" + std::to_string(block + 1);
    std::size_t checked = 0;
    const std::vector<std::size_t> path = gradients(own + ".attention", 0);
    // Its last gradient, of the norm, is at the end of the path to what is below.
    const std::size_t end = path.back();
    for (const std::string& part : {next + ".attention", next + ".mlp"}) {
      for (const std::size_t task : products(part, 0)) {
        EXPECT_FALSE(recorder.depends(end, task)) << block << " " << recorder.tasks()[task].name;
        ++checked;
      }
    }
    EXPECT_GE(checked, 4U);
  }
}

TEST_F(GraphSchedule, WeightGradientsOfALayerWaitForNoneOfEachOther) {
  for (const std::string part : {"block1.attention", "block1.mlp"}) {
    const std::vector<std::size_t> made = products(part, 0);
    EXPECT_EQ(made.size(), 2U);
    for (const std::size_t later : made)
      for (const std::size_t earlier : made)
        EXPECT_FALSE(earlier < later && recorder.depends(later, earlier));
  }
}

TEST_F(GraphSchedule, CollectivesAreThoseOfTheWorkload) {
  const Workload described = model.workload();
  ASSERT_EQ(described.tensors.size(), kParts.size());
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    EXPECT_EQ(described.tensors[i].name, kParts[i]);
    const RecordedTask& task = recorder.tasks()[sum(kParts[i], 0)];
    EXPECT_EQ(std::ssize(std::as_bytes(task.values)), described.tensors[i].bytes);
    if (i > 0) {
      EXPECT_GT(task.priority, recorder.tasks()[sum(kParts[i - 1], 0)].priority)
          << "the priority is the place in the forward pass";
    }
  }
}

TEST_F(GraphSchedule, PrioritiesFollowTheNeed) {
  const auto most_urgent = [&](const std::string& region) {
    std::uint32_t urgent = kPriorityLevels;
    for (const std::size_t task : of(region, 0))
      urgent = std::min(urgent, recorder.tasks()[task].priority);
    return urgent;
  };
  const std::vector<std::string> urgent_first{"head/backward",
                                              "block2.mlp/backward",
                                              "block2.attention/backward",
                                              "block0.attention/backward",
                                              "embedding/backward",
                                              "embedding/update",
                                              "block0.attention",
                                              "block0.mlp/update",
                                              "block1.attention/update",
                                              "block2.mlp",
                                              "head/update"};
  for (std::size_t i = 1; i < urgent_first.size(); ++i)
    EXPECT_LT(most_urgent(urgent_first[i - 1]), most_urgent(urgent_first[i])) << urgent_first[i];
  for (const RecordedTask& task : recorder.tasks()) EXPECT_LT(task.priority, kPriorityLevels);
}

// Runs two ranks in step: a collective sums the buffers at the same position on both.
TEST(GraphScheduleOfRanks, RanksStayEqual) {
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
  EXPECT_EQ(zero.model.hash(), one.model.hash());
  EXPECT_NE(zero.model.losses()[0], one.model.losses()[0]);
}

}  // namespace
}  // namespace hocket
