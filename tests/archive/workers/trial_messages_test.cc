#include "archive/workers/trial_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "tests/mutate.h"
#include "tests/store/fixtures.h"
#include "tests/tuner/study/study_fixture.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;

nlohmann::json over_the_wire(const nlohmann::json& document) {
  return must(parse_object(message_text(document), "message"));
}

Result<TrialEnd> read_end(const nlohmann::json& document) {
  return read_json(document, read_trial_end);
}

TrialEnd sample_end() {
  TrialEnd end{.trial_id = 7};
  end.result = {.state = TrialState::complete,
                .value = 0.1,
                .spread = 1e-300,
                .message = "ended early: \"slow\"\n",
                .measurements = {{"objective", {0.1, 1.0 / 3, 5}}, {"wall_ns", {1e18 + 1}}},
                .worker = "h:1"};
  for (int byte = 0; byte < 256; ++byte) end.result.output.stdout_text += static_cast<char>(byte);
  end.result.output.stderr_text = "größer";
  end.report.emplace();
  end.report->topology = sample_topology();
  end.report->workload = sample_workload();
  return end;
}

TEST(TrialMessages, AnEndArrivesWhole) {
  const TrialEnd end = sample_end();
  const auto read = must(read_end(over_the_wire(to_json(end))));
  EXPECT_EQ(read.trial_id, end.trial_id);
  EXPECT_EQ(read.result.state, end.result.state);
  EXPECT_EQ(read.result.value, end.result.value);
  EXPECT_EQ(read.result.spread, end.result.spread);
  EXPECT_EQ(read.result.message, end.result.message);
  EXPECT_EQ(read.result.measurements, end.result.measurements);
  EXPECT_EQ(read.result.output, end.result.output);
  EXPECT_EQ(read.result.worker, end.result.worker);
  EXPECT_EQ(read.report->topology, end.report->topology);
  EXPECT_EQ(read.report->workload, end.report->workload);

  const TrialEnd failed{
      .trial_id = 1,
      .result = {.state = TrialState::timeout, .message = "too long", .worker = "w"}};
  const auto read_failed = must(read_end(over_the_wire(to_json(failed))));
  EXPECT_EQ(read_failed.result.state, TrialState::timeout);
  EXPECT_FALSE(read_failed.result.value || read_failed.result.spread || read_failed.report);
}

TEST(TrialMessages, TheLargestOutputOfATrialFits) {
  // As tuner/trial/process/capture.h leaves it.
  TrialEnd end = sample_end();
  end.result.output.stdout_text =
      std::string(kTrialOutputLimitBytes, '\1') + "\n[123456789012345 bytes left out]\n";
  end.result.output.stderr_text = std::string(kTrialOutputLimitBytes, '\xff') + "\n[1 bytes]\n";
  const auto document = to_json(end);
  EXPECT_LT(message_text(document).size(), kMostTrialEndBytes);
  EXPECT_EQ(must(read_end(over_the_wire(document))).result.output, end.result.output);
}

