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

Result<Trial> read_end(const nlohmann::json& document) {
  return read_json(document, read_ended_trial);
}

Trial sample_end() {
  Trial end{.id = 7, .worker = "h:1"};
  end.outcome = {.state = TrialState::complete,
                 .value = 0.1,
                 .spread = 1e-300,
                 .samples = {0.1, 1.0 / 3, 5},
                 .metrics = {{"wall_ns", {1e18 + 1}}},
                 .message = "ended early: \"slow\"\n"};
  for (int byte = 0; byte < 256; ++byte) end.outcome.output.stdout_text += static_cast<char>(byte);
  end.outcome.output.stderr_text = "größer";
  end.outcome.report.emplace();
  end.outcome.report->topology = sample_topology();
  end.outcome.report->workload = sample_workload();
  return end;
}

TEST(TrialMessages, AnEndArrivesWhole) {
  for (const bool has_others : {false, true}) {
    Trial end = sample_end();
    if (has_others) {
      end.outcome.metrics[metric_of_other(0)] = {4, 6};
      end.outcome.others = {5};
    }
    EXPECT_EQ(must(read_end(over_the_wire(ended_trial_json(end)))), end);
  }

  const Trial failed{
      .id = 1, .outcome = {.state = TrialState::timeout, .message = "too long"}, .worker = "w"};
  EXPECT_EQ(must(read_end(over_the_wire(ended_trial_json(failed)))), failed);
}

TEST(TrialMessages, TheLargestOutputOfATrialFits) {
  // As tuner/trial/process/capture.h leaves it.
  Trial end = sample_end();
  end.outcome.output.stdout_text =
      std::string(kTrialOutputLimitBytes, '\1') + "\n[123456789012345 bytes left out]\n";
  end.outcome.output.stderr_text = std::string(kTrialOutputLimitBytes, '\xff') + "\n[1 bytes]\n";
  const auto document = ended_trial_json(end);
  EXPECT_LT(message_text(document).size(), kMostEndedTrialBytes);
  EXPECT_EQ(must(read_end(over_the_wire(document))).outcome.output, end.outcome.output);
}

TEST(TrialMessages, OfTooManyMeasurementsEqualSharesAreKeptAndTheMessageSaysSo) {
  Trial end = sample_end();
  std::vector<double> samples, times;
  for (int i = 0; i < 100'000; ++i) {
    samples.push_back(i + 0.123456789);
    times.push_back(2.0 * i);
  }
  end.outcome.samples = samples;
  end.outcome.metrics = {{"iteration_ns", times}, {"wall_ns", {9}}};
  const Trial kept = thinned_trial(end);
  EXPECT_LE(message_text(ended_trial_json(kept)).size(), kMostEndedTrialBytes);
  const auto& objective = kept.outcome.samples;
  EXPECT_EQ(objective.size(), 25'000u) << "as many as fit";
  EXPECT_EQ(objective[1], samples[4]);
  EXPECT_EQ(kept.outcome.metrics.at("iteration_ns")[1], times[4]);
  EXPECT_EQ(kept.outcome.metrics.at("wall_ns"), (std::vector<double>{9}));
  EXPECT_EQ(kept.outcome.value, end.outcome.value);
  EXPECT_THAT(kept.outcome.message, HasSubstr(end.outcome.message + "; kept 1 of every 4 "));
  EXPECT_EQ(thinned_trial(kept), kept) << "what fits stays as it is";
  EXPECT_EQ(thinned_trial(end, 10).outcome.samples.size(), 1u) << "it ends";
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

  answer.trial =
      Trial{.id = 8, .number = 3, .phase = TrialPhase::confirm, .params = {{"a", std::int64_t{2}}}};
  answer.definition = {.space = small_study_space(),
                       .objective = *parse_objective("max:regex:tok/s=([0-9.]+)"),
                       .working_directory = "/",
                       .workers = 0};
  answer.incumbent = {0.1, 2};
  answer.has_report = true;
  other = must(claim_answer_from_json(over_the_wire(to_json(answer))));
  EXPECT_EQ(other.study.command, answer.study.command);
  ASSERT_TRUE(other.trial);
  EXPECT_EQ(*other.trial, *answer.trial);
  EXPECT_EQ(other.definition, answer.definition);
  EXPECT_EQ(other.incumbent, answer.incumbent);
  EXPECT_TRUE(other.has_report);
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
    auto document = ended_trial_json(sample_end());
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
  answer.trial = Trial{.id = 1, .params = {{"a", std::int64_t{2}}}};
  answer.definition = {.space = small_study_space(),
                       .objective = *parse_objective("wall"),
                       .working_directory = "/"};
  const std::string answered = message_text(to_json(answer)),
                    ended = message_text(ended_trial_json(sample_end()));
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
