#include "daemon/api/study_service.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <thread>

#include "tests/store/fixtures.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

constexpr std::int64_t kLease = 60'000'000'000;

class StudyServiceTest : public testing::Test {
 protected:
  std::string new_study(std::int64_t trials, const std::string& method = "random") {
    Parameter x{.name = "x", .domain = IntegerRange{1, 40}, .default_value = std::int64_t{20}};
    auto space = must(Space::make({x}));
    StudyDefinition definition{.space = std::move(space),
                               .objective = must(parse_objective("report"))};
    definition.method = must(parse_search_method(method));
    definition.trials = trials;
    definition.working_directory = "/";
    NewStudy study;
    study.definition = to_json(definition);
    study.owner = StudyService::kOwner;
    study.command = {"/bin/true"};
    return must(store_->create_study(study)).name;
  }

  TrialRow ask(const std::string& study, const std::string& worker = "w") {
    const auto asked = must(service_.ask(study, worker, kLease));
    EXPECT_TRUE(asked.trial) << asked.reason;
    return asked.trial.value_or(TrialRow{});
  }

  static TrialOutcome result(double value) { return complete_trial({value}); }

  std::int64_t now_ns_ = 1'000;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return now_ns_; });
  StudyService service_{*store_};
};

TEST_F(StudyServiceTest, ALostLeaseGoesToTheNextWhoAsks) {
  const auto study = new_study(10);
  const auto first = ask(study, "a");
  const auto second = ask(study, "b");
  EXPECT_NE(first.params, second.params);
  now_ns_ += kLease / 2;
  EXPECT_EQ(must(service_.renew(study, second.id, kLease)), now_ns_ + kLease);
  now_ns_ += kLease / 2;
  const auto again = ask(study, "c");
  EXPECT_EQ(again.params, first.params);
  EXPECT_NE(again.id, first.id);
  const auto lost = service_.tell(study, first.id, result(1));
  EXPECT_EQ(code_of(lost), ErrorCode::not_found);
  EXPECT_NE(message_of(lost).find("ask for another"), std::string::npos);
  EXPECT_EQ(code_of(service_.renew(study, first.id, kLease)), ErrorCode::not_found);
  must(service_.tell(study, second.id, result(2)));
  must(service_.tell(study, again.id, result(1)));
}

TEST_F(StudyServiceTest, WorkersMayAskSeveralDaemons) {
  for (const std::string method : {"random", "model"}) {
    SCOPED_TRACE(method);
    const auto study = new_study(12, method);
    StudyService other(*store_);
    std::set<std::string> params;
    std::vector<TrialRow> trials;
    for (int i = 0; i < 6; ++i) {
      StudyService& asked = i % 2 == 0 ? service_ : other;
      StudyService& told = i % 3 == 0 ? service_ : other;
      trials.push_back(must(asked.ask(study, "w", kLease)).trial.value());
      EXPECT_EQ(trials.back().number, i + 1);
      params.insert(trials.back().params.dump());
      if (i < 4) must(told.tell(study, trials.back().id, result(i)));
    }
    EXPECT_EQ(params.size(), 6u) << "what runs elsewhere is not tried here";
    now_ns_ += kLease;
    const auto again = must(other.ask(study, "w", kLease)).trial.value();
    EXPECT_TRUE(again.params == trials[4].params || again.params == trials[5].params);
  }
}

TEST_F(StudyServiceTest, TellingTwiceIsHarmlessAndOtherwiseRefused) {
  const auto study = new_study(10);
  const auto trial = ask(study);
  must(service_.tell(study, trial.id, result(1)));
  must(service_.tell(study, trial.id, result(1)));
  EXPECT_EQ(code_of(service_.tell(study, trial.id, result(2))), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(service_.renew(study, trial.id, kLease)), ErrorCode::invalid_argument);
  EXPECT_EQ(must(store_->trials(1, TrialDetail::summary)).size(), 1u);
}

TEST_F(StudyServiceTest, ATrialBelongsToItsStudy) {
  const auto one = new_study(10), other = new_study(10);
  const auto trial = ask(one);
  EXPECT_EQ(code_of(service_.tell(other, trial.id, result(1))), ErrorCode::not_found);
  EXPECT_EQ(code_of(service_.renew(other, trial.id, kLease)), ErrorCode::not_found);
}

