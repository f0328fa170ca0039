// Tests profiles and profile requests in the store.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <limits>

#include "tests/store/store_fixture.h"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StoreProfiles : public StoreFixture {
 protected:
  static ProfileRank rank(std::int64_t number) {
    return {.rank = number,
            .host = "node" + std::to_string(number),
            .trace_path = "/traces/rank-" + std::to_string(number) + ".sqlite",
            .records = 100 + number,
            .dropped = 1,
            .quarantined = 2,
            .clock_fit = {{"offset_ns", number}}};
  }

  static NewProfile sample_profile(const std::string& name = "") {
    NewProfile profile{.name = name, .source = "host"};
    profile.config = {{"streams", 2}};
    profile.structure = {{"tasks", nlohmann::json::array()}};
    profile.detail = {{"notes", {"r\xc3\xa9my"}}};
    profile.ranks = {rank(1), rank(0)};
    profile.iterations = {{1, 7, 10, 5, 4, 3, 2}, {0, 8, 20, 6, 5, 4, 3}, {0, 7, 10, 5, 4, 3, 2}};
    profile.metrics = {{1, "busy", 0.5}, {{}, "overlap", 0.25}, {0, "busy", 1}, {{}, "idle", -1}};
    return profile;
  }

  NewProfileRequest request(const std::string& job) { return {job, 20, "ada"}; }

  std::optional<std::int64_t> taken(const std::string& id, const std::string& name,
                                    std::int64_t max_age_ns = 1'000'000) {
    const auto row = must(store_->take_profile_request(id, name, max_age_ns));
    if (!row) return std::nullopt;
    EXPECT_EQ(row->taken_by, id);
    return row->id;
  }
};

TEST_F(StoreProfiles, AProfileIsKeptAsItWasTold) {
  NewProfile profile = sample_profile("first");
  profile.topology_id = must(store_->upsert_topology(sample_topology()));
  profile.workload_id = must(store_->upsert_workload(sample_workload()));
  now_ns_ = 5'000;
  const ProfileRow row = must(store_->add_profile(profile));
  const ProfileRow expected{.id = 1,
                            .name = "first",
                            .source = "host",
                            .topology_id = 1,
                            .workload_id = 1,
                            .config = profile.config,
                            .structure = profile.structure,
                            .detail = profile.detail,
                            .ranks = {rank(0), rank(1)},
                            .created_at_ns = 5'000,
                            .kept = false};
  EXPECT_EQ(row, expected);
  EXPECT_EQ(must(store_->profile("first")), expected);
  EXPECT_EQ(must(store_->profile("1")), expected);
  EXPECT_THAT(must(store_->profiles()), ElementsAre(expected));
  EXPECT_THAT(must(store_->profile_iterations(1)),
              ElementsAre(profile.iterations[2], profile.iterations[1], profile.iterations[0]));
  EXPECT_THAT(
      must(store_->profile_metrics(1)),
      ElementsAre(profile.metrics[3], profile.metrics[1], profile.metrics[2], profile.metrics[0]));
}

TEST_F(StoreProfiles, AProfileMayHaveLittle) {
  const ProfileRow row = must(store_->add_profile({}));
  EXPECT_EQ(must(store_->profile(row.name)), row);
  EXPECT_TRUE(must(store_->profile_iterations(row.id)).empty());
  EXPECT_TRUE(must(store_->profile_metrics(row.id)).empty());
}

TEST_F(StoreProfiles, GeneratesReadableNamesAndUsesNoneTwice) {
  NewProfile of_workload = sample_profile();
  of_workload.workload_id = must(store_->upsert_workload(sample_workload("gpt2")));
  EXPECT_EQ(must(store_->add_profile(of_workload)).name, "gpt2-1");
  EXPECT_EQ(must(store_->add_profile(sample_profile())).name, "profile-2");
  EXPECT_EQ(must(store_->add_profile(sample_profile("gpt2-4"))).id, 3);
  EXPECT_EQ(must(store_->add_profile(of_workload)).name, "gpt2-5");
  must(store_->remove_profile(4));
  const ProfileRow next = must(store_->add_profile(of_workload));
  EXPECT_EQ(next.id, 5) << "the id of a removed profile is not used again";
  EXPECT_EQ(next.name, "gpt2-5");
}

