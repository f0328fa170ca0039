// Requests of workers that run trials of `hocket tune --workers`. What their answers mean is tested
// in tests/archive/workers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "tests/daemon/assembled.h"
#include "tests/tuner/study/study_fixture.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr const char* kReader = "Bearer 0123456789abcdaa";
constexpr const char* kReporter = "Bearer 0123456789abcdbb";

class WorkersApiTest : public ::testing::Test {
 protected:
  WorkersApiTest() {
    study_ = add_study("shared", StudyOrigin::tune);
    trial_ = offer(study_);
  }

  std::int64_t add_study(const std::string& name, StudyOrigin origin, bool has_workers = true) {
    StudyDefinition definition{.space = small_study_space(),
                               .objective = must(parse_objective("wall")),
                               .working_directory = "/"};
    if (has_workers) definition.workers = 0;
    return must(store_->create_study({.name = name,
                                      .command = {"job"},
                                      .definition = to_json(definition),
                                      .owner = origin == StudyOrigin::http ? kWorkersOwner : "me",
                                      .topology_id = {},
                                      .workload_id = {},
                                      .origin = origin}))
        .id;
  }

  std::int64_t offer(std::int64_t study) {
    return must(store_->start_trial(
                    {.study_id = study, .params = {{"a", 2}, {"b", 3}}, .is_offered = true}))
        .id;
  }

  TrialRow trial() { return must(store_->trials(study_, TrialDetail::summary)).front(); }

  /// Returns the bodies of correct requests, by the last part of their path.
  std::vector<std::pair<std::string, nlohmann::json>> requests() const {
    return {{"claim", claim_},
            {"renew", claim_},
            {"finish",
             {{"trial", trial_}, {"worker", "w"}, {"status", "failed"}, {"message", "broken"}}},
            {"leave", {{"worker", "w"}}}};
  }

  static std::string path(const std::string& action, const std::string& study = "shared") {
    return "/v1/studies/" + study + "/workers/" + action;
  }

  /// Returns the status and the message of an answer.
  std::pair<int, std::string> answer(const std::string& target, const nlohmann::json& body,
                                     const std::string& authorization = "") {
    const auto response = daemon_.call("POST", target, body.dump(), authorization);
    const auto document = nlohmann::json::parse(*response.body);
    return {response.status,
            document.contains("error") ? document["error"]["message"].get<std::string>() : ""};
  }

  const nlohmann::json claim_ = {{"worker", "w"}, {"host", "h"}, {"lease_ns", 30 * kSecondNs}};
  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return ++clock_.now; });
  Assembled daemon_{*store_, clock_};
  std::int64_t study_ = 0, trial_ = 0;
};

TEST_F(WorkersApiTest, AWorkerClaimsATrialAndEndsIt) {
  const auto claimed = daemon_.ask("POST", path("claim"), claim_);
  EXPECT_EQ(claimed["id"], study_);
  EXPECT_EQ(claimed["study"], "shared");
  EXPECT_EQ(claimed["command"], nlohmann::json{"job"});
  EXPECT_EQ(claimed["claimed"]["trial"], trial_);
  EXPECT_EQ(claimed["claimed"]["params"], (nlohmann::json{{"a", 2}, {"b", 3}}));
  daemon_.ask("POST", path("renew", std::to_string(study_)), claim_);
  daemon_.ask("POST", path("finish"), requests()[2].second);
  EXPECT_EQ(trial().state, TrialState::failed);
  EXPECT_EQ(trial().message, "broken");
  EXPECT_EQ(must(store_->workers(study_)).size(), 1U);
  daemon_.ask("POST", path("leave"), {{"worker", "w"}});
  EXPECT_TRUE(must(store_->workers(study_)).empty());
}

TEST_F(WorkersApiTest, TakesATokenThatMayReport) {
  daemon_.tokens =
      must(AccessTokens::parse("read eve 0123456789abcdaa\nreport trainer 0123456789abcdbb\n"));
  for (const auto& [action, body] : requests()) {
    EXPECT_EQ(answer(path(action), body).first, 401) << action;
    EXPECT_EQ(answer(path(action), body, kReader).first, 403) << action;
    EXPECT_EQ(answer(path(action), body, kReporter).first, 200) << action;
  }
}

TEST_F(WorkersApiTest, AnUnknownStudyOrTrialIsNotFound) {
  for (const auto& [action, body] : requests())
    EXPECT_EQ(answer(path(action, "none"), body).first, 404) << action;
  daemon_.ask("POST", path("claim"), claim_);
  auto end = requests()[2].second;
  end["trial"] = trial_ + 1;
  EXPECT_EQ(answer(path("finish"), end).first, 404);
}

