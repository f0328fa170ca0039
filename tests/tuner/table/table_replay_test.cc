#include "tuner/table/table_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

constexpr SearchMethod kMethods[] = {SearchMethod::model, SearchMethod::random, SearchMethod::sobol,
                                     SearchMethod::tpe, SearchMethod::grid};

/// Returns a table in which each setting is recorded with probability `density`, one to three
/// times, with a few failed measurements.
RecordedTable random_table(Random& random, double density) {
  std::string text = "a,b,c,t\n1,x,0.5,3\n2,x,0.5,4\n";
  for (int a = 1; a <= 5; ++a) {
    for (const char* b : {"x", "y", "z"}) {
      for (const char* c : {"0.5", "1.5", "8"}) {
        if (random_unit(random) > density) continue;
        for (auto rows = pick(random, 1, 3); rows > 0; --rows) {
          text += std::to_string(a) + "," + b + "," + c + ",";
          text +=
              pick(random, 0, 9) == 0 ? "failed\n" : std::to_string(pick(random, 1, 1000)) + "\n";
        }
      }
    }
  }
  return RecordedTable::parse(text, {.objective_column = "t"}).value();
}

std::vector<ReplayedTrial> replay_with(const RecordedTable& table, SearchMethod method,
                                       std::size_t trials, std::uint64_t seed) {
  const auto search =
      make_search(table.space(), {.method = method, .seed = seed, .step = {}}).value();
  return replay_table(table, *search, trials, seed).value();
}

TEST(TableReplay, EachTrialIsAMeasurementOfARecordedSetting) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto table = random_table(random, seed % 3 == 0 ? 1.0 : 0.3);
    for (const SearchMethod method : kMethods) {
      SCOPED_TRACE(to_string(method));
      const auto trials = replay_with(table, method, 12, seed);
      // A missing setting does not use up a trial.
      ASSERT_EQ(trials.size(), std::min<std::size_t>(12, table.size()));
      EXPECT_EQ(trials.front().params, table.space().defaults());
      std::set<Params> seen;
      for (const auto& trial : trials) {
        EXPECT_TRUE(seen.insert(trial.params).second);
        const auto* measurements = table.find(trial.params);
        ASSERT_TRUE(measurements);
        EXPECT_NE(std::find(measurements->begin(), measurements->end(), trial.value),
                  measurements->end());
        EXPECT_TRUE(table.find(trial.recommended));
        EXPECT_FALSE(trial.reason.empty());
        EXPECT_FALSE(trial.why_recommended.empty());
      }
    }
  }
}

TEST(TableReplay, EndsWhenAllThatWasRecordedIsMeasured) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto table = random_table(random, 0.4);
    for (const SearchMethod method :
         {SearchMethod::random, SearchMethod::sobol, SearchMethod::tpe, SearchMethod::grid}) {
      EXPECT_EQ(replay_with(table, method, 500, seed).size(), table.size());
    }
  }
}

TEST(TableReplay, RepeatsASeedAndDrawsByIt) {
  Random random(5);
  const auto table = random_table(random, 1);
  std::set<std::vector<std::optional<double>>> drawn;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::optional<double>> values;
    const auto first = replay_with(table, SearchMethod::grid, 15, seed);
    const auto second = replay_with(table, SearchMethod::grid, 15, seed);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_EQ(first[i].params, second[i].params);
      EXPECT_EQ(first[i].value, second[i].value);
      EXPECT_EQ(first[i].recommended, second[i].recommended);
      values.push_back(first[i].value);
    }
    drawn.insert(values);
  }
  EXPECT_GT(drawn.size(), 5U);
}

TEST(TableReplay, DrawsEveryMeasurement) {
  const auto table =
      RecordedTable::parse("a,t\n1,10\n1,20\n1,oom\n2,30\n", {.objective_column = "t"}).value();
  std::set<std::optional<double>> drawn;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    drawn.insert(replay_with(table, SearchMethod::random, 1, seed).front().value);
  }
  EXPECT_EQ(drawn, (std::set<std::optional<double>>{10, 20, std::nullopt}));
}

TEST(TableReplay, TheDefaultStaysUntilAValueIsKnown) {
  const auto table =
      RecordedTable::parse("a,t\n1,oom\n2,\n3,nan\n", {.objective_column = "t"}).value();
  for (const SearchMethod method : kMethods) {
    for (const auto& trial : replay_with(table, method, 3, 1)) {
      EXPECT_FALSE(trial.value);
      EXPECT_EQ(trial.recommended, table.space().defaults());
    }
  }
}

}  // namespace
}  // namespace hocket
