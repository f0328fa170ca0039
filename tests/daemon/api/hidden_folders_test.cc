#include "daemon/api/hidden_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

#include "daemon/api/routes.h"
#include "tests/daemon/api/handlers/stored_profiles.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(HiddenFolders, AreTakenFromWhatNamesThem) {
  const HiddenFolders hidden({"/nfs/ada", "/nfs/ada/state/", "relative", "/", ""});
  EXPECT_TRUE(hidden.are_in("cannot open /nfs/ada/x"));
  EXPECT_FALSE(hidden.are_in("cannot open /tmp/x"));
  EXPECT_EQ(hidden.hide_in("cannot open /nfs/ada/state/a.db: no such file as /nfs/ada/b"),
            "cannot open .../a.db: no such file as .../b");
  EXPECT_EQ(HiddenFolders().hide_in("/x"), "/x");
  const HiddenFolders odd({"/nfs/a\"b"});
  EXPECT_EQ(odd.hide_in(nlohmann::json("/nfs/a\"b/c").dump()), R"(".../c")");
}

TEST(HiddenFolders, CommandsKeepTheNamesOfFiles) {
  EXPECT_EQ(with_file_names("/usr/bin/python3"), "python3");
  EXPECT_EQ(with_file_names("--data=/nfs/ada/x.bin"), "--data=x.bin");
  EXPECT_EQ(with_file_names("sh -c 'cd /data/run && ./go'"), "sh -c 'cd run && ./go'");
  EXPECT_EQ(with_file_names("http://node7:7077/v1/traces/ab/0"),
            "http://node7:7077/v1/traces/ab/0");
  EXPECT_EQ(with_file_names("a/b --rate 1/2"), "a/b --rate 1/2");
  EXPECT_EQ(with_file_names("/data/run/"), "");
  EXPECT_EQ(with_file_names(""), "");
}

/// A daemon over a store with a study, its trials, profiles, jobs and versions.
class HiddenFoldersApi : public ::testing::Test {
 protected:
  static constexpr const char* kHome = "/nfs/ada-of-the-test";

  HiddenFoldersApi() {
    profile_ = job_.add().name;
    moved_ = job_.add().name;
    // A trace that is not there any more: the error names it.
    NewProfile gone{.name = "gone",
                    .ranks = {{.rank = 0, .host = "h", .trace_path = job_.folder.file("gone/0")}}};
    must(job_.store->add_profile(gone));
    const Parameter x{
        .name = "x", .domain = IntegerRange{1, 40}, .default_value = std::int64_t{20}};
    StudyDefinition definition{.space = must(Space::make({x})),
                               .objective = must(parse_objective("report"))};
    definition.working_directory = "/nfs/bob/run";
    must(job_.store->create_study(
        {.name = "s",
         .command = {std::string(kHome) + "/train", "--log=/data/bob/log", job_.folder.file("x")},
         .definition = to_json(definition),
         .owner = "me",
         .topology_id = {},
         .workload_id = {}}));
    daemon_.call("POST", "/v1/jobs", to_json(sample_job("job-1")).dump(), root_);
    daemon_.call("PUT", "/v1/configs/" + sample_key(), R"({"config": {}})", root_);
  }

  /// Returns the paths of all GET routes, with what the store has in place of parameters.
  std::set<std::string> targets() const {
    const std::map<std::string, std::vector<std::string>> known = {
        {"{profile}", {profile_, "gone", "none"}},
        {"{other}", {moved_, "gone"}},
        {"{study}", {"s", "none"}},
        {"{job}", {"job-1", "none"}},
        {"{key}", {sample_key(), "none"}},
        {"{set}", {"none", std::string(32, '0')}},
        {"{rank}", {"0"}},
        {"{plot}", {"progress", "none"}},
        {"{meeting}", {"m"}}};
    std::set<std::string> paths;
    for (const ApiRoute& route : api_routes()) {
      if (route.method == "GET") paths.insert(std::string(route.pattern));
    }
    for (const auto& [parameter, values] : known) {
      std::set<std::string> filled;
      for (const std::string& path : paths) {
        const auto at = path.find(parameter);
        if (at == std::string::npos) {
          filled.insert(path);
          continue;
        }
        for (const std::string& value : values)
          filled.insert(std::string(path).replace(at, parameter.size(), value));
      }
      paths = std::move(filled);
    }
    return paths;
  }

  const std::string root_ = "Bearer 0123456789abcdef-root",
                    reader_ = "Bearer 0123456789abcdef-read";
  ProfiledJob job_;
  SetClock clock_;
  std::string profile_, moved_;
  Assembled daemon_{*job_.store,
                    clock_,
                    must(AccessTokens::parse("admin root 0123456789abcdef-root\n"
                                             "read reader 0123456789abcdef-read\n")),
                    nullptr,
                    {},
                    nullptr,
                    {.folder = job_.folder.file("served"), .url = "http://a"},
                    {job_.folder.path(), kHome}};
};

TEST_F(HiddenFoldersApi, AreSeenByAdministratorsAlone) {
  std::size_t seen = 0;
  for (const std::string& target : targets()) {
    for (const std::string& authorization : {reader_, root_, std::string()}) {
      const auto reply =
          daemon_.reply({.method = "GET", .target = target, .authorization = authorization}, true);
      const auto* response = std::get_if<ServiceResponse>(&reply);
      if (response == nullptr || !response->body) continue;
      const bool names_any = response->body->find(job_.folder.path()) != std::string::npos ||
                             response->body->find(kHome) != std::string::npos;
      if (authorization == root_) {
        seen += names_any;
      } else {
        EXPECT_FALSE(names_any) << target << ": " << response->body->substr(0, 2000);
      }
    }
  }
  EXPECT_GE(seen, 4u) << "the store has nothing to hide";
  const auto study = daemon_.call("GET", "/v1/studies/s", "", reader_);
  EXPECT_THAT(*study.body, HasSubstr(R"("command":["train","--log=log","x"])"));
  EXPECT_THAT(*study.body, Not(HasSubstr("/nfs/bob")));
  const auto profile = daemon_.call("GET", "/v1/profiles/" + profile_, "", reader_);
  EXPECT_THAT(*profile.body, Not(HasSubstr(R"("trace":"/)")));
}

}  // namespace
}  // namespace hocket
