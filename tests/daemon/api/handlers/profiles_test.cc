// Profiles and their timelines as the daemon answers them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>

#include "tests/daemon/api/handlers/stored_profiles.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

class ProfilesApiTest : public ::testing::Test, protected StoredProfiles {
 protected:
  nlohmann::json get(const std::string& target) { return daemon.ask("GET", target); }

  const std::string path_ = "/v1/profiles/" + name;
};

TEST_F(ProfilesApiTest, ListsAndShowsWhatIsStored) {
  const auto list = get("/v1/profiles")["profiles"];
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["profile"], name);
  const auto one = get(path_);
  EXPECT_EQ(one["summary"]["profile"], name);
  EXPECT_FALSE(one["figures"]["metrics"].empty());
  EXPECT_FALSE(one["figures"]["iterations"].empty());
  EXPECT_EQ(status("GET", "/v1/profiles/other"), 404);
}

TEST_F(ProfilesApiTest, ComparesTwo) {
  auto slower = small_step();
  slower.layers[1].backward_ns *= 2;
  const auto other = job.add(slower).name;
  const auto difference = get(path_ + "/diff/" + other);
  EXPECT_EQ(difference["before"], name);
  EXPECT_EQ(difference["after"], other);
  EXPECT_GT(difference["times"][0]["after_ns"], difference["times"][0]["before_ns"]);
  EXPECT_FALSE(difference["layers"].empty());
}

TEST_F(ProfilesApiTest, ATimelineHasLanesAndTiles) {
  const auto timeline = get(path_ + "/timeline");
  EXPECT_EQ(timeline["profile"], name);
  EXPECT_EQ(timeline["ranks"].size(), 2U);
  const auto tile = daemon.call("GET", path_ + "/timeline/tile?level=0&index=0");
  ASSERT_EQ(tile.status, 200);
  EXPECT_EQ(tile.content_type, "application/octet-stream");
  std::uint32_t words[2] = {};
  ASSERT_GE(tile.body->size(), sizeof words);
  std::memcpy(words, tile.body->data(), sizeof words);
  EXPECT_EQ(words[0], kTileMagic);
  EXPECT_EQ(words[1], timeline["lanes"].size());
  for (const char* wrong : {"", "?level=0", "?level=41&index=0", "?level=0&index=1",
                            "?level=-1&index=0", "?level=2&index=x"}) {
    EXPECT_EQ(status("GET", path_ + "/timeline/tile" + wrong), 400) << wrong;
  }
}

TEST_F(ProfilesApiTest, RecordsAreFoundAndShown) {
  const auto matches = get(path_ + "/timeline/find?text=FORWARD&kind=compute");
  ASSERT_FALSE(matches["found"].is_null()) << matches;
  const auto place =
      "lane=" + matches["found"]["lane"].dump() + "&record=" + matches["found"]["record"].dump();
  const auto record = get(path_ + "/timeline/record?" + place);
  EXPECT_EQ(record["name"], matches["found"]["name"]);
  const auto next =
      get(path_ + "/timeline/find?text=FORWARD&kind=compute&from_lane=" +
          matches["found"]["lane"].dump() + "&from_record=" + matches["found"]["record"].dump());
  EXPECT_NE(next["found"], matches["found"]);
  EXPECT_EQ(next["matches"], matches["matches"]);
  EXPECT_TRUE(get(path_ + "/timeline/find?text=no+such+task")["found"].is_null());
  EXPECT_EQ(status("GET", path_ + "/timeline/find?kind=songs"), 400);
  EXPECT_EQ(status("GET", path_ + "/timeline/record?lane=0&record=99999999"), 404);
  EXPECT_EQ(status("GET", path_ + "/timeline/record?lane=0"), 400);
}

TEST_F(ProfilesApiTest, ARangeHasFiguresOfEachRank) {
  const auto timeline = get(path_ + "/timeline");
  const auto end = timeline["end_ns"].dump();
  const auto range = get(path_ + "/timeline/range?begin_ns=0&end_ns=" + end);
  ASSERT_EQ(range["ranks"].size(), 2U);
  EXPECT_GT(range["ranks"][0]["compute_ns"], 0);
  EXPECT_FALSE(range["top"].empty());
  EXPECT_EQ(status("GET", path_ + "/timeline/range?begin_ns=5&end_ns=4"), 400);
}

TEST_F(ProfilesApiTest, ATraceIsAFile) {
  const auto trace = daemon.call("GET", path_ + "/trace?format=chrome");
  ASSERT_EQ(trace.status, 200);
  EXPECT_TRUE(nlohmann::json::accept(*trace.body));
  std::string disposition;
  for (const auto& [field, value] : trace.fields)
    if (field == "Content-Disposition") disposition = value;
  EXPECT_EQ(disposition, "attachment; filename=\"" + name + ".json\"");
  EXPECT_EQ(status("GET", path_ + "/trace"), 200);
  EXPECT_EQ(status("GET", path_ + "/trace?format=song"), 400);
}

TEST_F(ProfilesApiTest, IsAnsweredByTheThreadsForPeople) {
  for (const char* target : {"", "/timeline", "/timeline/tile?level=0&index=0", "/trace"})
    EXPECT_EQ(daemon.api.labour_of({.method = "GET", .target = path_ + target}),
              RequestLabour::browse);
}

}  // namespace
}  // namespace hocket
