#include "archive/studies/explanation/explained_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "archive/studies/explanation/explanation_json.h"
#include "store/open.h"
#include "tests/archive/studies/kept_study.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

class ExplainedStudy : public ::testing::Test {
 protected:
  Error refusal(const std::string& name) const {
    const auto explained = explain_study(*store_, name);
    EXPECT_FALSE(explained);
    return explained ? Error{} : explained.error();
  }

  const std::unique_ptr<Store> store_ = open_store_in_memory();
};

TEST_F(ExplainedStudy, HasTheTrialsOfTheSearchWithTheirReasons) {
  keep_study(*store_, parabola());
  const auto explained = explain_study(*store_, "parabola");
  ASSERT_TRUE(explained) << explained.error().message;
  EXPECT_EQ(explained->title, "study parabola");
  EXPECT_EQ(explained->objective, "wall");
  EXPECT_EQ(explained->unit, ObjectiveUnit::nanoseconds);
  const auto rows = store_->trials(store_->study("parabola")->id, TrialDetail::with_measurements);
  ASSERT_EQ(explained->trials.size(), 14U);
  ASSERT_GT(rows->size(), 14U);  // confirmations are no trials of the search
  for (std::size_t i = 0; i < 14; ++i) {
    EXPECT_EQ(shown_number(explained->trials[i]), (*rows)[i].number);
    EXPECT_EQ(explained->trials[i].outcome.value, (*rows)[i].value);
  }
  EXPECT_EQ(explained->reasons.size(), 14U);
  EXPECT_THAT(explained->reasons, Each(Not(HasSubstr("another setting"))));
  EXPECT_GT(explained->explanation.failed, 0U);
  EXPECT_NE(explained->explanation.model, nullptr);
  EXPECT_EQ(explain_study(*store_, "1")->title, "study parabola");
}

TEST_F(ExplainedStudy, ASearchThatIsTooLongIsNotRunAgain) {
  keep_study(*store_, parabola());
  const auto whole = explain_study(*store_, "parabola", {.retrace_limit = 28});
  const auto brief = explain_study(*store_, "parabola", {.retrace_limit = 27});
  ASSERT_TRUE(whole && brief);
  EXPECT_EQ(whole->reasons.size(), 14U);
  EXPECT_TRUE(brief->reasons.empty());
  EXPECT_EQ(brief->trials.size(), 14U);
  EXPECT_THAT(brief->explanation.recommendation.reason, HasSubstr("of the completed settings"));
  EXPECT_THAT(whole->explanation.recommendation.reason,
              Not(HasSubstr("of the completed settings")));
  const auto document = to_json(*brief);
  for (const auto& trial : document.at("trials")) EXPECT_EQ(trial.at("reason"), nullptr);
}

TEST_F(ExplainedStudy, TheSimulatorOfALongSearchIsNotCalibrated) {
  const auto function = [](const Params& params) {
    const auto bytes = std::get<std::int64_t>(params.at("credit_bytes"));
    return complete_trial({1e8 + 1e14 / static_cast<double>(bytes)});
  };
  keep_study(
      *store_,
      {"knobs", 5, {"credit_bytes=levels:1M,4M,16M,64M", "order=choice:fifo,static"}, function});
  EXPECT_TRUE(explain_study(*store_, "knobs", {.retrace_limit = 10})->simulator);
  EXPECT_FALSE(explain_study(*store_, "knobs", {.retrace_limit = 9})->simulator);
}

TEST_F(ExplainedStudy, CallsOnSeveralThreadsGiveWhatOneGives) {
  constexpr int kStudies = 3;
  std::vector<std::string> expected(kStudies), found(kStudies);
  const auto name_of = [](int i) { return "parabola-" + std::to_string(i); };
  for (int i = 0; i < kStudies; ++i) {
    keep_study(*store_, parabola(6 + i, name_of(i)));
    expected[static_cast<std::size_t>(i)] = to_json(*explain_study(*store_, name_of(i))).dump();
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kStudies; ++i) {
    threads.emplace_back([&, i] {
      const auto explained = explain_study(*store_, name_of(i));
      if (explained) found[static_cast<std::size_t>(i)] = to_json(*explained).dump();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(found, expected);
}

TEST_F(ExplainedStudy, SaysWhatItCannotExplain) {
  EXPECT_EQ(refusal("none").code, ErrorCode::not_found);
  keep_study(*store_, parabola(1, "single"));
  EXPECT_EQ(refusal("single").code, ErrorCode::invalid_argument);
  EXPECT_THAT(refusal("single").message,
              AllOf(HasSubstr("study single: 1 of 1 trials"), HasSubstr("at least 2")));
  NewStudy strange;
  strange.name = "strange";
  strange.definition = {{"format", "other"}};
  ASSERT_TRUE(store_->create_study(strange));
  EXPECT_THAT(refusal("strange").message, HasSubstr("study strange: "));
}

}  // namespace
}  // namespace hocket