TEST_F(StoreProfiles, RefusesProfilesThatAreNone) {
  must(store_->add_profile(sample_profile("taken")));
  const auto refusal = [&](auto change) {
    NewProfile profile = sample_profile("new");
    change(profile);
    const auto result = store_->add_profile(profile);
    EXPECT_EQ(code_of(result), ErrorCode::invalid_argument);
    return message_of(result);
  };
  using P = NewProfile&;
  EXPECT_THAT(refusal([](P p) { p.name = "taken"; }), HasSubstr("a profile named \"taken\""));
  EXPECT_THAT(refusal([](P p) { p.name = "a b"; }), HasSubstr("profile name \"a b\""));
  EXPECT_THAT(refusal([](P p) { p.name = "12"; }), HasSubstr("profile name \"12\""));
  EXPECT_THAT(refusal([](P p) { p.ranks[0].rank = 0; }), HasSubstr("rank 0 comes twice"));
  EXPECT_THAT(refusal([](P p) { p.ranks[0].rank = -1; }), HasSubstr("counted from 0"));
  EXPECT_THAT(refusal([](P p) { p.ranks[0].trace_path = "x"; }), HasSubstr("absolute"));
  EXPECT_THAT(refusal([](P p) { p.ranks[0].trace_path = "http://node7:7077/v1/traces/x/0"; }),
              HasSubstr("the URL of a trace"));
  EXPECT_THAT(refusal([](P p) { p.ranks[1].dropped = -1; }), HasSubstr("negative number"));
  EXPECT_THAT(refusal([](P p) { p.ranks[1].clock_fit = 1; }), HasSubstr("fit of rank 0"));
  EXPECT_THAT(refusal([](P p) { p.ranks[1].host = "\xff"; }), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal([](P p) { p.source = "\xff"; }), HasSubstr("source"));
  EXPECT_THAT(refusal([](P p) { p.iterations[0].rank = 2; }),
              HasSubstr("step 7 of rank 2: the profile has no such rank"));
  EXPECT_THAT(refusal([](P p) { p.iterations[1].step = 7; }), HasSubstr("comes twice"));
  EXPECT_THAT(refusal([](P p) { p.metrics[0].rank = 9; }), HasSubstr("no such rank"));
  EXPECT_THAT(refusal([](P p) { p.metrics[0].rank = 0; }), HasSubstr("comes twice"));
  EXPECT_THAT(refusal([](P p) { p.metrics[3].name = "overlap"; }), HasSubstr("comes twice"));
  EXPECT_THAT(refusal([](P p) { p.metrics[3].name = ""; }), HasSubstr("no name"));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal([&](P p) { p.metrics[3].value = kInfinity; }), HasSubstr("finite"));
  EXPECT_THAT(refusal([](P p) { p.config = {{"x", std::nan("")}}; }), HasSubstr("configuration"));
  EXPECT_THAT(refusal([](P p) { p.structure = 1; }), HasSubstr("structure"));
  EXPECT_THAT(refusal([](P p) { p.detail = nullptr; }), HasSubstr("detail"));
  EXPECT_EQ(must(store_->profiles()).size(), 1u);

  NewProfile profile = sample_profile();
  profile.workload_id = 9;
  EXPECT_EQ(code_of(store_->add_profile(profile)), ErrorCode::not_found);
}

TEST_F(StoreProfiles, UnknownProfilesAreNotFound) {
  must(store_->add_profile(sample_profile("one")));
  EXPECT_THAT(message_of(store_->profile("two")), HasSubstr("no profile \"two\""));
  EXPECT_EQ(code_of(store_->profile("2")), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->profile_iterations(2)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->profile_metrics(2)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->keep_profile(2, true)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store_->remove_profile(2)), ErrorCode::not_found);
}