TEST_F(WorkersApiTest, ATrialOfAnotherStudyIsNotFound) {
  const std::int64_t other = offer(add_study("other", StudyOrigin::tune));
  daemon_.ask("POST", path("claim", "other"), claim_);
  auto end = requests()[2].second;
  end["trial"] = other;
  EXPECT_EQ(answer(path("finish"), end).first, 404);
  EXPECT_EQ(answer(path("finish", "other"), end).first, 200);
}

TEST_F(WorkersApiTest, StudiesThatHocketTuneDoesNotOfferAreRefused) {
  add_study("sent", StudyOrigin::http);
  add_study("live", StudyOrigin::live);
  add_study("alone", StudyOrigin::tune, false);
  for (const auto& [action, body] : requests()) {
    const auto [status, message] = answer(path(action, "sent"), body);
    EXPECT_EQ(status, 400) << action;
    EXPECT_THAT(message, HasSubstr("POST /v1/studies/sent/ask and /tell"));
    EXPECT_EQ(answer(path(action, "live"), body).first, 400) << action;
    EXPECT_THAT(answer(path(action, "alone"), body).second, HasSubstr("hocket tune --workers N"));
  }
}

TEST_F(WorkersApiTest, WrongInputIsRefusedWithTheFieldsName) {
  struct Wrong {
    std::string action;
    nlohmann::json changes;
    std::string field;
  };
  const std::vector<Wrong> cases = {
      {"claim", {{"worker", ""}}, "worker"},
      {"claim", {{"worker", std::string(256, 'w')}}, "worker"},
      {"claim", {{"worker", nullptr}}, "worker"},
      {"claim", {{"host", std::string(256, 'h')}}, "host"},
      {"claim", {{"lease_ns", 0}}, "lease_ns"},
      {"claim", {{"lease_ns", kShortestLeaseNs - 1}}, "lease_ns"},
      {"claim", {{"lease_ns", kLongestLeaseNs + 1}}, "lease_ns"},
      {"claim", {{"time_left_ns", "soon"}}, "time_left_ns"},
      {"renew", {{"lease_ns", kShortestLeaseNs - 1}}, "lease_ns"},
      {"renew", {{"worker", ""}}, "worker"},
      {"leave", {{"worker", ""}}, "worker"},
      {"finish", {{"worker", ""}}, "worker"},
      {"finish", {{"status", "running"}}, "status"},
      {"finish", {{"status", "complete"}}, "value"},
      {"finish", {{"trial", -1}}, "trial"},
      {"finish", {{"measurements", {{"m", {"x"}}}}}, "measurements"},
  };
  daemon_.ask("POST", path("claim"), claim_);
  for (const Wrong& wrong : cases) {
    nlohmann::json body;
    for (const auto& [action, correct] : requests()) {
      if (action == wrong.action) body = correct;
    }
    body.update(wrong.changes);
    const auto [status, message] = answer(path(wrong.action), body);
    EXPECT_EQ(status, 400) << wrong.action << " " << wrong.changes;
    EXPECT_THAT(message, HasSubstr(wrong.field)) << wrong.action << " " << wrong.changes;
  }
  EXPECT_EQ(trial().state, TrialState::running);
}

TEST_F(WorkersApiTest, AStoreThatIsOnlyShownGivesNoTrials) {
  DaemonState shown(*store_, clock_, {.is_daemon = false});
  for (const auto& [action, body] : requests()) {
    const ServiceReply reply =
        shown.api.handle({.method = "POST", .target = path(action), .body = body.dump()}, true);
    EXPECT_EQ(std::get<ServiceResponse>(reply).status, 403) << action;
  }
  EXPECT_TRUE(trial().is_offered);
}

TEST_F(WorkersApiTest, DoNotWaitForTheThreadsThatSearch) {
  const auto labour = [&](const std::string& target) {
    return daemon_.api.labour_of({.method = "POST", .target = target});
  };
  for (const auto& [action, body] : requests()) {
    EXPECT_EQ(labour(path(action)), RequestLabour::brief);
    EXPECT_EQ(labour(path(action, "workers")), RequestLabour::brief);
  }
  EXPECT_EQ(labour("/v1/studies/shared/ask"), RequestLabour::search);
  EXPECT_EQ(labour("/v1/studies/workers/ask"), RequestLabour::search);
}

}  // namespace
}  // namespace hocket
