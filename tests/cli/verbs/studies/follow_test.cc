// Tests `hocket studies --follow`. What the study's process does between two looks stands in a
// script.

#include "cli/verbs/studies/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/store/faulty_store.h"
#include "tests/store/fixtures.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Follow : public ::testing::Test {
 protected:
  StudyRow add(const std::string& name, const std::string& owner = "7@here boot/3") {
    NewStudy study = sample_study(name);
    study.owner = owner;
    study.definition =
        to_json(StudyDefinition{.space = *Space::make({*parse_parameter("X=int:1..9")}),
                                .objective = *parse_objective("wall"),
                                .trials = 4,
                                .confirm_pairs = 3});
    return must(store_->create_study(study));
  }

  TrialRow start(const StudyRow& study, int x) {
    return must(store_->start_trial({study.id, TrialPhase::search, {{"X", x}}}));
  }
  void finish(const TrialRow& trial, double value) {
    must(store_->finish_trial(trial.id,
                              {.state = TrialState::complete, .value = value, .samples = {value}}));
  }
  void run_trial(const StudyRow& study, int x, double value) { finish(start(study, x), value); }
  void end(const StudyRow& study, StudyState state = StudyState::finished) {
    must(store_->update_study(study.id, {.state = state}));
  }

  /// Follows `study` while the script runs, one step a look; stops when it is over.
  Result<int> follow(const std::string& study, std::vector<std::function<void()>> script,
                     bool json = false, Store* store = nullptr, int columns = 0) {
    out_.str("");
    err_.str("");
    VerbContext context{.out = out_, .err = err_, .err_columns = columns, .command = {}};
    std::size_t step = 0;
    const HostView host{.name = "here", .boot_id = "boot", .start_time = [this](const auto&) {
                          return is_alive_ ? std::optional<std::string>("3") : std::nullopt;
                        }};
    const auto wait = [&] {
      if (step == script.size()) return false;
      script[step++]();
      return true;
    };
    const auto status = follow_study(store ? *store : *store_, {study, json, host, wait}, context);
    steps_left_ = script.size() - step;
    return status;
  }

  bool is_alive_ = true;
  std::size_t steps_left_ = 0;
  std::ostringstream out_, err_;
  std::int64_t now_ns_ = 1'000'000'000;
  const std::unique_ptr<Store> store_ = open_store_in_memory([this] { return ++now_ns_; });
};

TEST_F(Follow, CountsWhatHasFinishedAndShowsWhatFinishes) {
  const auto study = add("sweep");
  run_trial(study, 5, 2e6);
  TrialRow late;
  const auto status =
      follow("sweep", {[&] { late = start(study, 7); }, [&] { run_trial(study, 8, 3e6); }, [] {},
                       [&] { finish(late, 1e6); }, [&] { end(study); }, [] {}});
  EXPECT_EQ(must(status), kDone);
  EXPECT_EQ(steps_left_, 1u);
  EXPECT_EQ(err_.str(),
            "following study sweep, which has 1 finished trial\n"
            "trial 2/4  X=8  3 ms ± 0 ns  best 2 ms\n"
            "trial 3/4  X=7  1 ms ± 0 ns  best 1 ms\n");
  EXPECT_EQ(out_.str(), "study sweep is finished; `hocket best sweep` shows what came of it\n");
}

TEST_F(Follow, ShowsTrialsBetweenTwoLooksInTheOrderOfTheirEnd) {
  const auto study = add("sweep");
  const auto first = start(study, 1), second = start(study, 2);
  EXPECT_EQ(must(follow(std::to_string(study.id), {[&] {
                          finish(second, 2e6);
                          finish(first, 1e6);
                          end(study);
                        }})),
            kDone);
  EXPECT_THAT(err_.str(), HasSubstr("trial 1/4  X=2  2 ms ± 0 ns  best 2 ms\n"
                                    "trial 2/4  X=1  1 ms ± 0 ns  best 1 ms\n"));
}

TEST_F(Follow, OnATerminalTheRunningTrialIsShownAndOffersAreNot) {
  const auto study = add("sweep");
  must(store_->start_trial({.study_id = study.id, .params = {{"X", 1}}, .is_offered = true}));
  start(study, 2);
  EXPECT_EQ(must(follow("", {}, false, nullptr, 80)), kInterrupted);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("now X=2"), Not(HasSubstr("X=1"))));
}

