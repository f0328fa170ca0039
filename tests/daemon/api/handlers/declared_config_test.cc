// Tests that configurations with fields that nobody declared are refused where they enter.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/daemon/assembled.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DeclaredConfig : public ::testing::Test {
 protected:
  /// Returns the status and the body.
  std::string answer(const std::string& method, const std::string& target,
                     const nlohmann::json& body) {
    const auto response = daemon_.call(method, target, body.dump());
    return std::to_string(response.status) + " " + *response.body;
  }

  static nlohmann::json config_with(const nlohmann::json& fields) {
    auto config = to_json(ScheduleConfig{});
    config.update(fields);
    return config;
  }

  static nlohmann::json job(const std::string& id) { return to_json(sample_job(id)); }

  SetClock clock_;
  std::unique_ptr<Store> store_ = open_store_in_memory([this] { return clock_.now; });
  Assembled daemon_{*store_, clock_};
};

const nlohmann::json kUndeclared[] = {
    {{"BASH_ENV", "$(touch x)"}},
    {{"FOO_FLAG", "1"}},
    {{"regions", {{"a", {{"LD_PRELOAD", "x.so"}}}}}},
    {{"job", {{"depth", 3}}}},
};

TEST_F(DeclaredConfig, AJobIsNotRegisteredWithWhatNobodyDeclared) {
  for (const auto& fields : kUndeclared) {
    auto running = job("a"), predicting = job("b");
    running["config"] = config_with(fields);
    EXPECT_THAT(answer("POST", "/v1/jobs", running),
                AllOf(HasSubstr("400 "), HasSubstr("config"), HasSubstr("knob")))
        << fields;
    predicting["predictions"] = {{{"config", config_with(fields)}, {"iteration_ns", 7}}};
    EXPECT_THAT(answer("POST", "/v1/jobs", predicting),
                AllOf(HasSubstr("400 "), HasSubstr("predictions[0]")))
        << fields;
  }
  EXPECT_THAT(daemon_.jobs.list(), IsEmpty());
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
}

TEST_F(DeclaredConfig, NothingElseIsPushedPreviewedOrSimulated) {
  daemon_.ask("POST", "/v1/jobs", job("a"));
  const std::string path = "/v1/configs/" + sample_key();
  StepDescription step;
  step.layers = {{"a", 4096, 1000, 2000}};
  EXPECT_THAT(answer("POST", "/v1/simulate", {{"step", to_json(step)}}), HasSubstr("200 "));
  for (const auto& fields : kUndeclared) {
    const auto config = config_with(fields);
    EXPECT_THAT(answer("PUT", path, {{"config", config}}), HasSubstr("400 ")) << fields;
    EXPECT_THAT(answer("POST", path + "/preview", {{"action", "push"}, {"config", config}}),
                HasSubstr("400 "))
        << fields;
    if (fields.contains("job")) continue;  // a simulation is of no job
    EXPECT_THAT(answer("POST", "/v1/simulate", {{"step", to_json(step)}, {"config", fields}}),
                HasSubstr("400 "))
        << fields;
  }
  EXPECT_THAT(must(store_->promotions({})), IsEmpty());
}

TEST_F(DeclaredConfig, AnAnswerSaysWhatItsStudyDeclares) {
  const auto study = must(store_->create_study(sample_study()));
  const auto row =
      must(store_->promote({.topology_id = must(store_->upsert_topology(sample_topology())),
                            .workload_id = must(store_->upsert_workload(sample_workload())),
                            .study_id = study.id,
                            .config = {{"X", 4}}}));
  const auto found = daemon_.ask("GET", "/v1/configs/" + sample_key());
  EXPECT_EQ(found["setting"], row.config);
  EXPECT_EQ(found["declared"]["parameters"][0],
            (nlohmann::json{{"name", "X"}, {"type", "int"}, {"low", 0}, {"high", 1'000'000}}));
}

}  // namespace
}  // namespace hocket
