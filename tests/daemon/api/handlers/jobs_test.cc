// The objects of a token are changed by that token, and by administrators.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTokens =
    "report ada 0123456789abcdef-ada\n"
    "report ada 0123456789abcdef-ada-too\n"
    "report eve 0123456789abcdef-eve\n"
    "read ada 0123456789abcdef-reader\n"
    "admin root 0123456789abcdef-root\n";
const std::string kAda = "Bearer 0123456789abcdef-ada", kAdaToo = "Bearer 0123456789abcdef-ada-too",
                  kEve = "Bearer 0123456789abcdef-eve",
                  kOnlooker = "Bearer 0123456789abcdef-reader",
                  kRoot = "Bearer 0123456789abcdef-root";

class JobsApiTest : public ::testing::Test {
 protected:
  int enter(const std::string& token, const std::string& host = "here") {
    JobDescription job = sample_job("job-1");
    job.host = host;
    return daemon_.call("POST", "/v1/jobs", to_json(job).dump(), token).status;
  }
  int report(const std::string& token, bool ended = false) {
    const JobReport report{.job = "job-1", .step = 7, .iteration_ns = {5}, .ended = ended};
    return daemon_.call("POST", "/v1/reports", to_json(report).dump(), token).status;
  }
  /// Returns the status of a request for the job's stream; 200 if it begins.
  int watch(const std::string& token) {
    const auto reply = daemon_.reply({.method = "GET",
                                      .target = "/v1/watch?key=" + sample_key() + "&job=job-1",
                                      .authorization = token});
    const auto* refused = std::get_if<ServiceResponse>(&reply);
    return refused ? refused->status : 200;
  }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_, must(AccessTokens::parse(kTokens))};
};

TEST_F(JobsApiTest, AJobStaysWithTheTokenThatRegisteredIt) {
  ASSERT_EQ(enter(kAda), 200);
  EXPECT_EQ(enter(kEve, "elsewhere"), 403);
  EXPECT_EQ(daemon_.jobs.find("job-1")->description.host, "here");
  EXPECT_EQ(report(kEve), 403);
  EXPECT_EQ(report(kEve, true), 403);
  ASSERT_TRUE(daemon_.jobs.find("job-1"));
  EXPECT_EQ(daemon_.jobs.find("job-1")->step, 0);
  EXPECT_EQ(watch(kEve), 403);
  EXPECT_EQ(watch(kOnlooker), 403) << "a reader of the same name is no job";
  EXPECT_EQ(daemon_.jobs.find("job-1")->streams, 0);
  EXPECT_EQ(watch(kAda), 200);
  EXPECT_EQ(report(kAda), 200);
  const auto refused = daemon_.call("POST", "/v1/jobs", to_json(sample_job("job-1")).dump(), kEve);
  EXPECT_THAT(*refused.body, HasSubstr("job job-1 was registered with another token"));
  EXPECT_THAT(*refused.body, HasSubstr("eve"));
}

TEST_F(JobsApiTest, ANewTokenOfTheSameNameGoesOn) {
  ASSERT_EQ(enter(kAda), 200);
  EXPECT_EQ(enter(kAdaToo), 200);
  EXPECT_EQ(watch(kAdaToo), 200);
  EXPECT_EQ(report(kAdaToo), 200);
}

TEST_F(JobsApiTest, AdministratorsActForEveryJob) {
  ASSERT_EQ(enter(kAda), 200);
  EXPECT_EQ(watch(kRoot), 200);
  EXPECT_EQ(report(kRoot), 200);
  EXPECT_EQ(enter(kRoot), 200);
  EXPECT_EQ(report(kAda), 403) << "it is the administrator's now";
}

TEST_F(JobsApiTest, AnIdIsFreeAgainWhenItsJobHasEnded) {
  ASSERT_EQ(enter(kAda), 200);
  ASSERT_EQ(report(kAda, true), 200);
  EXPECT_EQ(enter(kEve), 200);
  EXPECT_EQ(report(kAda), 403);
}

TEST_F(JobsApiTest, AMeetingIsFoundByTokensOfItsNameAlone) {
  const std::string meeting = "/v1/meetings/nccl-1";
  ASSERT_EQ(daemon_.call("PUT", meeting, R"({"text": "a secret"})", kAda).status, 200);
  EXPECT_EQ(daemon_.call("GET", meeting, "", kEve).status, 404);
  EXPECT_EQ(daemon_.call("GET", meeting, "", kOnlooker).status, 403);
  ASSERT_EQ(daemon_.call("PUT", meeting, R"({"text": "eve's"})", kEve).status, 200);
  const auto found = daemon_.call("GET", meeting, "", kAdaToo);
  EXPECT_THAT(*found.body, HasSubstr("a secret"));
}

TEST_F(JobsApiTest, OneTokenLeavesMeetingsForTheOthers) {
  for (std::size_t i = 0; i < kMostMeetings; ++i) {
    const auto answer =
        daemon_.call("PUT", "/v1/meetings/m" + std::to_string(i), R"({"text": ""})", kEve);
    ASSERT_EQ(answer.status, 200);
  }
  EXPECT_EQ(daemon_.call("PUT", "/v1/meetings/more", R"({"text": ""})", kEve).status, 503);
  EXPECT_EQ(daemon_.call("PUT", "/v1/meetings/nccl-1", R"({"text": ""})", kAda).status, 200);
}

}  // namespace
}  // namespace hocket
