#include "daemon/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

#include "tests/daemon/assembled.h"
#include "tests/mutate.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    must(store_->upsert_topology(sample_topology()));
    must(store_->upsert_workload(sample_workload()));
    Parameter x{.name = "x", .domain = IntegerRange{1, 40}, .default_value = std::int64_t{20}};
    StudyDefinition definition{.space = must(Space::make({x})),
                               .objective = must(parse_objective("report"))};
    definition.working_directory = "/";
    definition_ = to_json(definition);
    must(store_->create_study({.name = "s",
                               .command = {"t"},
                               .definition = definition_,
                               .owner = StudyService::kOwner,
                               .topology_id = {},
                               .workload_id = {}}));
    daemon_.ask("POST", "/v1/jobs", to_json(sample_job("a")));
  }

  std::int64_t promote(std::int64_t parts) {
    ScheduleConfig config;
    config.partition_bytes = parts;
    return must(store_->promote({.topology_id = 1,
                                 .workload_id = 1,
                                 .config = to_json(config),
                                 .origin = PromotionOrigin::push,
                                 .actor = "ada"}))
        .id;
  }

  /// Expects an error with that status, as JSON with a code and a message.
  void expect_error(int status, const std::string& method, const std::string& target,
                    const std::string& body = "", const std::string& authorization = "") {
    SCOPED_TRACE(method + " " + target + " " + body.substr(0, 100));
    const auto response = daemon_.call(method, target, body, authorization);
    EXPECT_EQ(response.status, status) << *response.body;
    const auto document = nlohmann::json::parse(*response.body, nullptr, false);
    ASSERT_TRUE(document.contains("error"));
    EXPECT_FALSE(document["error"]["code"].get<std::string>().empty());
    EXPECT_FALSE(document["error"]["message"].get<std::string>().empty());
  }

  ServiceReply get(const std::string& target, const std::string& if_none_match,
                   bool is_last = false) {
    ServiceRequest request{.method = "GET", .target = target};
    request.if_none_match = if_none_match;
    return daemon_.reply(request, is_last);
  }
  int status_of(const std::string& target, const std::string& if_none_match) {
    const auto reply = get(target, if_none_match);
    const auto* response = std::get_if<ServiceResponse>(&reply);
    return response ? response->status : 0;
  }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
  nlohmann::json definition_;
  const std::string config_ = "/v1/configs/" + sample_key();
};

TEST_F(ApiTest, RefusesWhoHasNoTokenOrTooLittle) {
  daemon_.tokens =
      must(AccessTokens::parse("read eve 0123456789abcdaa\nadmin ada 0123456789abcdbb\n"));
  promote(1 << 20);
  daemon_.tick();
  for (const std::string who : {"", "Bearer 0123456789abcdcc", "Basic eve"}) {
    expect_error(401, "GET", "/v1/jobs", "", who);
    expect_error(401, "GET", config_, "", who);
    EXPECT_EQ(daemon_.call("GET", "/healthz", "", who).status, who.empty() ? 200 : 401);
  }
  expect_error(403, "PUT", config_ + "/pin", "", "Bearer 0123456789abcdaa");
  expect_error(403, "POST", "/v1/reports", "", "Bearer 0123456789abcdaa");
  EXPECT_EQ(daemon_.call("GET", config_, "", "Bearer 0123456789abcdaa").status, 200);
  EXPECT_EQ(daemon_.call("PUT", config_ + "/pin", "", "Bearer 0123456789abcdbb").status, 200);
  EXPECT_EQ(must(store_->audit({})).back().actor, "ada");
}

TEST_F(ApiTest, SaysWhetherATokenIsMissingUnknownOrTooLow) {
  daemon_.tokens = must(AccessTokens::parse("read eve 0123456789abcdaa\n"));
  const auto answer = [&](const std::string& authorization) {
    return *daemon_.call("PUT", config_ + "/pin", "", authorization).body;
  };
  EXPECT_THAT(answer(""), testing::HasSubstr("a token is needed"));
  EXPECT_THAT(answer("Basic eve"), testing::HasSubstr("Authorization: Bearer TOKEN"));
  EXPECT_THAT(answer("Bearer 0123456789abcdab"), testing::HasSubstr("does not know the token"));
  EXPECT_THAT(answer("Bearer 0123456789abcdaa"), testing::HasSubstr("eve has read"));
}

