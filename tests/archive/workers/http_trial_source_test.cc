#include "archive/workers/http_trial_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "tests/archive/workers/opened_source.h"
#include "tests/archive/workers/shared_study.h"
#include "tests/client/fake_daemon.h"

namespace hocket {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const WorkerClaim kClaim{.lease = {"w", "h", 30 * kSecondNs}};

TEST(HttpTrialSource, SaysWhichDaemonRefusesAndWhatToDo) {
  FakeDaemon daemon(FakeDaemon::answering([](const FakeDaemon::Request&) {
    return http_answer(401, R"({"error":{"code":"unauthorized","message":"a token is needed"}})");
  }));
  HttpTrialSource source(daemon.access());
  const auto study = source.find("shared");
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(study.error().message,
              AllOf(HasSubstr(daemon.url()), HasSubstr("a token is needed")));
  EXPECT_EQ(source.claim(1, kClaim).error().code, ErrorCode::invalid_argument);
}

TEST(HttpTrialSource, ADaemonThatIsNotThereOrCannotUseItsStoreMayBeAskedAgain) {
  std::atomic<int> status = 503;
  auto daemon = std::make_unique<FakeDaemon>(
      FakeDaemon::answering([&](const FakeDaemon::Request&) { return http_answer(status, "{}"); }));
  HttpTrialSource source(daemon->access());
  for (const int answered : {503, 500, 429, 404, 200}) {
    status = answered;
    const auto code = source.claim(1, kClaim).error().code;
    EXPECT_EQ(code, answered == 200 ? ErrorCode::invalid_argument : ErrorCode::unavailable)
        << answered;
  }
  daemon.reset();
  EXPECT_EQ(source.claim(1, kClaim).error().code, ErrorCode::unavailable);
  EXPECT_EQ(source.renew(1, kClaim.lease).error().code, ErrorCode::unavailable);
}

TEST(HttpTrialSource, ARenewalOfAnotherThreadDoesNotWaitForAClaim) {
  Inbox<std::string> renewed;
  FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      const bool is_renewal = request->says("/workers/renew");
      // The claim is answered once the renewal was.
      if (!is_renewal && !renewed.wait()) return;
      if (!peer.write(http_answer(
              200, is_renewal ? R"({"worker":"w"})"
                              : R"({"id":1,"study":"s","state":"running","longest_trial_ns":0})")))
        return;
      if (is_renewal) renewed.add("renewed");
    }
  });
  HttpTrialSource source(daemon.access());
  std::thread other([&] { EXPECT_TRUE(source.renew(1, kClaim.lease)); });
  EXPECT_TRUE(source.claim(1, kClaim));
  other.join();
}

TEST(HttpTrialSource, AnEndThatIsTooLongForADaemonArrivesShortened) {
  SharedStudy study;
  const TrialRow trial = study.offer({{"a", std::int64_t{1}}, {"b", std::int64_t{9}}});
  OpenedSource source(SourceKind::daemon, *study.store);
  ASSERT_TRUE(source->claim(study.id(), kClaim));
  Trial end{.id = trial.id, .outcome = {.state = TrialState::complete, .value = 5}, .worker = "w"};
  for (int i = 0; i < 200'000; ++i) end.outcome.samples.push_back(i + 0.123456789);
  for (int times = 0; times < 2; ++times) {
    const auto ended = source->finish(study.id(), end);
    ASSERT_TRUE(ended) << ended.error().message;
  }
  const TrialRow stored = study.trials()[0];
  EXPECT_EQ(stored.value, 5);
  EXPECT_EQ(stored.measurements.at("objective").size(), 50'000u);
  EXPECT_THAT(stored.message, HasSubstr("kept 1 of every 4 measurements"));
}

TEST(HttpTrialSource, ReadsNothingThatIsNotAnAnswer) {
  FakeDaemon daemon(FakeDaemon::answering(
      [](const FakeDaemon::Request&) { return http_answer(200, R"({"id":1,"study":"s"})"); }));
  HttpTrialSource source(daemon.access());
  const auto answer = source.claim(1, kClaim);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, AllOf(HasSubstr(daemon.url()), HasSubstr("state")));
  EXPECT_FALSE(source.find("s"));
}

}  // namespace
}  // namespace hocket
