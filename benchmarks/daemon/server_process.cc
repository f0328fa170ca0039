#include "benchmarks/daemon/server_process.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "benchmarks/daemon/bare_server.h"
#include "core/check.h"
#include "tuner/daemon/server.h"

namespace hocket {
namespace {

std::string event_data() {
  std::string data = std::to_string(monotonic_ns());
  data.resize(kBodyBytes, '.');
  return data;
}

class MemoryService final : public Service {
 public:
  std::optional<Response> answer_at_once(const Request& request) override {
    if (request.target == "/watch") return std::nullopt;
    Response response;
    response.etag = "\"1\"";
    response.body = body_;
    if (request.if_none_match == response.etag) response.status = 304;
    return response;
  }
  Reply handle(const Request&, bool) override { return EventStream{{{"topic", 0}}, "watcher"}; }
  void stream_closed(const std::string&) override {}

 private:
  std::shared_ptr<const std::string> body_ = std::make_shared<const std::string>(kBodyBytes, '.');
};

void report_port(int answers, std::uint16_t port) {
  HOCKET_CHECK(write(answers, &port, sizeof port) == sizeof port, "the parent waits for it");
}

/// Calls `publish` for each byte of the parent, until there is none.
template <class Publish>
void follow(int commands, Publish publish) {
  for (char command; read(commands, &command, 1) == 1;) publish();
}

void serve_hocket(int commands, int answers) {
  MemoryService service;
  Feed feed;
  ServerOptions options;
  options.port = 0;
  auto server = Server::create(options, service, feed, Log());
  HOCKET_CHECK(server.has_value(), "a port of loopback is free");
  report_port(answers, (*server)->port());
  std::thread publisher([&] {
    follow(commands, [&] { feed.publish("topic", Event{1, "config", event_data()}); });
    (*server)->stop();
  });
  (*server)->run();
  publisher.join();
}

void serve_bare(int commands, int answers) {
  BareServer server;
  report_port(answers, server.port());
  std::thread publisher([&] {
    follow(commands, [&] { server.publish("data: " + event_data() + "\n\n"); });
    server.stop();
  });
  server.run();
  publisher.join();
}

}  // namespace

const char* to_string(ServerKind kind) {
  return kind == ServerKind::hocket ? "hocket" : "bare";
}

ServerProcess::ServerProcess(ServerKind kind) {
  std::array<int, 2> commands = {}, answers = {};
  HOCKET_CHECK(pipe(commands.data()) == 0 && pipe(answers.data()) == 0, "there are descriptors");
  process_ = fork();
  HOCKET_CHECK(process_ >= 0, "a process can be started");
  if (process_ == 0) {
    close(commands[1]);
    close(answers[0]);
    kind == ServerKind::hocket ? serve_hocket(commands[0], answers[1])
                               : serve_bare(commands[0], answers[1]);
    _exit(0);
  }
  close(commands[0]);
  close(answers[1]);
  commands_ = commands[1];
  HOCKET_CHECK(read(answers[0], &port_, sizeof port_) == sizeof port_, "the server has started");
  close(answers[0]);
}

ServerProcess::~ServerProcess() {
  close(commands_);
  waitpid(process_, nullptr, 0);
}

void ServerProcess::publish() {
  HOCKET_CHECK(write(commands_, "p", 1) == 1, "the server still runs");
}

double ServerProcess::peak_memory_mb() const {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

std::size_t raise_open_files() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::int64_t monotonic_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace hocket