TEST_F(ApiTest, RefusalsAreLoggedAndAuditedWithoutTheToken) {
  daemon_.tokens = must(AccessTokens::parse("read eve 0123456789abcdaa\n"));
  ServiceRequest request{.method = "PUT", .target = config_ + "/pin?x=secretquery"};
  request.peer = "10.0.0.9";
  request.authorization = "Bearer 0123456789abcdaa";
  (void)daemon_.reply(request);
  request.authorization = "Bearer wrongwrongwrongw";
  (void)daemon_.reply(request);
  const auto rows = must(store_->audit({}));
  ASSERT_GE(rows.size(), 2U);
  const AuditRow& low = rows[rows.size() - 2];
  EXPECT_EQ(low.actor, "eve");
  EXPECT_EQ(low.action, "refused");
  EXPECT_EQ(low.subject, sample_key());
  EXPECT_EQ(low.detail, (nlohmann::json{{"reason", "role too low"},
                                        {"peer", "10.0.0.9"},
                                        {"method", "PUT"},
                                        {"path", config_ + "/pin"},
                                        {"others", 0}}));
  EXPECT_EQ(rows.back().actor, "unknown");
  EXPECT_EQ(rows.back().detail["reason"], "unknown token");
  ASSERT_GE(daemon_.lines.size(), 2U);
  for (const std::string part : {"unknown token", "10.0.0.9", "PUT", "/pin"}) {
    EXPECT_THAT(daemon_.lines.back(), testing::HasSubstr(part));
  }
  for (const std::string& line : daemon_.lines) EXPECT_EQ(line.find("wrong"), std::string::npos);
  EXPECT_EQ(rows.back().detail.dump().find("wrong"), std::string::npos);
}

TEST_F(ApiTest, ARefusalIsNotAnsweredWhereTheDiskMustNotBeWaitedFor) {
  daemon_.tokens = must(AccessTokens::parse("read eve 0123456789abcdaa\n"));
  promote(1 << 20);
  daemon_.tick();
  for (const std::string& target :
       {config_, "/v1/watch?key=" + sample_key(), std::string("/metrics")}) {
    EXPECT_FALSE(daemon_.api.answer_at_once({.method = "GET", .target = target})) << target;
  }
  EXPECT_TRUE(daemon_.api.answer_at_once({.method = "GET", .target = "/healthz"}));
}

TEST_F(ApiTest, RefusesWrongPathsAndMethods) {
  for (const char* path : {"/pages", "/v1", "/v1/nothing", "/v1/configs/a/b/c", "/healthz/x"}) {
    expect_error(404, "GET", path);
  }
  const auto refused = daemon_.call("DELETE", config_);
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.allow, "GET, PUT");
  EXPECT_EQ(daemon_.call("HEAD", "/healthz").status, 200);
  for (const char* target : {"x", "/%zz", "/v1/../jobs", "/v1/jobs?a=1&a=2", "//"}) {
    expect_error(400, "GET", target);
  }
}