TEST_F(Follow, WithoutANameTheNewestThatRuns) {
  EXPECT_EQ(code_of(follow("", {})), ErrorCode::not_found);
  add("older");
  add("newer");
  add("elsewhere", "9@another boot/3");
  end(must(store_->study("elsewhere")), StudyState::interrupted);
  end(add("ended"));
  EXPECT_EQ(must(follow("", {})), kInterrupted);
  EXPECT_THAT(err_.str(), HasSubstr("following study newer, which has 0 finished trials\n"));
  EXPECT_THAT(out_.str(), IsEmpty());
  is_alive_ = false;
  const auto none = follow("", {});
  EXPECT_EQ(code_of(none), ErrorCode::not_found);
  EXPECT_THAT(message_of(none), HasSubstr("no study is running; `hocket studies` lists all"));
  add("far", "9@another boot/3");
  EXPECT_EQ(must(follow("", {})), kInterrupted) << "whether its process is alive is not known";
}

TEST_F(Follow, EndsWhenTheProcessOfTheStudyIsGone) {
  const auto study = add("sweep");
  const auto gone = follow("sweep", {[] {}, [&] { is_alive_ = false; }, [] {}});
  EXPECT_EQ(code_of(gone), ErrorCode::unavailable);
  EXPECT_EQ(steps_left_, 1u);
  EXPECT_EQ(message_of(gone),
            "study sweep was interrupted: nobody runs it any more; `hocket tune --resume --study "
            "sweep` goes on with it");
  is_alive_ = true;
  EXPECT_EQ(code_of(follow("sweep", {[&] { end(study, StudyState::interrupted); }})),
            ErrorCode::unavailable);
  EXPECT_EQ(code_of(follow("sweep", {})), ErrorCode::unavailable) << "at once";
}

TEST_F(Follow, AProcessThatEndedItsStudyAndThenItselfHasFinishedIt) {
  const auto study = add("sweep");
  // It does both between the look and the question whether it is alive.
  const HostView host{.name = "here", .boot_id = "boot", .start_time = [&](const auto&) {
                        end(study);
                        return std::optional<std::string>();
                      }};
  VerbContext context{.out = out_, .err = err_, .command = {}};
  EXPECT_EQ(must(follow_study(*store_, {"sweep", false, host, [] { return false; }}, context)),
            kDone);
}

TEST_F(Follow, ARemovedStudyIsNotFound) {
  const auto study = add("sweep");
  EXPECT_EQ(
      code_of(follow("sweep", {[&] { must(store_->remove_study(study.id, study.owner, "ada")); }})),
      ErrorCode::not_found);
  EXPECT_EQ(code_of(follow("sweep", {})), ErrorCode::not_found);
}

TEST_F(Follow, PrintsOneJsonObjectALine) {
  const auto study = add("sweep");
  run_trial(study, 5, 2e6);
  EXPECT_EQ(must(follow("sweep", {[&] { run_trial(study, 6, 1e6); }, [&] { end(study); }}, true)),
            kDone);
  EXPECT_THAT(err_.str(), IsEmpty());
  std::istringstream lines(out_.str());
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(nlohmann::json::parse(line, nullptr, false));
  }
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].at("study"), "sweep");
  EXPECT_EQ(objects[0].at("number"), 2);
  EXPECT_EQ(objects[0].at("params"), nlohmann::json({{"X", 6}}));
  EXPECT_EQ(objects[1],
            nlohmann::json(
                {{"study", "sweep"}, {"state", "finished"}, {"trials", 2}, {"result", nullptr}}));
  add("left");
  is_alive_ = false;
  EXPECT_EQ(code_of(follow("left", {}, true)), ErrorCode::unavailable);
  EXPECT_EQ(nlohmann::json::parse(out_.str()).at("state"), "interrupted");
}

TEST_F(Follow, ReadsTheStoreOnlyWhenItHasChanged) {
  add("sweep");
  FaultyStore store(*store_, 8);  // the first look makes four calls, each later one asks once
  EXPECT_EQ(must(follow("sweep", {[] {}, [] {}, [] {}}, false, &store)), kInterrupted);
  FaultyStore failing(*store_, 7);
  EXPECT_EQ(code_of(follow("sweep", {[] {}, [] {}, [] {}, [] {}}, false, &failing)),
            ErrorCode::unavailable);
}

TEST(StudiesFollow, IsAnOptionOfTheVerb) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store.db");
  const auto store = must(open_store(path));
  const auto none = ask_hocket({"studies", "--follow", "--store", path});
  EXPECT_EQ(none.status, kBadInput);
  EXPECT_THAT(none.err, HasSubstr("no study is running"));
  NewStudy study = sample_study("sweep");
  study.definition =
      to_json(StudyDefinition{.space = *Space::make({*parse_parameter("X=int:1..9")}),
                              .objective = *parse_objective("wall")});
  must(store->update_study(must(store->create_study(study)).id, {.state = StudyState::finished}));
  const auto ended = ask_hocket({"studies", "--store", path, "--follow", "sweep"});
  EXPECT_EQ(ended.status, kDone) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("study sweep is finished"));
}

}  // namespace
}  // namespace hocket
