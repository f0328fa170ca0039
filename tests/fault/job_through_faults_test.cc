// A job trains exactly as without a daemon, whatever the daemon does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <csignal>

#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "tests/client/fake_daemon.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/gpt2_job.h"
#include "tests/reserved_port.h"

namespace hocket {
namespace {

using Peer = FakeDaemon::Peer;
using Request = FakeDaemon::Request;
using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kShort = {"--d-model", "64", "--sequence", "32",
                                         "--batch",   "2",  "--steps",    "12"};

/// Arguments for a job long enough to be stopped in between: a step takes about 70 ms on this link.
std::vector<std::string> slow() {
  auto arguments = kShort;
  arguments.insert(arguments.end(), {"--link", "100mbit,1ms"});
  return arguments;
}

class JobThroughFaults : public ::testing::Test {
 protected:
  /// Returns the result of a job without a daemon; it does not depend on the link.
  nlohmann::json undisturbed() {
    Gpt2Job job(folder_, {.arguments = kShort});
    EXPECT_EQ(job.wait(), 0) << job.errors();
    auto learned = job.learned();
    EXPECT_FALSE(learned.is_null());
    return learned;
  }

  /// Trains with the daemon `url`, with and without watching it, to the end: a job that waited for
  /// a daemon that never answers would still run when Gpt2Job::wait() gives up. Returns the output
  /// on stderr.
  std::string expect_unharmed(const std::string& url, const nlohmann::json& expected) {
    std::string errors;
    for (const bool watch : {false, true}) {
      SCOPED_TRACE(watch ? "watching" : "not watching");
      Gpt2Job job(folder_, {.daemon = url, .watch = watch, .arguments = kShort});
      EXPECT_EQ(job.wait(), 0) << job.errors();
      EXPECT_EQ(job.learned(), expected) << job.errors();
      errors += job.errors();
    }
    return errors;
  }

  DaemonProcess::Options serve() {
    return {.store = folder_.file("store.db"), .log = folder_.file("log")};
  }

  /// Returns a job that watches a daemon and is stopped in the middle of its steps until `go_on`.
  std::unique_ptr<Gpt2Job> start_held(const std::string& url) {
    auto job = std::make_unique<Gpt2Job>(
        folder_, Gpt2JobOptions{.daemon = url, .watch = true, .arguments = slow()});
    EXPECT_TRUE(eventually([&] { return job->iterations() > 0; })) << job->errors();
    job->rank(1).signal(SIGSTOP);
    return job;
  }
  /// Like start_held, but returns after the daemon at `port` knows the job.
  std::unique_ptr<Gpt2Job> start_watching(const std::string& url, std::uint16_t port) {
    auto job = start_held(url);
    EXPECT_TRUE(eventually([&] { return is_connected(port); })) << job->errors();
    return job;
  }
  static bool is_connected(std::uint16_t port) {
    const auto jobs = DaemonClient(port).ask("GET", "/v1/jobs");
    return jobs && jobs->at("jobs").size() == 1 && jobs->at("jobs")[0].at("connected") == true;
  }
  void go_on_unharmed(Gpt2Job& job, const nlohmann::json& expected) {
    job.rank(1).signal(SIGCONT);
    EXPECT_TRUE(job.rank(0).is_running()) << "it ended before anything went wrong";
    EXPECT_EQ(job.wait(), 0) << job.errors();
    EXPECT_EQ(job.learned(), expected) << job.errors();
  }

