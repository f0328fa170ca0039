// Clients of earlier versions against this daemon: what they said and were answered is stored
// (tests/daemon/conversations), one file for each version of the interface that is spoken.
//
// HOCKET_RECORD=tests/daemon/conversations/N.json makes the file of this version.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/daemon/assembled.h"
#include "tests/store/fixtures.h"
#include "tuner/space/parameter_syntax.h"
#include "tuner/study/study_definition.h"

namespace hocket {
namespace {

using nlohmann::json;

/// Returns the clients' messages, in order.
std::vector<json> spoken() {
  const json who = {{"topology", to_json(sample_topology())},
                    {"workload", to_json(sample_workload())}};
  const std::string key = "/v1/configs/" + sample_key();
  StudyDefinition study{.space = must(Space::make({must(parse_parameter("X=int:1..100"))})),
                        .objective = must(parse_objective("report"))};
  study.method = SearchMethod::random;
  study.trials = 5;
  const auto say = [](const char* method, const std::string& target, json body = nullptr) {
    return json{{"method", method}, {"target", target}, {"body", std::move(body)}};
  };
  ScheduleConfig config;
  config.partition_bytes = 1 << 20;
  JobReport report{.job = "a", .version = 1, .step = 12, .iteration_ns = {1'000, 2'000}};
  JobReport baseline{.job = "a", .step = 11, .iteration_ns = std::vector<std::int64_t>(10, 1'000)};
  report.outcomes = {{.version = 1, .status = ChangeStatus::applied, .message = "faster"}};
  return {
      say("GET", "/healthz"),
      say("GET", "/readyz"),
      say("POST", "/v1/resolve", who),
      say("POST", "/v1/studies",
          {{"study", "shared"}, {"definition", to_json(study)}, {"command", {"train"}}}),
      say("POST", "/v1/studies/shared/ask", {{"worker", "w"}, {"lease_ns", 60'000'000'000}}),
      say("POST", "/v1/studies/shared/renew", {{"trial", 1}, {"lease_ns", 60'000'000'000}}),
      say("POST", "/v1/studies/shared/tell",
          {{"trial", 1}, {"status", "complete"}, {"measurements", {{"objective", {1.0, 2.0}}}}}),
      say("GET", "/v1/studies/shared"),
      say("GET", "/v1/studies/shared/trials"),
      say("POST", "/v1/jobs", to_json(sample_job("a"))),
      say("GET", "/v1/watch?key=" + sample_key() + "&job=a"),
      say("POST", "/v1/reports", to_json(baseline)),
      say("PUT", key, {{"config", to_json(config)}, {"note", "mine"}}),
      say("POST", "/v1/reports", to_json(report)),
      say("GET", key),
      say("POST", "/v1/resolve", who),
      say("GET", "/v1/jobs"),
      say("GET", key + "/versions"),
      say("PUT", key + "/pin", {{"version", 1}}),
      say("PUT", key + "/freeze", {{"frozen", false}}),
      say("PUT", key + "/rollback"),
      say("GET", "/v1/configs"),
      say("PUT", "/v1/meetings/nccl-1", {{"text", "here"}}),
      say("GET", "/v1/meetings/nccl-1"),
      say("GET", "/v1/audit"),
      say("GET", "/v1/configs/unknown"),
      say("POST", "/v1/reports", {{"job", 7}}),
  };
}

class Conversation {
 public:
  Conversation() { clock_.now = 1'700'000'000 * kSecondNs; }

  /// Returns what the daemon answers.
  json answer(const json& said) {
    const std::string body = said["body"].is_null() ? "" : said["body"].dump();
    if (said["target"].get<std::string>().starts_with("/v1/watch")) {
      ServiceReply reply = daemon_.reply({.method = "GET", .target = said["target"]});
      daemon_.settle();
      if (const auto* stream = std::get_if<EventStream>(&reply)) holds_.push_back(stream->hold);
      return {{"status", std::holds_alternative<EventStream>(reply) ? 200 : 500},
              {"body", json::object()}};
    }
    const ServiceResponse response = daemon_.call(said["method"], said["target"], body);
    return {{"status", response.status}, {"body", json::parse(*response.body)}};
  }

  /// Returns the newest event of each kind that a job has been sent.
  json events() {
    json all = json::array();
    const std::uint64_t number = daemon_.jobs.find("a").value_or(RunningJob{}).number;
    for (const std::string& topic : {ConfigBoard::topic(sample_key()), job_config_topic(number),
                                     job_candidate_topic(number)}) {
      const auto newest = daemon_.feed.position(topic).newest;
      if (!newest) continue;
      all.push_back({{"type", newest->type}, {"data", json::parse(newest->data)}});
      if (newest->id) all.back()["id"] = *newest->id;
    }
    return all;
  }

 private:
  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
  std::vector<std::shared_ptr<const StreamHold>> holds_;
};

/// Checks that `now` has all that `before` had, of the same type. It may have more.
void expect_covers(const json& now, const json& before, const std::string& where) {
  if (before.is_null()) return;
  if (before.is_number()) {
    EXPECT_TRUE(now.is_number()) << where << " was a number and is " << now.dump();
    return;
  }
  ASSERT_EQ(now.type(), before.type()) << where << " is " << now.dump();
  if (before.is_object()) {
    for (const auto& [name, value] : before.items()) {
      ASSERT_TRUE(now.contains(name)) << where << " has lost " << name;
      expect_covers(now[name], value, where + "." + name);
    }
  } else if (before.is_array() && !before.empty()) {
    ASSERT_FALSE(now.empty()) << where << " is empty";
    expect_covers(now[0], before[0], where + "[0]");
  }
}

std::vector<std::filesystem::path> stored_conversations() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(HOCKET_CONVERSATIONS))
    files.push_back(file.path());
  return files;
}

json stored(const std::filesystem::path& file) {
  std::ifstream in(file);
  return json::parse(in);
}

TEST(Conversations, AreRecordedOnRequest) {
  const char* const path = std::getenv("HOCKET_RECORD");
  Conversation conversation;
  json said = json::array();
  for (const json& one : spoken())
    said.push_back({{"said", one}, {"answered", conversation.answer(one)}});
  const json document = {{"said", said}, {"events", conversation.events()}};
  EXPECT_EQ(document["events"].size(), 2u) << document["events"].dump();
  if (path != nullptr) std::ofstream(path) << document.dump(1) << '\n';
}

TEST(Conversations, ClientsOfEarlierVersionsAreAnsweredAsBefore) {
  ASSERT_FALSE(stored_conversations().empty());
  for (const auto& file : stored_conversations()) {
    SCOPED_TRACE(file);
    Conversation conversation;
    const json document = stored(file);
    for (const json& one : document["said"]) {
      SCOPED_TRACE(one["said"]["method"].get<std::string>() + " " +
                   one["said"]["target"].get<std::string>());
      const json answered = conversation.answer(one["said"]);
      EXPECT_EQ(answered["status"], one["answered"]["status"]) << answered["body"].dump();
      expect_covers(answered["body"], one["answered"]["body"], "the answer");
    }
    const json events = conversation.events();
    ASSERT_EQ(events.size(), document["events"].size());
    for (std::size_t i = 0; i < events.size(); ++i)
      expect_covers(events[i], document["events"][i], "event " + std::to_string(i));
  }
}

// A client that is newer than the daemon says more; the daemon takes what it knows.
TEST(Conversations, FieldsThatTheDaemonDoesNotKnowAreIgnored) {
  for (const auto& file : stored_conversations()) {
    SCOPED_TRACE(file);
    Conversation conversation;
    const json document = stored(file);
    for (json one : document["said"]) {
      if (one["said"]["body"].is_object()) one["said"]["body"]["of_a_later_version"] = {{"a", 1}};
      const json answered = conversation.answer(one["said"]);
      EXPECT_EQ(answered["status"], one["answered"]["status"])
          << one["said"].dump() << ": " << answered["body"].dump();
    }
  }
}

}  // namespace
}  // namespace hocket