TEST(TrialMessages, OfTooManyMeasurementsEqualSharesAreKeptAndTheMessageSaysSo) {
  TrialEnd end = sample_end();
  std::vector<double> samples, times;
  for (int i = 0; i < 100'000; ++i) {
    samples.push_back(i + 0.123456789);
    times.push_back(2.0 * i);
  }
  end.result.measurements = {{"objective", samples}, {"iteration_ns", times}, {"wall_ns", {9}}};
  const TrialEnd kept = fitted(end);
  EXPECT_LE(message_text(to_json(kept)).size(), kMostTrialEndBytes);
  const auto& objective = kept.result.measurements.at("objective");
  EXPECT_EQ(objective.size(), 25'000u) << "as many as fit";
  EXPECT_EQ(objective[1], samples[4]);
  EXPECT_EQ(kept.result.measurements.at("iteration_ns")[1], times[4]);
  EXPECT_EQ(kept.result.measurements.at("wall_ns"), (std::vector<double>{9}));
  EXPECT_EQ(kept.result.value, end.result.value);
  EXPECT_THAT(kept.result.message, HasSubstr(end.result.message + "; kept 1 of every 4 "));
  EXPECT_EQ(fitted(kept).result.message, kept.result.message) << "what fits stays as it is";
  EXPECT_EQ(fitted(end, 10).result.measurements.at("objective").size(), 1u) << "it ends";
}

TEST(TrialMessages, AClaimAndItsAnswerArriveWhole) {
  WorkerClaim claim{.lease = {"w", "h", 30'000'000'000}, .time_left_ns = -5};
  WorkerClaim read = must(read_json(over_the_wire(to_json(claim)), read_worker_claim));
  EXPECT_EQ(read.lease.worker, "w");
  EXPECT_EQ(read.lease.host, "h");
  EXPECT_EQ(read.lease.lease_ns, 30'000'000'000);
  EXPECT_EQ(read.time_left_ns, -5);
  claim.time_left_ns.reset();
  read = must(read_json(over_the_wire(to_json(claim)), read_worker_claim));
  EXPECT_FALSE(read.time_left_ns);

  ClaimAnswer answer{.longest_trial_ns = 12};
  answer.study.id = 3;
  answer.study.name = "s-1";
  answer.study.state = StudyState::interrupted;
  answer.study.command = {"sh", "-c", "echo \"ü\""};
  auto other = must(claim_answer_from_json(over_the_wire(to_json(answer))));
  EXPECT_EQ(other.study.id, 3);
  EXPECT_EQ(other.study.name, "s-1");
  EXPECT_EQ(other.study.state, StudyState::interrupted);
  EXPECT_EQ(other.longest_trial_ns, 12);
  EXPECT_FALSE(other.trial);

  ClaimedTrial trial{.definition = {.space = small_study_space(),
                                    .objective = *parse_objective("max:regex:tok/s=([0-9.]+)"),
                                    .working_directory = "/",
                                    .workers = 0}};
  trial.row.id = 8;
  trial.row.number = 4;
  trial.row.phase = TrialPhase::confirm;
  trial.row.params = {{"a", 2}};
  trial.incumbent = {0.1, 2};
  trial.has_report = true;
  answer.trial = trial;
  other = must(claim_answer_from_json(over_the_wire(to_json(answer))));
  EXPECT_EQ(other.study.command, answer.study.command);
  ASSERT_TRUE(other.trial);
  EXPECT_EQ(other.trial->row, trial.row);
  EXPECT_EQ(other.trial->definition, trial.definition);
  EXPECT_EQ(other.trial->incumbent, trial.incumbent);
  EXPECT_TRUE(other.trial->has_report);
}

TEST(TrialMessages, BytesAreTextAndBytesAgain) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 20, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    EXPECT_EQ(must(text_bytes(bytes_text(bytes))), bytes);
  }
  EXPECT_EQ(bytes_text("plain"), "plain");
  EXPECT_EQ(bytes_text("\xe9"), "é");
  for (const std::string wrong : {"€", "\xc2", "\xff", "a\xc4\x80"})
    EXPECT_FALSE(text_bytes(wrong)) << wrong;
}

TEST(TrialMessages, WhatIsWrongIsRefusedWithItsName) {
  const auto refusal = [](nlohmann::json changes) {
    auto document = to_json(sample_end());
    document.update(changes);
    const auto read = read_end(document);
    return read ? "accepted" : read.error().message;
  };
  EXPECT_EQ(refusal(nlohmann::json::object()), "accepted");
  EXPECT_THAT(refusal({{"status", "running"}}), HasSubstr("status"));
  EXPECT_THAT(refusal({{"worker", ""}}), HasSubstr("worker"));
  EXPECT_THAT(refusal({{"trial", 0}}), HasSubstr("trial"));
  EXPECT_THAT(refusal({{"measurements", {{"m", {1, "x"}}}}}), HasSubstr("measurements"));
  EXPECT_THAT(refusal({{"stdout", "€"}}), HasSubstr("U+00FF"));
  EXPECT_THAT(refusal({{"stderr", std::string(70'000, 'x')}}), HasSubstr("stderr"));
  EXPECT_THAT(refusal({{"report", {{"topology", 1}}}}), HasSubstr("topology"));
}

TEST(TrialMessages, AStudyOfADaemonThatKnowsNoWorkersIsRefusedWithTheRemedy) {
  const auto study = study_from_json({{"study", "s"}, {"state", "running"}});
  ASSERT_FALSE(study);
  EXPECT_THAT(study.error().message, HasSubstr("start one of this version"));
}

TEST(TrialMessages, MutatedMessagesAreReadOrRefused) {
  ClaimAnswer answer;
  answer.study.id = 1;
  answer.trial = ClaimedTrial{.definition = {.space = small_study_space(),
                                             .objective = *parse_objective("wall"),
                                             .working_directory = "/"}};
  const std::string answered = message_text(to_json(answer)),
                    ended = message_text(to_json(sample_end()));
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const auto said = parse_object(mutate(round % 2 ? answered : ended, random), "message");
    if (!said) continue;
    (void)claim_answer_from_json(*said);
    (void)study_from_json(*said);
    (void)read_end(*said);
    (void)read_json(*said, read_worker_claim);
  }
}

}  // namespace
}  // namespace hocket
