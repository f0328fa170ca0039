#include "cli/views/front_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "archive/studies/study_result.h"
#include "core/base/json.h"
#include "tests/mutate.h"
#include "tuner/table/recorded_table.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

FrontPoint point(std::int64_t number, std::int64_t x, double ns, double bytes) {
  return {.number = number - 1, .measured = {{{"X", x}}, ns, 1e3, {bytes}, {0}}};
}

StudyView some_view() {
  StudyView view{.name = "s",
                 .unit = ObjectiveUnit::nanoseconds,
                 .objective = "wall",
                 .label = "wall",
                 .topology = {},
                 .workload = "w"};
  view.others = {Objective{ObjectiveKind::memory, ""}};
  return view;
}

StudyResult some_result() {
  StudyResult result{.default_params = {{{"X", std::int64_t{4}}}, 2e6, 1e3, {4096}, {512}},
                     .best = {{{"X", std::int64_t{8}}}, 1e6, 2e3, {8192}},
                     .reason = "it is for you to choose",
                     .trials = {}};
  result.front = {point(3, 8, 1e6, 8192), point(5, 2, 4e6, 1024)};
  result.front[0].state = FrontState::unconfirmed;
  result.front[0].runs = 5;
  result.front[1].state = FrontState::confirmed;
  result.front[1].runs = 2;
  return result;
}

std::string shown(const StudyResult& result, const std::vector<std::string>& command) {
  std::ostringstream out;
  print_front(out, result, some_view(), command, " --store s.db");
  return out.str();
}

TEST(FrontView, ShowsEveryObjectiveAgainstTheDefault) {
  EXPECT_EQ(
      shown(some_result(), {"job", "-x{X}"}),
      "the front: what no setting beats in all objectives; the default is beaten\n"
      "trial    wall         change    memory         change    measured again                "
      "setting\n"
      "default  2 ms ± 1 us  +0.0 %    4 KiB ± 512 B  +0.0 %                                  "
      "X=4\n"
      "3        1 ms ± 1 us  -50.0 %   8 KiB ± 0 B    +100.0 %  not confirmed in 5 more runs  "
      "X=8\n"
      "5        4 ms ± 1 us  +100.0 %  1 KiB ± 0 B    -75.0 %   confirmed in 2 more runs      "
      "X=2\n"
      "confirmed: measured again beside the default, and better in at least one objective\n"
      "not promoted: it is for you to choose\n"
      "promote one of them by its number: hocket studies promote s 5 --store s.db\n"
      "take one into use by giving it to the job, trial 5 for example: env X=2 job -x2\n");
}

TEST(FrontView, TheDefaultMayBeOfTheFrontOrHaveFailed) {
  auto result = some_result();
  result.front = {point(1, 4, 2e6, 4096)};
  EXPECT_THAT(shown(result, {"job"}), Not(HasSubstr("take one")));
  EXPECT_THAT(shown(result, {"job"}), Not(HasSubstr("promote one")));
  EXPECT_THAT(shown(result, {"job"}), Not(HasSubstr("beaten")));
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("\ndefault  2 ms ± 1 us  +0.0 %  4 KiB"));
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("measured once"));

  result = some_result();
  result.default_params.value.reset();
  result.default_params.others.clear();
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("objectives; the default failed\n"));
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("\ndefault  -            -       -"));
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("\n3        1 ms ± 1 us  -       8 KiB"));
}

TEST(FrontView, OfAnUnfinishedStudyNothingCanBePromoted) {
  auto result = some_result();
  result.is_interim = true;
  EXPECT_THAT(shown(result, {"job"}), Not(HasSubstr("promote one")));
}

TEST(FrontView, KnobsAreGivenAsAConfiguration) {
  auto result = some_result();
  result.front = {point(3, 8, 1e6, 8192)};
  result.front[0].measured.params = {{"streams", std::int64_t{3}}};
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("env 'HOCKET_CONFIG={"));
  EXPECT_THAT(shown(result, {"job"}), HasSubstr("\"streams\":3"));
}

TEST(FrontView, AFrontOfAnOlderVersionWasMeasuredOnce) {
  auto document = to_json(some_result());
  for (auto& point : document.at("front"))
    for (const char* field : {"state", "runs", "other_spreads"}) point.erase(field);
  const auto result = study_result_from_json(document);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->front[0].state, FrontState::searched);
  EXPECT_THAT(shown(*result, {"job"}), HasSubstr("measured once"));
}

TEST(FrontView, AResultWithAFrontSurvivesItsJsonForm) {
  const auto document = to_json(some_result());
  const auto again = study_result_from_json(document);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), document);
  ASSERT_EQ(again->front.size(), 2U);
  EXPECT_EQ(again->front[0].number, 2);
  EXPECT_EQ(again->front, some_result().front);
  EXPECT_EQ(again->default_params.others, std::vector<double>{4096});

  const std::string text = document.dump();
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    const auto damaged = parse_object(mutate(text, random), "result");
    if (!damaged) continue;
    if (const auto result = study_result_from_json(*damaged)) shown(*result, {"job"});
  }
}

/// Returns two complete trials, and one that failed after one objective was measured.
std::vector<TrialRow> some_rows() {
  std::vector<TrialRow> rows(3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].number = static_cast<std::int64_t>(i) + 1;
    rows[i].params = {{"X", i + 1}, {"value", 7 - i}};
    rows[i].measurements[metric_of_other(0)] = {1024.0 * static_cast<double>(i + 1)};
    rows[i].state = TrialState::complete;
    rows[i].value = 1e6 / static_cast<double>(i + 1);
  }
  rows[2].state = TrialState::failed;
  rows[2].value.reset();
  return rows;
}

TEST(FrontView, TrialsHaveAColumnForEachObjective) {
  const auto rows = some_rows();
  std::ostringstream out;
  print_trials(out, rows, some_view());
  EXPECT_EQ(out.str(),
            "trial  phase   state     X  value  wall           memory  message\n"
            "1      search  complete  1  7      1 ms ± 0 ns    1 KiB\n"
            "2      search  complete  2  6      500 us ± 0 ns  2 KiB\n"
            "3      search  failed    3  5      -              -\n");
  const auto list = trials_json(rows);
  EXPECT_EQ(list[0].at("others"), nlohmann::json({1024}));
  EXPECT_FALSE(list[2].contains("others"));
  EXPECT_EQ(detail_for(some_view()), TrialDetail::with_measurements);
}

TEST(FrontView, EitherObjectiveOfACsvCanBeReplayed) {
  std::ostringstream csv;
  print_trials_csv(csv, some_rows(), some_view());
  EXPECT_THAT(csv.str(), ::testing::StartsWith("X,value,objective:wall,objective:memory,trial:"));
  for (const char* row : {"\n1,7,1e+06,1024,", "\n2,6,5e+05,2048,", "\n3,5,,,"})
    EXPECT_THAT(csv.str(), ::testing::HasSubstr(row));
  const std::pair<const char*, double> cases[] = {{"objective:wall", 5e5},
                                                  {"objective:memory", 2048}};
  for (const auto& [column, expected] : cases) {
    const auto table = RecordedTable::parse(csv.str(), {.objective_column = column});
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->columns(), (std::vector<std::string>{"X", "value"}));
    const auto* found = table->find({{"X", std::int64_t{2}}, {"value", std::int64_t{6}}});
    ASSERT_TRUE(found);
    EXPECT_EQ(mean_value(*found), expected);
  }
}

}  // namespace
}  // namespace hocket
