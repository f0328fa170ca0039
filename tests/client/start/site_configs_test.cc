#include "client/start/site_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "client/start/client.h"
#include "core/sharing/shared_configs.h"
#include "tests/client/environment.h"
#include "tests/core/sharing/sample_shared_configs.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class FixedAnswer final : public ConfigSource {
 public:
  explicit FixedAnswer(Result<std::optional<StoredConfig>> answer) : answer_(std::move(answer)) {}
  Result<std::optional<StoredConfig>> find(const Topology&, const Workload&,
                                           std::int64_t) override {
    return answer_;
  }

 private:
  const Result<std::optional<StoredConfig>> answer_;
};

class SiteConfigs : public ::testing::Test {
 protected:
  FetchedConfig ask(ConfigSource* source, const Topology& topology,
                    const RunnableValues& can_run = {}) const {
    return ask_for_config(topology, shared_.workload, source,
                          environment({{"HOCKET_SITE_CONFIGS", path_}}), can_run)
        .value();
  }
  FetchedConfig ask(ConfigSource* source = nullptr) const { return ask(source, shared_.topology); }

  const SharedConfig shared_ = shared_schedule("gpt2", 3);
  const TemporaryFolder folder_;
  const std::string path_ = folder_.write(
      "site.json", shared_configs_text({shared_, shared_schedule("bert")}, "").value());
};

TEST_F(SiteConfigs, AreTheLastSourceBeforeTheDefault) {
  FixedAnswer nothing(std::optional<StoredConfig>{});
  for (ConfigSource* source :
       {static_cast<ConfigSource*>(nullptr), static_cast<ConfigSource*>(&nothing)}) {
    const auto fetched = ask(source);
    EXPECT_EQ(fetched.source, "site");
    EXPECT_EQ(fetched.config.streams, 3);
    EXPECT_EQ(fetched.version, 0);
    EXPECT_EQ(fetched.detail, provenance_text(shared_) + ", in " + path_);
    EXPECT_THAT(fetched.warnings, IsEmpty());
  }
}

TEST_F(SiteConfigs, WhatAStoreOrADaemonKnowsComesFirst) {
  StoredConfig own;
  own.config.streams = 5;
  FixedAnswer known(own);
  EXPECT_EQ(ask(&known).config.streams, 5);
  // An operator has set the key back to its default, or has nothing that the job can run.
  FixedAnswer at_default(
      StoredConfig{.config = {}, .origin = "rollback to the default", .source = "default"});
  EXPECT_EQ(ask(&at_default).source, "default");
  EXPECT_EQ(ask(&at_default).config, ScheduleConfig{});
  FixedAnswer neighbour(
      StoredConfig{.config = {}, .origin = "the nearest", .source = "default", .is_unknown = true});
  EXPECT_EQ(ask(&neighbour).config.streams, 3);
}

TEST_F(SiteConfigs, AreUsedWhereASourceFails) {
  FixedAnswer broken(failure(ErrorCode::unavailable, "disk on fire"));
  const auto fetched = ask(&broken);
  EXPECT_EQ(fetched.source, "site");
  EXPECT_THAT(fetched.warnings, testing::ElementsAre(HasSubstr("disk on fire")));
}

TEST_F(SiteConfigs, ApplyToExactlyTheirTopologyAndVersions) {
  Topology other = shared_.topology;
  other.library_versions["gloo"] = "2";
  EXPECT_EQ(ask(nullptr, other).source, "default");
  EXPECT_THAT(ask(nullptr, other).warnings, IsEmpty());
}

TEST_F(SiteConfigs, AreNotUsedForWhatTheJobCannotRun) {
  RunnableValues can_run;
  can_run.start.emplace();
  (*can_run.start)["streams"].numbers = {1};
  const auto fetched = ask(nullptr, shared_.topology, can_run);
  EXPECT_EQ(fetched.source, "default");
  EXPECT_EQ(fetched.config, ScheduleConfig{});
  EXPECT_THAT(fetched.warnings, SizeIs(1));
}

TEST_F(SiteConfigs, AFileThatIsDamagedOrEverybodysMeansTheDefaultAndAWarning) {
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  auto fetched = ask();
  EXPECT_EQ(fetched.source, "default");
  ASSERT_THAT(fetched.warnings, SizeIs(1));
  EXPECT_THAT(fetched.warnings[0], HasSubstr("chmod o-w"));
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  EXPECT_EQ(ask().source, "site");
  std::string text = shared_configs_text({shared_}, "").value();
  text.replace(text.find("cluster-a"), 9, "cluster-b");
  folder_.write("site.json", text);
  fetched = ask();
  EXPECT_EQ(fetched.source, "default");
  ASSERT_THAT(fetched.warnings, SizeIs(1));
  EXPECT_THAT(fetched.warnings[0], HasSubstr("its digest is wrong"));
}

TEST(SiteConfigsPath, IsTheVariableOrTheDefault) {
  EXPECT_EQ(site_configs_path(environment({})), kSiteConfigsPath);
  EXPECT_EQ(site_configs_path(environment({{"HOCKET_SITE_CONFIGS", "/x"}})), "/x");
  EXPECT_EQ(site_configs_path(environment({{"HOCKET_SITE_CONFIGS", ""}})), std::nullopt);
  EXPECT_EQ(read_site_configs("/nonexistent/file").value(), std::nullopt);
  EXPECT_FALSE(read_site_configs("/dev/null"));
}

}  // namespace
}  // namespace hocket