TEST_F(ApiTest, RefusesWrongFieldsOfEveryBody) {
  const auto name = [](const nlohmann::json& value) { return value.dump(); };
  const std::string wrong_types[] = {
      "[]",
      "3",
      "\"x\"",
      "{",
      "{\"a\":\"\xff\"}",
      "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}"};
  for (const char* post :
       {"/v1/resolve", "/v1/jobs", "/v1/reports", "/v1/simulate", "/v1/studies",
        "/v1/studies/s/ask", "/v1/studies/s/tell", "/v1/studies/s/renew", "/v1/jobs/a/profile"}) {
    for (const auto& body : wrong_types) expect_error(400, "POST", post, body);
  }
  auto report = to_json(JobReport{.job = "a", .values = {{"own_cost_percent", 100}}});
  EXPECT_EQ(daemon_.call("POST", "/v1/reports", report.dump()).status, 200);
  for (const nlohmann::json& cost :
       {nlohmann::json(-1), nlohmann::json(101), nlohmann::json("1")}) {
    report["values"]["own_cost_percent"] = cost;
    expect_error(400, "POST", "/v1/reports", name(report));
  }
  for (const auto& body : std::vector<nlohmann::json>{nlohmann::json::object(),
                                                      {{"iterations", 0}},
                                                      {{"iterations", 10'001}},
                                                      {{"iterations", "7"}}}) {
    expect_error(400, "POST", "/v1/jobs/a/profile", name(body));
  }
  for (const char* put : {"", "/pin", "/freeze", "/rollback"}) {
    for (const auto& body : wrong_types) expect_error(400, "PUT", config_ + put, body);
  }
  for (const auto& body : std::vector<nlohmann::json>{
           {{"config", 3}}, {{"config", {{"streams", 0}}}}, nlohmann::json::object()}) {
    expect_error(400, "PUT", config_, name(body));
  }
  expect_error(400, "PUT", config_, name({{"config", to_json(ScheduleConfig{})}, {"note", 3}}));
  for (const auto& body : std::vector<nlohmann::json>{
           {{"pinned", 1}}, {{"version", 0}}, {{"version", "1"}}, {{"version", 1.5}}}) {
    expect_error(400, "PUT", config_ + "/pin", name(body));
  }
  expect_error(404, "PUT", config_ + "/pin", name({{"version", 99}}));
  expect_error(400, "PUT", config_ + "/freeze", name({{"frozen", "no"}}));
  expect_error(404, "PUT", config_ + "/rollback");
  expect_error(404, "PUT", config_ + "/rollback", name({{"to", "default"}}));
  expect_error(400, "PUT", config_ + "/rollback", name({{"to", "never"}}));
  expect_error(400, "PUT", config_ + "/rollback", name({{"to", 3}}));
  expect_error(400, "GET", "/v1/configs/nonsense/versions");
  for (const auto& body : std::vector<nlohmann::json>{{{"worker", 3}},
                                                      {{"worker", std::string(201, 'w')}},
                                                      {{"lease_ns", 1}},
                                                      {{"lease_ns", "x"}}}) {
    expect_error(400, "POST", "/v1/studies/s/ask", name(body));
  }
  for (const auto& body : std::vector<nlohmann::json>{
           nlohmann::json::object(),
           {{"trial", 0}, {"status", "failed"}},
           {{"trial", 1}},
           {{"trial", 1}, {"status", "fine"}},
           {{"trial", 1}, {"status", "failed"}, {"value", "x"}},
           {{"trial", 1}, {"status", "failed"}, {"measurements", {{"a", 1}}}},
           {{"trial", 1}, {"status", "failed"}, {"measurements", {{"a", {"b"}}}}}}) {
    expect_error(400, "POST", "/v1/studies/s/tell", name(body));
  }
  expect_error(404, "POST", "/v1/studies/s/tell", name({{"trial", 9}, {"status", "failed"}}));
  expect_error(404, "POST", "/v1/studies/none/ask");
  expect_error(400, "POST", "/v1/studies", name({{"definition", {{"space", 3}}}}));
  expect_error(400, "POST", "/v1/studies", name({{"definition", definition_}, {"study", "-x"}}));
  expect_error(400, "POST", "/v1/studies", name({{"definition", definition_}, {"study", "s"}}));
  expect_error(400, "POST", "/v1/studies", name({{"definition", definition_}, {"command", {3}}}));
}

TEST_F(ApiTest, AWorkerTellsWhatItsTrialPrinted) {
  daemon_.ask("POST", "/v1/studies/s/ask", {{"worker", "w"}});
  nlohmann::json told = {{"trial", 1}, {"status", "failed"}, {"stderr", "oh\n"}};
  told["stdout"] = std::string(kTrialOutputLimitBytes + 1, 'x');
  expect_error(400, "POST", "/v1/studies/s/tell", told.dump());
  told["stdout"] = "hello\n";
  daemon_.ask("POST", "/v1/studies/s/tell", told);
  EXPECT_EQ(must(store_->trial_output(1)), (TrialOutput{"hello\n", "oh\n"}));
}

TEST_F(ApiTest, RefusesWrongQueriesAndUnknownThings) {
  expect_error(400, "GET", "/v1/configs/nokey");
  const std::string other = sample_key().replace(0, 1, sample_key()[0] == 'a' ? "b" : "a");
  expect_error(404, "GET", "/v1/configs/" + other);
  expect_error(404, "PUT", "/v1/configs/" + other + "/pin");
  for (const char* query : {"?wait=-1", "?wait=61", "?wait=x", "?wait="}) {
    expect_error(400, "GET", config_ + query);
  }
  for (const char* query : {"?limit=0", "?limit=10001", "?after=-1", "?after=1e3"}) {
    expect_error(400, "GET", std::string("/v1/audit") + query);
  }
  expect_error(400, "GET", "/v1/watch");
  expect_error(400, "GET", "/v1/watch?key=x");
  expect_error(404, "GET", "/v1/watch?job=nobody&key=" + sample_key());
  expect_error(400, "GET", "/v1/watch?job=a&key=" + other);
  expect_error(404, "POST", "/v1/reports", to_json(JobReport{.job = "nobody"}).dump());
  expect_error(404, "GET", "/v1/studies/none");
}

TEST_F(ApiTest, AJobWhoseKnobsCannotBeTunedIsRefusedByName) {
  const auto answer = [&](const std::vector<std::string>& knobs) {
    auto job = sample_job("b");
    job.knobs = knobs;
    const auto response = daemon_.call("POST", "/v1/jobs", to_json(job).dump());
    return std::to_string(response.status) + " " + *response.body;
  };
  EXPECT_THAT(answer({"nonsense"}),
              testing::AllOf(testing::StartsWith("400"), testing::HasSubstr("nonsense"),
                             testing::HasSubstr("bucket_bytes")));
  EXPECT_THAT(answer({"streams", "streams"}),
              testing::AllOf(testing::StartsWith("400"), testing::HasSubstr("streams")));
  EXPECT_THAT(answer({"bucket_bytes"}), testing::StartsWith("200"));
  EXPECT_EQ(daemon_.jobs.size(), 2u);
}

TEST_F(ApiTest, EtagsSayWhetherThereIsNews) {
  const auto version = std::to_string(promote(1 << 20));
  for (const auto& same : {"\"" + version + "\"", "W/\"" + version + "\"", std::string("*"),
                           "\"x\" ,\t\"" + version + "\""}) {
    EXPECT_EQ(status_of(config_, same), 304) << same;
  }
  for (const auto& other : {version, "\"" + version + "0\"", std::string("\"x\", W/\"y\""),
                            std::string(), std::string(",,")}) {
    EXPECT_EQ(status_of(config_, other), 200) << other;
  }
}

TEST_F(ApiTest, WaitsForAChangeAndThenAnswers) {
  const std::string target = config_ + "?wait=20";
  auto reply = get(target, "");
  ASSERT_TRUE(std::holds_alternative<AwaitEvent>(reply));
  EXPECT_EQ(std::get<AwaitEvent>(reply).timeout_ns, 20 * kSecondNs);
  const auto version = promote(1 << 20);
  daemon_.tick();
  daemon_.tick();
  EXPECT_GT(daemon_.feed.position(std::get<AwaitEvent>(reply).topic).sequence,
            std::get<AwaitEvent>(reply).seen);
  EXPECT_EQ(status_of(target, ""), 200);
  const auto etag = "\"" + std::to_string(version) + "\"";
  reply = get(target, etag);
  ASSERT_TRUE(std::holds_alternative<AwaitEvent>(reply));
  EXPECT_EQ(std::get<ServiceResponse>(get(target, etag, true)).status, 304);
}

TEST_F(ApiTest, WhatIsAnsweredAtOnceIsWhatIsAnsweredLater) {
  ServiceRequest request{.method = "GET", .target = config_};
  EXPECT_FALSE(daemon_.api.answer_at_once(request));
  const auto version = promote(1 << 20);
  for (const auto& etag : {std::string(), "\"" + std::to_string(version) + "\""}) {
    request.if_none_match = etag;
    const auto later = std::get<ServiceResponse>(daemon_.reply(request));
    const auto at_once = daemon_.api.answer_at_once(request);
    ASSERT_TRUE(at_once);
    const auto& soon = std::get<ServiceResponse>(*at_once);
    EXPECT_EQ(soon.status, later.status);
    EXPECT_EQ(soon.etag, later.etag);
    EXPECT_EQ(soon.body, later.body);
  }
  request.target += "?wait=1";
  EXPECT_FALSE(daemon_.api.answer_at_once(request));
}

TEST_F(ApiTest, HealthMetricsAndWatchesNeedNoWorker) {
  for (const char* target : {"/healthz", "/metrics"}) {
    const auto reply = daemon_.api.answer_at_once({.method = "GET", .target = target});
    ASSERT_TRUE(reply) << target;
    EXPECT_EQ(std::get<ServiceResponse>(*reply).status, 200);
  }
  const auto watch = daemon_.api.answer_at_once(
      {.method = "GET", .target = "/v1/watch?key=" + sample_key() + "&job=a"});
  ASSERT_TRUE(watch);
  EXPECT_NE(std::get<EventStream>(*watch).hold, nullptr);
  for (const char* target : {"/readyz", "/v1/jobs", "/v1/studies/s"}) {
    EXPECT_FALSE(daemon_.api.answer_at_once({.method = "GET", .target = target})) << target;
  }
  const auto labour_of = [&](const char* target) {
    return daemon_.api.labour_of({.method = "POST", .target = target});
  };
  EXPECT_EQ(labour_of("/v1/studies/s/ask"), RequestLabour::search);
  EXPECT_EQ(labour_of("/v1/simulate"), RequestLabour::browse);
  EXPECT_EQ(labour_of("/v1/reports"), RequestLabour::brief);
}

TEST_F(ApiTest, WhatIsFullSaysWhenToTryAgain) {
  Assembled daemon(*store_, clock_, {}, nullptr, {.pending_report_bytes = 0});
  daemon.ask("POST", "/v1/jobs", to_json(sample_job("a")));
  const auto response = daemon.call("POST", "/v1/reports", to_json(JobReport{.job = "a"}).dump());
  EXPECT_EQ(response.status, 503);
  EXPECT_GT(response.retry_after_seconds.value_or(0), 0);
}

TEST_F(ApiTest, AProfileIsAskedForByIdOrByAnUnambiguousName) {
  const nlohmann::json body = {{"iterations", 20}};
  auto other = sample_job("b");
  other.name = "bert";
  daemon_.ask("POST", "/v1/jobs", to_json(other));
  const auto by_id = daemon_.ask("POST", "/v1/jobs/a/profile", body);
  const auto by_name = daemon_.ask("POST", "/v1/jobs/bert/profile", body);
  EXPECT_EQ(by_id["job"], "a");
  EXPECT_EQ(by_name["job"], "b");
  EXPECT_EQ(by_name["iterations"], 20);
  EXPECT_EQ(by_name["connected"], false);
  EXPECT_GT(by_name["request"], by_id["request"]) << "the job takes up higher numbers";
  const auto rows = must(store_->audit({}));
  EXPECT_EQ(rows.back().action, "profile");
  EXPECT_EQ(rows.back().subject, sample_key());
  EXPECT_EQ(rows.back().detail["job"], "b");

  const auto message = [&](int status, const std::string& job) {
    const auto response = daemon_.call("POST", "/v1/jobs/" + job + "/profile", body.dump());
    EXPECT_EQ(response.status, status);
    return nlohmann::json::parse(*response.body)["error"]["message"].get<std::string>();
  };
  EXPECT_EQ(message(404, "c"), "no job has the id or the name \"c\"; there are a (gpt2), b (bert)");
  for (int i = 0; i < 30; ++i) {
    daemon_.ask("POST", "/v1/jobs", to_json(sample_job("c" + std::to_string(i))));
  }
  EXPECT_THAT(message(400, "gpt2"), testing::HasSubstr("31 jobs are named \"gpt2\""));
  EXPECT_THAT(message(404, "x"), testing::HasSubstr(" and 12 more"));
}

TEST_F(ApiTest, ARequestForAProfileWaitsForTheJobAndIsNobodyElses) {
  daemon_.ask("POST", "/v1/jobs", to_json(sample_job("b")));
  // Requested as by `hocket profile --store`. The job uses the daemon and receives only the newer
  // request.
  must(store_->request_profile({.job = "a", .iterations = 3, .actor = "ada"}));
  const auto asked = daemon_.ask("POST", "/v1/jobs/a/profile", {{"iterations", 20}});
  for (const auto& row : must(store_->profile_requests())) EXPECT_EQ(row.taken_by, "a");
  const auto told = [&](const std::string& job) {
    ServiceRequest request{.method = "GET",
                           .target = "/v1/watch?key=" + sample_key() + "&job=" + job};
    std::vector<std::string> events;
    const auto stream = std::get<EventStream>(daemon_.reply(request));
    for (const auto& topic : stream.topics) {
      const auto position = daemon_.feed.position(topic.name);
      if (position.newest && position.sequence > topic.seen)
        events.push_back(position.newest->type + " " + position.newest->data);
    }
    return events;
  };
  const std::string event =
      "profile " +
      to_json(DaemonMessage(ProfileMessage{asked["request"].get<std::int64_t>(), 20})).dump();
  EXPECT_EQ(told("a"), std::vector{event});
  EXPECT_EQ(told("a"), std::vector{event}) << "again after a reconnect";
  EXPECT_TRUE(told("b").empty());
  daemon_.ask("POST", "/v1/reports", to_json(JobReport{.job = "a", .ended = true}));
  daemon_.tick();
  daemon_.ask("POST", "/v1/jobs", to_json(sample_job("a")));
  EXPECT_TRUE(told("a").empty()) << "it was another job's";
}

TEST_F(ApiTest, JobsThatHaveEndedAreListedWithWhatCameOfThem) {
  daemon_.ask("POST", "/v1/jobs", to_json(sample_job("a")));
  EXPECT_TRUE(daemon_.ask("GET", "/v1/jobs/ended")["jobs"].empty());
  daemon_.ask("POST", "/v1/reports", to_json(JobReport{.job = "a", .step = 9, .ended = true}));
  daemon_.tick();
  EXPECT_TRUE(daemon_.ask("GET", "/v1/jobs")["jobs"].empty());
  const auto ended = daemon_.ask("GET", "/v1/jobs/ended")["jobs"].at(0);
  EXPECT_EQ(ended["job"], "a");
  EXPECT_EQ(ended["step"], 9);
  EXPECT_EQ(ended["key"], sample_key());
  EXPECT_FALSE(ended["was_silent"]);
}

TEST_F(ApiTest, AStreamBeginsAfterTheLastEventThatItsClientHasSeen) {
  const auto version = promote(1 << 20);
  daemon_.tick();
  const std::string target = "/v1/watch?key=" + sample_key();
  (void)get(target, "");
  daemon_.settle();
  const auto seen_after = [&](const std::string& last) {
    ServiceRequest request{.method = "GET", .target = target};
    request.last_event_id = last;
    return std::get<EventStream>(daemon_.reply(request)).topics.back().seen;
  };
  const auto newest = daemon_.feed.position(ConfigBoard::topic(sample_key())).sequence;
  EXPECT_GT(newest, 0u);
  for (const std::string& last : {std::to_string(version), std::to_string(version + 1)}) {
    EXPECT_EQ(seen_after(last), newest) << last;
  }
  for (const std::string& last :
       {std::to_string(version - 1), std::string("x"), std::string("-1"), std::string(30, '9')}) {
    EXPECT_EQ(seen_after(last), 0u) << last;
  }
}

TEST_F(ApiTest, DamagedBodiesAreAnsweredNeverMore) {
  const std::pair<std::string, std::pair<std::string, std::string>> calls[] = {
      {"POST",
       {"/v1/resolve", nlohmann::json{{"topology", to_json(sample_topology())},
                                      {"workload", to_json(sample_workload())}}
                           .dump()}},
      {"PUT", {config_, nlohmann::json{{"config", to_json(ScheduleConfig{})}}.dump()}},
      {"PUT", {config_ + "/pin", R"({"pinned":true,"version":1})"}},
      {"POST", {"/v1/jobs", to_json(sample_job("b", 0)).dump()}},
      {"POST", {"/v1/jobs/a/profile", nlohmann::json{{"iterations", 20}}.dump()}},
      {"POST", {"/v1/reports", to_json(JobReport{.job = "a", .iteration_ns = {5, 6}}).dump()}},
      {"POST", {"/v1/studies", nlohmann::json{{"definition", definition_}}.dump()}},
      {"POST", {"/v1/studies/s/ask", R"({"worker":"w","lease_ns":1000000000})"}},
      {"POST",
       {"/v1/studies/s/tell",
        R"({"trial":1,"status":"complete","measurements":{"objective":[1,2.5]}})"}}};
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto& [method, what] = calls[random() % std::size(calls)];
    const std::string body = mutate(what.second, random);
    SCOPED_TRACE(method + " " + what.first + " " + body);
    const auto response = daemon_.call(method, what.first, body);
    const auto document = nlohmann::json::parse(*response.body, nullptr, false);
    ASSERT_FALSE(document.is_discarded());
    EXPECT_LT(response.status, 500);
    EXPECT_EQ(response.status >= 400, document.contains("error"));
  }
}

}  // namespace
}  // namespace hocket
