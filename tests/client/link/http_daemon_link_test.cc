#include "client/link/http_daemon_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "core/base/fingerprint.h"
#include "core/base/json.h"
#include "core/protocol/config_key.h"
#include "tests/client/fake_daemon.h"

namespace hocket {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::int64_t kTokenHourNs = 3'600'000'000'000;

std::string link_key_text() {
  return to_string(ConfigKey{fingerprint_of({{"a", 1}}), fingerprint_of({{"b", 1}})});
}

std::string event_text(const DaemonMessage& message) {
  std::string text = "event: " + std::string(type_of(message)) + "\n";
  if (const auto* const config = std::get_if<ConfigMessage>(&message))
    text += "id: " + std::to_string(config->version) + "\n";
  return text + "data: " + to_json(message).dump() + "\n\n";
}

ConfigMessage config_message(std::int64_t version) {
  return {version, {}, "study s"};
}

/// A daemon that knows only the jobs registered since its last restart.
class JobDaemon {
 public:
  using Stream = std::function<void(FakeDaemon::Peer&)>;

  explicit JobDaemon(Stream stream = [](auto& peer) { peer.wait_until_gone(); })
      : stream_(std::move(stream)), daemon_([this](FakeDaemon::Peer& peer) { serve(peer); }) {}

  void restart() { known_ = false; }

  DaemonLinkOptions options() {
    DaemonLinkOptions options{.daemon = daemon_.access(), .job = {.id = "job-1"}};
    options.warn = [this](const std::string& message) { warnings.add(message); };
    options.backoff = {.first_ns = 1'000'000, .most_ns = 2'000'000};
    options.request_timeout_ns = options.flush_timeout_ns = 20'000'000'000;
    return options;
  }

  Inbox<json> registered, reports;
  Inbox<std::string> watched, warnings;  ///< watched: heads of requests

 private:
  void serve(FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->is("GET /v1/watch?") && known_) {
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        watched.add(request->head);
        return stream_(peer);
      }
      peer.write(answer(*request));
    }
  }

  std::string answer(const FakeDaemon::Request& request) {
    if (request.is("POST /v1/jobs ")) {
      known_ = true;
      registered.add(parse_object(request.body, "job").value());
      return http_answer(200, json{{"key", link_key_text()}}.dump());
    }
    if (!known_) return http_answer(404, R"({"error":{"message":"unknown job"}})");
    if (request.is("POST /v1/reports ")) {
      reports.add(parse_object(request.body, "report").value());
      return http_answer(200, "{}");
    }
    return http_answer(400, "{}");
  }

  const Stream stream_;
  std::atomic<bool> known_ = false;
  FakeDaemon daemon_;
};

/// Returns the next message of the link; waits for it without a limit.
DaemonMessage next_message(DaemonLink& link) {
  for (;;) {
    if (auto message = link.take()) return *message;
    std::this_thread::yield();
  }
}

/// Returns the link's standing once it is in `state`.
DaemonStanding standing_in(DaemonStanding::State state, const DaemonLink& link) {
  for (;;) {
    auto standing = link.standing();
    if (standing.state == state) return standing;
    std::this_thread::yield();
  }
}

JobReport iterations(std::vector<std::int64_t> times_ns) {
  return {.job = "job-1", .iteration_ns = std::move(times_ns)};
}

JobReport outcome(std::int64_t trial) {
  return {.job = "job-1", .outcomes = {{.trial = trial}}};
}

auto has_trial(int trial) {
  return [trial](const json& report) {
    for (const auto& one : report["outcomes"]) {
      if (one["trial"] == trial) return true;
    }
    return false;
  };
}