  TemporaryFolder folder_;
};

std::string key_in(const Request& request) {
  const auto body = nlohmann::json::parse(request.body);
  return to_string({fingerprint(topology_from_json(body.at("topology")).value()),
                    fingerprint(workload_from_json(body.at("workload")).value())});
}

/// Answers like a daemon that has `config` for every key, and sends `events` to watchers.
std::function<void(Peer&)> daemon_with(nlohmann::json config, std::string events,
                                       std::atomic<int>& watched) {
  return [=, &watched](Peer& peer) {
    while (const auto request = peer.read()) {
      if (request->is("GET /v1/watch")) {
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + events);
        ++watched;
        return peer.wait_until_gone();
      }
      nlohmann::json answer = nlohmann::json::object();
      if (!request->is("POST /v1/reports")) answer["key"] = key_in(*request);
      if (request->is("POST /v1/resolve")) {
        answer["match"] = config.is_null() ? "none" : "exact";
        answer.update({{"version", 3}, {"config", config}, {"origin", "push"}});
      }
      if (!peer.write(http_answer(200, answer.dump()))) return;
    }
  };
}

void write_without_end(Peer& peer, const std::string& head, const std::string& piece) {
  if (!peer.read() || !peer.write(head)) return;
  for (int i = 0; i < 10'000 && peer.write(piece); ++i) continue;
}

/// Answers correctly, but only what is still asked when the job has given up.
void answer_too_late(Peer& peer) {
  while (peer.read()) {
    pollfd given_up = {peer.socket(), POLLRDHUP, 0};
    poll(&given_up, 1, -1);
    if (!peer.write(http_answer(200, R"({"key":"","match":"none"})"))) return;
  }
}

const std::string kOutOfRange =
    R"({"format":"hocket-schedule","version":1,"partition_bytes":1,"streams":-4})";

TEST_F(JobThroughFaults, OneThatCannotBeAsked) {
  const auto expected = undisturbed();
  EXPECT_THAT(expect_unharmed("http://127.0.0.1:1", expected), HasSubstr("warning"));
  const std::pair<const char*, std::function<void(Peer&)>> daemons[] = {
      {"a black hole", nullptr},
      {"answers after the job has given up", answer_too_late},
      {"closes at once", [](Peer&) {}},
      {"closes when asked", [](Peer& peer) { (void)peer.read(); }}};
  for (const auto& [what, script] : daemons) {
    SCOPED_TRACE(what);
    FakeDaemon daemon(script);
    EXPECT_THAT(expect_unharmed(daemon.url(), expected), HasSubstr("configuration from default"));
  }
}

TEST_F(JobThroughFaults, OneThatAnswersGarbage) {
  const auto expected = undisturbed();
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string megabyte(1 << 20, 'x');
  const auto always = [](const std::string& answer) {
    return FakeDaemon::answering([=](const Request&) { return answer; });
  };
  const std::pair<const char*, std::function<void(Peer&)>> daemons[] = {
      {"HTML", always(http_answer(200, "<html><h1>It works!</h1></html>", "text/html"))},
      {"a gateway's error", always(http_answer(502, "<html>Bad gateway</html>", "text/html"))},
      {"JSON that is cut off", always(http_answer(200, R"({"key":"a","match":"ex)"))},
      {"a body that is cut off",
       [&](Peer& peer) {
         if (peer.read()) peer.write(ok + "Content-Length: 1000\r\n\r\n{\"key\":");
       }},
      {"another protocol", [](Peer& peer) { peer.write("SSH-2.0-OpenSSH_9.2\r\n"); }},
      {"deep JSON", always(http_answer(200, std::string(100'000, '[')))},
      {"an endless header", [&](Peer& peer) { write_without_end(peer, ok, "X: y\r\n"); }},
      {"an endless line", [&](Peer& peer) { write_without_end(peer, ok, megabyte); }},
      {"an endless body", [&](Peer& peer) {
         write_without_end(peer, ok + "Content-Length: 999999999999\r\n\r\n", megabyte);
       }}};
  for (const auto& [what, script] : daemons) {
    SCOPED_TRACE(what);
    FakeDaemon daemon(script);
    const auto errors = expect_unharmed(daemon.url(), expected);
    EXPECT_THAT(errors, HasSubstr("warning"));
    EXPECT_THAT(errors, HasSubstr("configuration from default"));
    EXPECT_GT(daemon.connections(), 1);
  }
}

TEST_F(JobThroughFaults, OneWhoseConfigurationsAreOutOfRange) {
  const auto expected = undisturbed();
  std::atomic<int> watched = 0;
  const auto bad = nlohmann::json::parse(kOutOfRange);
  {
    FakeDaemon daemon(daemon_with(bad, "", watched));
    EXPECT_THAT(expect_unharmed(daemon.url(), expected),
                AllOf(HasSubstr("partition_bytes"), HasSubstr("configuration from default")));
  }
  const nlohmann::json version = {{"version", 9}, {"config", bad}, {"origin", "push"}};
  const nlohmann::json trial = {{"trial", 9}, {"config", bad}};
  for (const std::string& event : {"id: 9\nevent: config\ndata: " + version.dump() + "\n\n",
                                   "event: candidate\ndata: " + trial.dump() + "\n\n",
                                   std::string("event: config\ndata: {\"version\":\n\n"),
                                   std::string("event: elephant\ndata: \xff\xfe\n\n:\n\nid\n\n"),
                                   "data: " + std::string(3 << 20, 'x') + "\n\n"}) {
    SCOPED_TRACE(event.substr(0, 60));
    watched = 0;
    FakeDaemon daemon(daemon_with(nullptr, event, watched));
    const auto job = start_held(daemon.url());
    EXPECT_TRUE(eventually([&] { return watched >= 1; })) << job->errors();
    go_on_unharmed(*job, expected);
  }
}

TEST_F(JobThroughFaults, OneThatIsKilledMeanwhile) {
  const auto expected = undisturbed();
  DaemonProcess daemon(serve());
  ASSERT_TRUE(daemon.listens());
  const auto job = start_watching(daemon.url(), daemon.port());
  daemon.kill();
  EXPECT_TRUE(eventually([&] { return job->errors().find("warning") != std::string::npos; }));
  go_on_unharmed(*job, expected);
}

TEST_F(JobThroughFaults, OneThatIsKilledAndComesBack) {
  const auto expected = undisturbed();
  const ReservedPort port;
  auto options = serve();
  options.port = port.port();
  auto daemon = std::make_unique<DaemonProcess>(options);
  ASSERT_TRUE(daemon->listens());
  const auto job = start_watching(daemon->url(), daemon->port());
  daemon->kill();
  daemon = std::make_unique<DaemonProcess>(options);
  ASSERT_TRUE(daemon->listens());
  EXPECT_TRUE(eventually([&] { return is_connected(options.port); }))
      << "it did not present itself again: " << job->errors();
  go_on_unharmed(*job, expected);
  EXPECT_EQ(daemon->stop(), 0);
}

/// Forwards bytes in both directions, until it stalls and leaves both connections open.
class Proxy {
 public:
  explicit Proxy(std::uint16_t port) : port_(port) {}

  void stall() { is_stalled_ = true; }
  std::string url() const { return front_.url(); }

 private:
  void pass_on(Peer& peer) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
      while (pass_on_some(peer.socket(), server)) continue;
    }
    ::close(server);
  }

  /// Returns false if either side has closed.
  bool pass_on_some(int client, int server) {
    const short wanted = is_stalled_ ? 0 : POLLIN;
    pollfd ends[] = {{client, wanted, 0}, {server, wanted, 0}};
    poll(ends, 2, 20);
    for (int i = 0; i < 2; ++i) {
      if ((ends[i].revents & (POLLHUP | POLLERR)) != 0) return false;
      if ((ends[i].revents & POLLIN) == 0) continue;
      char bytes[4096];
      const ssize_t count = ::recv(ends[i].fd, bytes, sizeof bytes, 0);
      if (count <= 0) return false;
      ::send(ends[1 - i].fd, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL);
    }
    return true;
  }

  const std::uint16_t port_;
  std::atomic<bool> is_stalled_ = false;
  FakeDaemon front_{[this](Peer& peer) { pass_on(peer); }};
};

TEST_F(JobThroughFaults, OneWhoseConnectionIsHalfOpen) {
  const auto expected = undisturbed();
  DaemonProcess daemon(serve());
  ASSERT_TRUE(daemon.listens());
  Proxy proxy(daemon.port());
  const auto job = start_watching(proxy.url(), daemon.port());
  proxy.stall();
  go_on_unharmed(*job, expected);
}

}  // namespace
}  // namespace hocket
