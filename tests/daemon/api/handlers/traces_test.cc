// Traces that the daemon serves, as it answers for them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "tests/daemon/api/handlers/stored_profiles.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

/// A daemon that serves traces, over the store of a profiled job.
class TracesApiTest : public ::testing::Test {
 protected:
  std::string make_set() { return daemon_.ask("POST", "/v1/traces")["set"]; }

  /// Sends a file as a client does, in pieces of 10,000 bytes.
  void send(const std::string& target, const std::string& file) {
    const std::string bytes = must(read_file(file));
    for (std::size_t offset = 0; offset < bytes.size(); offset += 10'000) {
      const auto answer = daemon_.call("PUT", target + "?offset=" + std::to_string(offset),
                                       bytes.substr(offset, 10'000));
      ASSERT_EQ(answer.status, 200) << *answer.body;
    }
  }

  ProfiledJob job_;
  SetClock clock_;
  Assembled daemon_{*job_.store,
                    clock_,
                    {},
                    nullptr,
                    {},
                    nullptr,
                    {.folder = job_.folder.file("served"),
                     .url = "http://node7:7077",
                     .store = "postgresql://db/hocket"}};
};

TEST_F(TracesApiTest, GiveAProfileItsTimelineWhereverTheyWereMade) {
  const ProfileRow row = job_.add();
  const std::string set = make_set();
  NewProfile moved{.name = "moved", .structure = row.structure, .ranks = row.ranks};
  for (ProfileRank& rank : moved.ranks) {
    const TraceUrl url{"http://node7:7077", set, rank.rank};
    send(url.text().substr(url.daemon.size()), rank.trace_path);
    rank.trace_path = url.text();
  }
  must(job_.store->add_profile(moved));
  auto expected = daemon_.ask("GET", "/v1/profiles/" + row.name + "/timeline");
  expected["profile"] = "moved";
  EXPECT_EQ(daemon_.ask("GET", "/v1/profiles/moved/timeline"), expected);
  EXPECT_EQ(daemon_.ask("GET", "/v1/profiles/moved/diff/" + row.name)["after"], row.name);
  EXPECT_EQ(daemon_.call("GET", "/v1/profiles/moved/trace").status, 200);
}

TEST_F(TracesApiTest, TakeWrongInputForWhatItIs) {
  const std::string trace = "/v1/traces/" + make_set() + "/0";
  EXPECT_EQ(daemon_.call("PUT", trace + "?offset=1", "x").status, 400);
  for (const char* offset : {"-1", "x", "99999999999999"}) {
    EXPECT_EQ(daemon_.call("GET", trace + "?offset=" + offset).status, 400) << offset;
  }
  for (const char* rank : {"-1", "x", "1x", "99999999999999999999"}) {
    const auto answer = daemon_.call("GET", trace.substr(0, trace.size() - 1) + rank);
    EXPECT_EQ(answer.status, 400) << rank;
    EXPECT_THAT(*answer.body, HasSubstr("a rank, an integer from 0"));
  }
  EXPECT_EQ(daemon_.call("GET", trace).status, 404);
  EXPECT_EQ(daemon_.call("PUT", "/v1/traces/..%2f..%2fx/0", "x").status, 404);
}

TEST_F(TracesApiTest, AreNotTakenByADaemonThatServesNone) {
  Assembled other(*job_.store, clock_);
  EXPECT_EQ(other.call("POST", "/v1/traces", "{}").status, 204);
  const std::string trace = "/v1/traces/" + make_set() + "/0";
  EXPECT_EQ(other.call("PUT", trace, "x").status, 404);
  EXPECT_EQ(other.call("GET", trace).status, 404);
}

TEST_F(TracesApiTest, AreReadByReadersAndWrittenByJobs) {
  Assembled guarded(*job_.store, clock_,
                    must(AccessTokens::parse("read grace 0123456789abcdef\n"
                                             "report trainers fedcba9876543210\n")),
                    nullptr, {}, nullptr,
                    {.folder = job_.folder.file("served"), .url = "http://a"});
  const std::string reader = "Bearer 0123456789abcdef", job = "Bearer fedcba9876543210";
  EXPECT_EQ(guarded.call("POST", "/v1/traces", "{}", reader).status, 403);
  const auto made = guarded.call("POST", "/v1/traces", "{}", job);
  ASSERT_EQ(made.status, 201);
  const std::string set = nlohmann::json::parse(*made.body)["set"];
  const std::string trace = "/v1/traces/" + set + "/0";
  EXPECT_EQ(guarded.call("PUT", trace, "x", reader).status, 403);
  EXPECT_EQ(guarded.call("PUT", trace, "x", job).status, 200);
  EXPECT_EQ(guarded.call("GET", trace).status, 401);
  EXPECT_EQ(*guarded.call("GET", trace, "", reader).body, "x");
}

TEST_F(TracesApiTest, AreAddedToByTheTokenThatMadeTheSet) {
  const auto serving = [&](const char* folder) {
    return std::make_unique<Assembled>(
        *job_.store, clock_,
        must(AccessTokens::parse("report ada 0123456789abcdef\n"
                                 "report eve fedcba9876543210\n"
                                 "admin root 00112233445566778899\n")),
        nullptr, MemoryLimits(), nullptr,
        ServedTracesOptions{.folder = job_.folder.file(folder), .url = "http://a"});
  };
  auto daemon = serving("owned");
  const std::string ada = "Bearer 0123456789abcdef", eve = "Bearer fedcba9876543210",
                    root = "Bearer 00112233445566778899";
  const auto made = daemon->call("POST", "/v1/traces", "{}", ada);
  const std::string set = nlohmann::json::parse(*made.body)["set"];
  const std::string trace = "/v1/traces/" + set + "/0", other = "/v1/traces/" + set + "/1";
  EXPECT_EQ(daemon->call("PUT", trace, "x", ada).status, 200);
  const auto refused = daemon->call("PUT", trace + "?offset=1", "y", eve);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(*refused.body, HasSubstr("the token that made it"));
  EXPECT_EQ(daemon->call("PUT", other, "y", eve).status, 403) << "a rank that is not there yet";
  EXPECT_EQ(daemon->call("GET", other, "", ada).status, 404);
  daemon = serving("owned");  // a restart
  EXPECT_EQ(daemon->call("PUT", trace + "?offset=1", "y", eve).status, 403);
  EXPECT_EQ(daemon->call("PUT", trace + "?offset=1", "y", ada).status, 200);
  EXPECT_EQ(daemon->call("PUT", trace + "?offset=2", "z", root).status, 200);
  EXPECT_EQ(*daemon->call("GET", trace, "", eve).body, "xyz");
  EXPECT_EQ(
      daemon->call("PUT", "/v1/traces/" + std::string(set.size(), '0') + "/0", "x", eve).status,
      404);
}

}  // namespace
}  // namespace hocket