TEST(HttpDaemonLink, SaysWhetherTheDaemonKnowsTheJob) {
  std::atomic<bool> serves = false;
  FakeDaemon daemon([&](FakeDaemon::Peer& peer) {
    while (const auto request = peer.read()) {
      if (!serves) {
        // As from a server that is none of hocket's.
        peer.write(http_answer(404, "<html>"));
      } else if (request->is("POST /v1/jobs ")) {
        peer.write(http_answer(200, json{{"key", link_key_text()}}.dump()));
      } else {
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        return;
      }
    }
  });
  DaemonLinkOptions options{.daemon = daemon.access(), .job = {.id = "job-1"}};
  options.backoff = {.first_ns = 1'000'000, .most_ns = 2'000'000};
  const auto link = open_daemon_link(std::move(options));
  const auto away = standing_in(DaemonStanding::State::away, *link);
  EXPECT_THAT(away.why, HasSubstr("404"));
  serves = true;
  EXPECT_EQ(standing_in(DaemonStanding::State::knows, *link).why, "");
}

TEST(HttpDaemonLink, RegistersAndGivesTheNewestMessageOfEachType) {
  JobDaemon daemon([&](FakeDaemon::Peer& peer) {
    const std::string text = event_text(config_message(12)) + ": ping\n\n" +
                             event_text(CandidateMessage{4, {}}) + event_text(config_message(13)) +
                             event_text(CandidateMessage{5, {}});
    for (const char c : text) peer.write({&c, 1});
    peer.wait_until_gone();
  });
  const auto link = open_daemon_link(daemon.options());
  std::set<std::int64_t> versions, trials;
  // The last message of each type arrives in any case, and a configuration before a candidate that
  // arrived together with it.
  while (!versions.contains(13) || !trials.contains(5)) {
    const DaemonMessage message = next_message(*link);
    if (const auto* config = std::get_if<ConfigMessage>(&message)) versions.insert(config->version);
    if (const auto* candidate = std::get_if<CandidateMessage>(&message))
      trials.insert(candidate->trial);
  }
  EXPECT_EQ(link->take(), std::nullopt);
  const auto job = daemon.registered.wait().value();
  EXPECT_EQ(job_description_from_json(job).value().id, "job-1");
  EXPECT_THAT(daemon.watched.wait().value(), HasSubstr("key=" + link_key_text() + "&job=job-1 "));
}

TEST(HttpDaemonLink, AfterABreakItRegistersWithWhatItRunsAndAsksForWhatIsNewer) {
  std::atomic<int> streams = 0;
  Inbox<int> seen;
  JobDaemon daemon([&](FakeDaemon::Peer& peer) {
    if (++streams == 1) {
      peer.write(event_text(config_message(12)));
      seen.wait();
    } else {
      peer.wait_until_gone();
    }
  });
  const auto link = open_daemon_link(daemon.options());
  next_message(*link);
  ScheduleConfig config;
  config.streams = 7;
  link->update(config, 12);
  seen.add(1);
  EXPECT_TRUE(daemon.registered.wait(
      [](const json& job) { return job["version"] == 12 && job["config"]["streams"] == 7; }));
  EXPECT_TRUE(daemon.watched.wait([](const std::string& head) {
    return head.find("Last-Event-ID: 12\r\n") != std::string::npos;
  }));
}

TEST(HttpDaemonLink, ARequestForAProfileIsGivenOnceHoweverOftenItIsRepeated) {
  std::atomic<int> streams = 0;
  Inbox<int> seen;
  JobDaemon daemon([&](FakeDaemon::Peer& peer) {
    peer.write(event_text(ProfileMessage{7, 20}));
    if (++streams == 1) {
      seen.wait();
      return;
    }
    peer.write(event_text(ProfileMessage{8, 5}));
    peer.wait_until_gone();
  });
  const auto link = open_daemon_link(daemon.options());
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{7, 20}));
  seen.add(1);
  EXPECT_EQ(next_message(*link), DaemonMessage(ProfileMessage{8, 5})) << "and not 7 again";
}