TEST_F(StudyServiceTest, RefusesWhatIsNotItsOwn) {
  const auto foreign = must(store_->create_study(sample_study()));
  EXPECT_EQ(code_of(service_.ask(foreign.name, "w", kLease)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(service_.ask("nobody", "w", kLease)), ErrorCode::not_found);
  const auto study = new_study(3);
  for (const std::int64_t lease : {kShortestLeaseNs - 1, kLongestLeaseNs + 1, std::int64_t{-1}}) {
    EXPECT_EQ(code_of(service_.ask(study, "w", lease)), ErrorCode::invalid_argument);
  }
}

TEST_F(StudyServiceTest, EndsWithItsBudget) {
  const auto study = new_study(3);
  EXPECT_FALSE(must(service_.recommend(study)));
  std::vector<TrialRow> trials;
  for (int i = 0; i < 3; ++i) trials.push_back(ask(study));
  auto none = must(service_.ask(study, "w", kLease));
  EXPECT_FALSE(none.trial);
  EXPECT_FALSE(none.is_finished);
  for (const auto& trial : trials) {
    must(service_.tell(study, trial.id, result(static_cast<double>(trial.number))));
  }
  for (int i = 0; i < 2; ++i) {
    none = must(service_.ask(study, "w", kLease));
    EXPECT_FALSE(none.trial);
    EXPECT_TRUE(none.is_finished);
  }
  EXPECT_EQ(must(store_->study(study)).state, StudyState::finished);
  EXPECT_TRUE(must(service_.recommend(study)));
}

TEST_F(StudyServiceTest, ARestartGoesOn) {
  const auto study = new_study(12, "model");
  std::set<std::string> settings;
  for (int i = 0; i < 12; ++i) {
    StudyService restarted(*store_);
    const auto asked = must(restarted.ask(study, "w", kLease));
    ASSERT_TRUE(asked.trial) << asked.reason;
    EXPECT_TRUE(settings.insert(asked.trial->params.dump()).second) << asked.trial->params;
    // Every third is told only once all were asked.
    if (i % 3 != 0) must(service_.tell(study, asked.trial->id, result(i + 1)));
  }
  StudyService restarted(*store_);
  EXPECT_FALSE(must(restarted.ask(study, "w", kLease)).is_finished);
}

TEST_F(StudyServiceTest, KeepsAFewSearchesInMemoryAndMakesOthersAgain) {
  StudyService service(*store_, {.study_sessions = 2});
  std::vector<std::string> studies;
  for (int i = 0; i < 5; ++i) studies.push_back(new_study(10));
  std::map<std::string, std::set<std::string>> settings;
  for (int round = 0; round < 3; ++round) {
    for (const auto& study : studies) {
      const auto asked = must(service.ask(study, "w", kLease));
      ASSERT_TRUE(asked.trial);
      EXPECT_TRUE(settings[study].insert(asked.trial->params.dump()).second);
      must(service.tell(study, asked.trial->id, result(round)));
      EXPECT_LE(service.sessions(), 2u);
    }
  }
}

TEST_F(StudyServiceTest, WorkersInThreadsTryEachSettingOnce) {
  constexpr std::int64_t kTrials = 30;
  const auto study = new_study(kTrials);
  std::vector<std::jthread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&, i] {
      for (;;) {
        const auto asked = service_.ask(study, "w" + std::to_string(i), kLease);
        if (!asked || asked->is_finished) break;
        if (!asked->trial) {
          std::this_thread::yield();  // all are taken
          continue;
        }
        const auto told = service_.tell(study, asked->trial->id, result(1));
        EXPECT_TRUE(told);
      }
    });
  }
  workers.clear();
  std::set<std::string> settings;
  const auto trials = must(store_->trials(1, TrialDetail::summary));
  for (const auto& trial : trials) {
    EXPECT_EQ(trial.state, TrialState::complete);
    settings.insert(trial.params.dump());
  }
  EXPECT_EQ(trials.size(), static_cast<std::size_t>(kTrials));
  EXPECT_EQ(settings.size(), trials.size());
}

}  // namespace
}  // namespace hocket