TEST_F(StoreProfiles, WhatIsKeptCanBeLetGo) {
  must(store_->add_profile(sample_profile("one")));
  must(store_->keep_profile(1, true));
  EXPECT_TRUE(must(store_->profile("one")).kept);
  must(store_->keep_profile(1, true));
  must(store_->keep_profile(1, false));
  EXPECT_FALSE(must(store_->profile("one")).kept);
}

TEST_F(StoreProfiles, RemovingTakesEverythingOfOneProfile) {
  must(store_->add_profile(sample_profile("one")));
  must(store_->add_profile(sample_profile("two")));
  must(store_->remove_profile(1));
  EXPECT_EQ(code_of(store_->profile("one")), ErrorCode::not_found);
  EXPECT_EQ(must(store_->profile("two")).ranks.size(), 2u);
  EXPECT_EQ(must(store_->profile_iterations(2)).size(), 3u);
  EXPECT_EQ(must(store_->profile_metrics(2)).size(), 4u);
  EXPECT_TRUE(store_->add_profile(sample_profile("one"))) << "the name is free again";
}

TEST_F(StoreProfiles, ARequestIsTakenOnceByAJobOfItsIdOrName) {
  now_ns_ = 100;
  const ProfileRequestRow row = must(store_->request_profile(request("train")));
  const ProfileRequestRow expected{1, "train", 20, "ada", 100, std::nullopt};
  EXPECT_EQ(row, expected);
  must(store_->request_profile(request("id-7")));
  EXPECT_EQ(taken("id-1", "other"), std::nullopt);
  EXPECT_EQ(taken("id-7", "train"), 1) << "the oldest first";
  EXPECT_EQ(taken("id-8", "train"), std::nullopt) << "it was taken";
  EXPECT_EQ(taken("id-7", ""), 2);
  ProfileRequestRow was_taken = expected;
  was_taken.taken_by = "id-7";
  EXPECT_EQ(must(store_->profile_requests()).at(0), was_taken);
}

TEST_F(StoreProfiles, OldRequestsAreLeft) {
  constexpr auto kEver = std::numeric_limits<std::int64_t>::max();
  now_ns_ = 100;
  must(store_->request_profile(request("train")));
  now_ns_ = 200;
  EXPECT_EQ(taken("id", "train", 99), std::nullopt);
  EXPECT_EQ(taken("id", "train", std::numeric_limits<std::int64_t>::min()), std::nullopt);
  EXPECT_EQ(taken("id", "train", 100), 1);
  now_ns_ = -200;
  must(store_->request_profile(request("train")));
  EXPECT_EQ(taken("id", "train", kEver), 2);
}

TEST_F(StoreProfiles, RefusesRequestsThatAreNone) {
  EXPECT_THAT(message_of(store_->request_profile({"", 1, ""})), HasSubstr("must name a job"));
  EXPECT_THAT(message_of(store_->request_profile({"j", 0, ""})), HasSubstr("expected 1 or more"));
  EXPECT_THAT(message_of(store_->request_profile({"\xff", 1, ""})), HasSubstr("UTF-8"));
  EXPECT_THAT(message_of(store_->request_profile({"j", 1, "\xff"})), HasSubstr("UTF-8"));
  EXPECT_THAT(message_of(store_->take_profile_request("", "j", 1)), HasSubstr("must have an id"));
  EXPECT_TRUE(must(store_->profile_requests()).empty());
}

TEST_F(StoreProfiles, EveryChangeChangesTheCount) {
  std::int64_t last = must(store_->change_count());
  const auto has_changed = [&] {
    return must(store_->change_count()) != std::exchange(last, must(store_->change_count()));
  };
  must(store_->add_profile(sample_profile()));
  EXPECT_TRUE(has_changed());
  must(store_->keep_profile(1, true));
  EXPECT_TRUE(has_changed());
  must(store_->remove_profile(1));
  EXPECT_TRUE(has_changed());
  must(store_->request_profile(request("j")));
  EXPECT_TRUE(has_changed());
  EXPECT_EQ(taken("j", ""), 1);
  EXPECT_TRUE(has_changed());
}

}  // namespace
}  // namespace hocket