TEST(HttpDaemonLink, ADaemonThatWasRestartedIsToldTheJobAgainAndThenTheReport) {
  JobDaemon daemon;
  const auto link = open_daemon_link(daemon.options());
  ASSERT_TRUE(daemon.watched.wait());
  ASSERT_TRUE(daemon.registered.wait());
  daemon.restart();
  link->report(outcome(4));
  EXPECT_TRUE(daemon.registered.wait());
  EXPECT_TRUE(daemon.reports.wait(has_trial(4)));
}

TEST(HttpDaemonLink, OutcomesAreSentAtOnceWithTheIterationsBeforeThem) {
  JobDaemon daemon;
  auto options = daemon.options();
  options.report_interval_ns = kTokenHourNs;
  const auto link = open_daemon_link(options);
  link->report(iterations({1, 2}));
  EXPECT_EQ(daemon.reports.wait().value()["iteration_ns"], json({1, 2}));
  link->report(iterations({3}));  // due in an hour
  link->report(iterations({4}));
  link->report(outcome(5));
  const auto report = daemon.reports.wait().value();
  EXPECT_TRUE(has_trial(5)(report));
  EXPECT_EQ(report["iteration_ns"], json({3, 4}));
}

TEST(HttpDaemonLink, NewsThatWaitAreSentAtTheEnd) {
  auto end = iterations({3});
  end.ended = true;
  const auto has_ended = [](const json& report) { return report["ended"] == true; };
  const std::pair<JobReport, std::function<bool(const json&)>> news[] = {{outcome(6), has_trial(6)},
                                                                         {end, has_ended}};
  for (const auto& [report, is_it] : news) {
    JobDaemon daemon;
    auto options = daemon.options();
    options.report_interval_ns = kTokenHourNs;
    auto link = open_daemon_link(options);
    link->report(iterations({1}));
    ASSERT_TRUE(daemon.reports.wait());
    link->report(iterations({2}));
    link->report(report);
    link.reset();
    EXPECT_TRUE(daemon.reports.wait(is_it));
  }
}

TEST(HttpDaemonLink, AStreamThatEndsWithTheJobIsNoLoss) {
  std::promise<void> job_ended;
  JobDaemon daemon([ended = job_ended.get_future().share()](auto&) { ended.wait(); });
  Inbox<std::string> first;
  auto options = daemon.options();
  options.warn = [&](const std::string& message) { first.add(message); };
  options.start_thread = [&](auto work) {
    return std::thread([&first, work] {
      work();
      first.add("watches no longer");
    });
  };
  const auto link = open_daemon_link(options);
  ASSERT_TRUE(daemon.watched.wait());
  auto end = iterations({});
  end.ended = true;
  link->report(end);
  ASSERT_TRUE(daemon.reports.wait());
  job_ended.set_value();
  EXPECT_EQ(first.wait(), "watches no longer");
}

TEST(HttpDaemonLink, AJobThatIsRefusedGoesOnAndSaysSoOnce) {
  Inbox<std::string> asked;
  std::atomic<int> warnings = 0;
  Inbox<std::string> texts;
  const FakeDaemon daemon(FakeDaemon::answering([&](const FakeDaemon::Request& request) {
    asked.add(request.head);
    return http_answer(400, R"({"error":{"message":"field \"config.FOO\": no knob is named so"}})");
  }));
  DaemonLinkOptions options{.daemon = daemon.access(), .job = {.id = "job-1"}};
  options.backoff = {.first_ns = 1'000'000, .most_ns = 2'000'000};
  options.request_timeout_ns = options.flush_timeout_ns = 20'000'000'000;
  options.warn = [&](const std::string& message) {
    ++warnings;
    texts.add(message);
  };
  auto link = open_daemon_link(options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(asked.wait());
  EXPECT_EQ(link->take(), std::nullopt);
  link.reset();
  EXPECT_EQ(warnings, 1);
  const auto text = texts.wait().value();
  EXPECT_THAT(text, HasSubstr("config.FOO"));
  EXPECT_THAT(text, HasSubstr("the job goes on"));
}

