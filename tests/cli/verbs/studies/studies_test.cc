// Tests `hocket studies rm`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "archive/studies/owner.h"
#include "cli/base/context.h"
#include "core/host/topology_probe.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

class StudiesRm : public ::testing::Test {
 protected:
  Answer ask(Words arguments) const {
    arguments.insert(arguments.end(), {"--store", path_});
    return ask_hocket(arguments);
  }
  Answer rm(Words arguments) const {
    arguments.insert(arguments.begin(), {"studies", "rm"});
    return ask(std::move(arguments));
  }

  /// Adds a study with a trial.
  StudyRow add(const std::string& name, StudyState state = StudyState::finished,
               const std::string& owner = owner_text()) {
    NewStudy study = sample_study(name);
    study.owner = owner;
    const auto row = must(store_->create_study(study));
    const auto trial = must(store_->start_trial({row.id, {}, {{"X", 1}}}));
    must(store_->finish_trial(trial.id, sample_result(3)));
    must(store_->update_study(row.id, {.state = state}));
    return must(store_->study(name));
  }

  PromotionRow promote(const StudyRow& study) {
    return must(
        store_->promote({.topology_id = must(store_->upsert_topology(must(probe_topology()))),
                         .workload_id = must(store_->upsert_workload(sample_workload("work"))),
                         .study_id = study.id,
                         .config = {{"streams", 4}},
                         .measured = MeasuredGain{3, 4, 0.25}}));
  }

  Words names() const {
    Words names;
    for (const auto& row : must(store_->studies())) names.push_back(row.name);
    return names;
  }

  const ScopedEnvironment no_daemon_{"HOCKET_DAEMON", nullptr};
  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("store.db");
  const std::unique_ptr<Store> store_ = must(open_store(path_));
};

TEST_F(StudiesRm, RemovesTheNamedOnes) {
  add("alpha");
  const auto b = add("beta");
  add("gamma", StudyState::interrupted);
  const auto version = promote(b);
  const auto dry = rm({"alpha", "beta", "--dry-run", "--json"});
  EXPECT_EQ(dry.status, kDone) << dry.err;
  EXPECT_EQ(names(), (Words{"alpha", "beta", "gamma"}));
  const auto done = rm({"alpha", std::to_string(b.id), "beta", "--json"});
  EXPECT_EQ(done.status, kDone) << done.err;
  EXPECT_EQ(names(), (Words{"gamma"}));
  const auto removed = done.json().at("removed");
  EXPECT_EQ(removed, dry.json().at("removed"));
  ASSERT_EQ(removed.size(), 2u) << "each once";
  EXPECT_EQ(removed[0].at("study"), "alpha");
  EXPECT_EQ(removed[0].at("trials"), 1);
  EXPECT_EQ(removed[1].at("versions"), nlohmann::json({version.id}));
  const auto text = rm({"gamma"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("removed"), HasSubstr("interrupted")));
  const auto audit = ask({"audit", "alpha"}).out;
  EXPECT_THAT(audit, AllOf(HasSubstr("remove_study"), HasSubstr(actor_text())));
}

TEST_F(StudiesRm, WhatAStudyPromotedStaysInForceAndNamesIt) {
  const auto study = add("sweep");
  promote(study);
  const auto before = ask({"fetch", "--workload", "work"});
  EXPECT_THAT(before.err, HasSubstr("promoted by study sweep on"));
  EXPECT_THAT(rm({"sweep"}).out, HasSubstr("1"));
  const auto after = ask({"fetch", "--workload", "work"});
  EXPECT_EQ(after.status, before.status);
  EXPECT_EQ(after.out, before.out);
  EXPECT_THAT(after.err, HasSubstr("promoted by study sweep (removed) on"));
  EXPECT_THAT(ask({"versions", "work"}).out, HasSubstr("study sweep (removed)"));
  const auto version = ask({"versions", "work", "--json"}).json().at("versions")[0];
  EXPECT_EQ(version.at("study"), "sweep");
  EXPECT_EQ(version.at("study_removed"), true);
  const auto best = ask({"best", "sweep"});
  EXPECT_EQ(best.status, kBadInput);
  EXPECT_THAT(best.err, HasSubstr("no study \"sweep\""));
}

TEST_F(StudiesRm, ARunningOneStaysUnlessForced) {
  add("other");
  const auto running = add("mine", StudyState::running);
  add("shared", StudyState::running, kWorkersOwner);
  add("live", StudyState::running, kDaemonOwner);
  add("far", StudyState::running, "7@another-host boot/3");
  for (const auto& [name, runner] : std::map<std::string, std::string>{
           {"mine", "process " + running.owner.substr(0, running.owner.find('@'))},
           {"shared", "workers"},
           {"live", "a daemon"},
           {"far", "7@another-host"}}) {
    const auto refused = rm({"other", name});
    EXPECT_EQ(refused.status, kBadInput) << name;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("run by " + runner), HasSubstr("--force")));
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_EQ(names().size(), 5u) << "all or none";
  EXPECT_EQ(rm({"mine", "shared", "live", "far", "--force"}).status, kDone);
  EXPECT_EQ(names(), (Words{"other"}));
}

TEST_F(StudiesRm, OneWhoseProcessIsGoneIsNotRunning) {
  auto owner = owner_text();
  owner += "9";  // another start time
  add("orphan", StudyState::running, owner);
  EXPECT_THAT(rm({"orphan", "--dry-run"}).out,
              AllOf(HasSubstr("interrupted"), Not(HasSubstr("running"))));
  EXPECT_EQ(rm({"orphan"}).status, kDone);
  EXPECT_TRUE(names().empty());
}

TEST_F(StudiesRm, UnknownOnesAndMissingStoresAreRefused) {
  add("a");
  const auto unknown = rm({"a", "b"});
  EXPECT_EQ(unknown.status, kBadInput);
  EXPECT_THAT(unknown.err, HasSubstr("no study \"b\""));
  EXPECT_EQ(names(), (Words{"a"}));
  const std::string missing = folder_.file("missing.db");
  for (const Words& options : {Words{}, Words{"--dry-run"}}) {
    Words arguments = {"studies", "rm", "a", "--store", missing};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto answer = ask_hocket(arguments);
    EXPECT_EQ(answer.status, kBadInput);
    EXPECT_THAT(answer.err, HasSubstr("nothing is tuned yet"));
    EXPECT_FALSE(std::filesystem::exists(missing));
  }
  EXPECT_EQ(ask({"studies", "rm"}).status, kBadInput);
  EXPECT_EQ(ask({"studies", "remove", "a"}).status, kBadInput);
}

TEST_F(StudiesRm, TheStoreMayBeNamedBeforeTheVerb) {
  add("a");
  EXPECT_EQ(ask_hocket({"studies", "--store", path_, "rm", "a"}).status, kDone);
  EXPECT_TRUE(names().empty());
  EXPECT_THAT(ask({"studies"}).out, HasSubstr("study"));
}

TEST_F(StudiesRm, SaysThatADaemonsStudiesAreElsewhere) {
  add("a");
  const ScopedEnvironment daemon("HOCKET_DAEMON", "http://127.0.0.1:1"),
      store("HOCKET_STORE", path_.c_str());
  EXPECT_THAT(ask({"studies", "rm", "a", "--dry-run"}).err, Not(HasSubstr("daemon")));
  const auto answer = ask_hocket({"studies", "rm", "a"});
  EXPECT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.err, AllOf(HasSubstr(path_), HasSubstr("a daemon's studies")));
}

}  // namespace
}  // namespace hocket
