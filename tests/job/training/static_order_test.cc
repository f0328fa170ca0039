#include "job/training/static_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "job/training/step_measurement.h"
#include "tests/core/host/ranks.h"
#include "tests/job/toy_model.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::int64_t kWarmup = 3;

/// A rank of two that looks for the order of ToyModel's two collectives.
struct Rank {
  explicit Rank(Collective& group) : collective(group), model(group.grid()) {}

  Result<StaticOrder> find(const std::string& path, const MeasuredStep& measured = {}) {
    return find_static_order(training, {.order = CollectiveOrder::static_order}, path, measured,
                             kWarmup, [this](const std::string& text) { warned += text; });
  }

  Collective& collective;
  ToyModel model;
  const SteadyClock clock;
  const Training training{.model = model, .collective = collective, .clock = clock};
  std::string warned;
};

/// Writes the job's step to a file and returns its path.
std::string written_step(const TemporaryFolder& folder, std::int64_t bytes = 16) {
  ToyModel model({.ranks = 2});
  StepDescription step = record_step(model);
  for (StepTask& task : step.tasks) {
    if (task.collective) task.bytes = bytes;
  }
  EXPECT_TRUE(write_step(step, folder.file("step.json")));
  return folder.file("step.json");
}

TEST(StaticOrder, IsThatOfTheFileWithoutTrainingAStep) {
  const TemporaryFolder folder;
  const std::string path = written_step(folder);
  run_local_ranks(2, [&](int, Collective& collective) {
    Rank rank(collective);
    // The file comes before a measured step.
    StepDescription other;
    const auto order = rank.find(path, {.description = other, .from_step = 2});
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_THAT(order->parts.value(), UnorderedElementsAre(0, 1));
    EXPECT_EQ(order->from_step, 2);
    EXPECT_EQ(rank.warned, "");
    EXPECT_EQ(rank.model.last_drawn(), -1);
  });
}

TEST(StaticOrder, IsThatOfAMeasuredStepWithoutTrainingAnother) {
  ToyModel model({.ranks = 2});
  const StepDescription step = record_step(model);
  run_local_ranks(2, [&](int number, Collective& collective) {
    Rank rank(collective);
    MeasuredStep measured{.description = {}, .from_step = 5};
    if (number == 0) measured.description = step;
    const auto order = rank.find("", measured);
    ASSERT_TRUE(order) << order.error().message;
    EXPECT_EQ(order->parts.value().size(), 2u);
    EXPECT_EQ(order->from_step, 5);
    EXPECT_EQ(rank.model.last_drawn(), -1);
  });
}

TEST(StaticOrder, IsNegotiatedWhereNoDescriptionFits) {
  const TemporaryFolder folder;
  const std::string other = written_step(folder, 8);
  for (const std::string& path : {other, folder.file("none.json")}) {
    run_local_ranks(2, [&](int number, Collective& collective) {
      Rank rank(collective);
      const auto order = rank.find(path);
      ASSERT_TRUE(order) << order.error().message;
      EXPECT_FALSE(order->parts);
      EXPECT_EQ(rank.warned.empty(), number != 0);
      if (number == 0) {
        EXPECT_THAT(rank.warned, HasSubstr("the order is negotiated"));
      }
    });
  }
}

TEST(StaticOrder, AStepThatDoesNotFitIsRefusedWithItsFile) {
  const TemporaryFolder folder;
  const std::string path = written_step(folder, 8);
  run_local_ranks(2, [&](int, Collective& collective) {
    const Rank rank(collective);
    const auto refused = read_fitting_step(rank.training, path);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(path));
    EXPECT_THAT(refused.error().message, HasSubstr("of another step"));
    const auto missing = read_fitting_step(rank.training, folder.file("none.json"));
    ASSERT_FALSE(missing);
    EXPECT_THAT(missing.error().message, HasSubstr("none.json"));
  });
}

TEST(StaticOrder, AFittingStepHasTheNamesOfTheJob) {
  const TemporaryFolder folder;
  ToyModel model({.ranks = 2});
  StepDescription step = record_step(model);
  for (std::string& name : step.data) name += ".measured";
  ASSERT_TRUE(write_step(step, folder.file("step.json")));
  run_local_ranks(2, [&](int, Collective& collective) {
    const Rank rank(collective);
    const auto fitting = read_fitting_step(rank.training, folder.file("step.json"));
    ASSERT_TRUE(fitting) << fitting.error().message;
    EXPECT_EQ(fitting->data[1], "low");
  });
}

TEST(StepFile, ThatCannotBeWrittenIsAnError) {
  const TemporaryFolder folder;
  EXPECT_FALSE(write_step({}, folder.file("nowhere/step.json")));
  EXPECT_FALSE(write_step({}, folder.path().string())) << "a folder is not replaced";
}

}  // namespace
}  // namespace hocket
