// Tests what `hocket prune` removes from the store, and the options that it shares with
// `hocket serve`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "archive/studies/owner.h"
#include "cli/base/context.h"
#include "store/open.h"
#include "tests/cli/answer.h"
#include "tests/scoped_environment.h"
#include "tests/store/fixtures.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PruneVerb : public ::testing::Test {
 protected:
  PruneVerb() {
    std::filesystem::create_directory(folder_.file("temporary"));
    add_study("old", StudyState::finished);
    add_study("runs", StudyState::running);
    add_profile("first");
    add_profile("second");
    must(store_->record_audit({"ada", "push", "k"}));
    now_ns_ = system_unix_ns();
    add_study("new", StudyState::finished);
  }

  void add_study(const std::string& name, StudyState state) {
    const auto study = must(store_->create_study(sample_study(name)));
    must(store_->update_study(study.id, {.state = state}));
  }

  void add_profile(const std::string& name) {
    const std::string trace = path_ + ".profiles/" + name + "/rank-0.sqlite";
    std::filesystem::create_directories(std::filesystem::path(trace).parent_path());
    write_bytes(trace, "12345");
    NewProfile profile{.name = name};
    profile.ranks = {{.rank = 0, .trace_path = trace}};
    must(store_->add_profile(profile));
  }

  Answer prune(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"prune", "--store", path_});
    return ask_hocket(arguments);
  }

  std::size_t studies() const { return must(store_->studies()).size(); }
  std::size_t entries() const { return must(store_->audit({})).size(); }
  std::size_t profiles() const { return must(store_->profiles()).size(); }

  const TemporaryFolder folder_;
  const ScopedEnvironment temporary_{"TMPDIR", folder_.file("temporary").c_str()},
      state_{"XDG_STATE_HOME", folder_.file("state").c_str()},
      cache_{"XDG_CACHE_HOME", folder_.file("cache").c_str()}, no_daemon_{"HOCKET_DAEMON", nullptr};
  const std::string path_ = folder_.file("store.db");
  std::int64_t now_ns_ = system_unix_ns() - 100LL * 24 * 3600 * 1'000'000'000;
  const std::unique_ptr<Store> store_ =
      must(open_store(path_, {.now_unix_ns = [this] { return now_ns_; }}));
};

TEST_F(PruneVerb, RemovesNothingFromTheStoreUnlessAsked) {
  const auto answer = prune({"--json"});
  EXPECT_EQ(answer.status, kDone) << answer.err;
  EXPECT_FALSE(answer.json().contains("studies"));
  EXPECT_THAT(prune({}).out, AllOf(HasSubstr("nothing to remove"), Not(HasSubstr("expired"))));
  EXPECT_EQ(studies(), 3u);
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(profiles(), 2u);
}

TEST_F(PruneVerb, RemovesWhatThePolicyNamesAndSaysItBefore) {
  const std::vector<std::string> policy = {"--keep-studies",  "90d", "--keep-audit", "12w",
                                           "--keep-profiles", "1",   "--json"};
  auto dry = policy;
  dry.emplace_back("--dry-run");
  const auto planned = prune(dry);
  EXPECT_EQ(planned.status, kDone) << planned.err;
  EXPECT_EQ(studies(), 3u);
  EXPECT_EQ(entries(), 1u);
  EXPECT_EQ(profiles(), 2u);
  const auto done = prune(policy);
  EXPECT_EQ(done.status, kDone) << done.err;
  for (const char* what : {"studies", "audit_entries", "profiles"}) {
    EXPECT_EQ(done.json().at(what), planned.json().at(what)) << what;
  }
  EXPECT_EQ(done.json().at("studies").at(0).at("study"), "old");
  EXPECT_EQ(done.json().at("studies").size(), 1u);
  EXPECT_EQ(done.json().at("audit_entries"), 1);
  EXPECT_EQ(done.json().at("profiles").at(0).at("profile"), "first");
  EXPECT_EQ(done.json().at("freed_bytes"), 5);
  EXPECT_EQ(studies(), 2u);
  EXPECT_TRUE(store_->study("runs"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".profiles/first"));
  for (const auto& row : must(store_->audit({}))) EXPECT_EQ(row.actor, actor_text());
  EXPECT_THAT(prune({"--keep-studies", "90d"}).out, HasSubstr("nothing in the store has expired"));
}

TEST_F(PruneVerb, PrintsATable) {
  const auto answer = prune(
      {"--keep-studies", "90d", "--keep-audit", "90d", "--max-profile-bytes", "5", "--dry-run"});
  EXPECT_EQ(answer.status, kDone) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("would go"), HasSubstr("old"),
                                HasSubstr("it has not changed for 100 days"), HasSubstr("1 entry"),
                                HasSubstr("first"), Not(HasSubstr("runs"))));
}

TEST_F(PruneVerb, AndServeRefuseWhatIsNoPolicy) {
  for (const std::string verb : {"prune", "serve"}) {
    for (const auto& [option, text, says] :
         {std::tuple{"--keep-studies", "soon", "such as 90d"},
          std::tuple{"--keep-audit", "90", "m, h, d or w"},
          std::tuple{"--keep-profiles", "-1", "at least 0"},
          std::tuple{"--max-profile-bytes", "much", "--max-profile-bytes"}}) {
      const auto answer = ask_hocket({verb, "--store", path_, option, text});
      EXPECT_EQ(answer.status, kBadInput) << verb << " " << option;
      EXPECT_THAT(answer.err, AllOf(HasSubstr(option), HasSubstr(says)));
    }
  }
  EXPECT_EQ(studies(), 3u);
}

}  // namespace
}  // namespace hocket