TEST(HttpDaemonLink, AStreamThatIsSilentIsOpenedAgain) {
  JobDaemon daemon;
  auto options = daemon.options();
  options.silence_limit_ns = 20'000'000;
  const auto link = open_daemon_link(options);
  EXPECT_TRUE(daemon.watched.wait());
  EXPECT_TRUE(daemon.watched.wait());
  EXPECT_THAT(daemon.warnings.wait().value(), HasSubstr("did not answer in time"));
}

TEST(HttpDaemonLink, AMessageThatCannotBeUsedIsDroppedAndSaidOnceForEachType) {
  JobDaemon daemon([&](FakeDaemon::Peer& peer) {
    json wrong = to_json(DaemonMessage(config_message(3)));
    wrong["config"]["streams"] = 65;
    for (int i = 0; i < 3; ++i) {
      peer.write("event: config\nid: 3\ndata: " + wrong.dump() + "\n\n");
      peer.write("event: candidate\ndata: {\n\n");
      peer.write("event: later\ndata: {}\n\n");
    }
    peer.write(event_text(config_message(4)));
    peer.wait_until_gone();
  });
  auto link = open_daemon_link(daemon.options());
  EXPECT_EQ(next_message(*link), DaemonMessage(config_message(4)));
  EXPECT_EQ(daemon.warnings.size(), 3u);
  link.reset();
  for (const char* text :
       {"from 1 to 64, found 65", "not valid JSON", "found \"later\"", "9 events"})
    EXPECT_THAT(daemon.warnings.wait().value_or(""), HasSubstr(text));
}

TEST(HttpDaemonLink, WithoutThreadsThereIsAWarningAndNoLink) {
  for (const int most : {0, 1}) {
    JobDaemon daemon;
    auto options = daemon.options();
    options.start_thread = [most, started = 0](auto work) mutable {
      if (started++ == most) throw std::system_error(EAGAIN, std::generic_category());
      return std::thread(std::move(work));
    };
    EXPECT_EQ(open_daemon_link(options), nullptr);
    EXPECT_TRUE(daemon.warnings.wait([](const std::string& text) {
      return text.find("cannot start a thread") != std::string::npos;
    }));
  }
}

TEST(HttpDaemonLink, ADaemonThatIsWrongOrAwayCostsOneWarningAndNoWait) {
  const auto garbage = [](FakeDaemon::Peer& peer) {
    if (peer.read()) peer.write("garbage\r\n\r\n");
  };
  const auto html =
      FakeDaemon::answering([](const auto&) { return http_answer(200, "<html>", "text/html"); });
  const auto silent = [](FakeDaemon::Peer& peer) { peer.wait_until_gone(); };
  const auto broken = FakeDaemon::answering([](const auto&) { return http_answer(500, "{}"); });
  const auto huge = [](FakeDaemon::Peer& peer) {
    if (peer.read()) peer.write(http_answer(200, std::string(5 << 20, 'x')));
  };
  for (const auto& script : std::vector<std::function<void(FakeDaemon::Peer&)>>{
           garbage, html, silent, broken, huge, nullptr}) {
    const auto daemon = std::make_unique<FakeDaemon>(script);
    Inbox<std::string> warnings;
    DaemonLinkOptions options{.daemon = daemon->access(), .job = {.id = "job-1"}};
    options.warn = [&](const std::string& message) { warnings.add(message); };
    options.backoff = {.first_ns = 1000, .most_ns = 1000};
    options.request_timeout_ns = 20'000'000;
    options.flush_timeout_ns = 20'000'000;
    auto link = open_daemon_link(options);
    EXPECT_TRUE(warnings.wait());
    for (int i = 0; i < 100; ++i) link->report(outcome(i + 1));
    EXPECT_EQ(link->take(), std::nullopt);
    link.reset();
    EXPECT_EQ(warnings.size(), 0u);
  }
}

}  // namespace
}  // namespace hocket
