#include "benchmarks/daemon/server_process.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fstream>
#include <thread>

#include "archive/studies/job_similarity.h"
#include "benchmarks/daemon/bare_server.h"
#include "core/base/check.h"
#include "core/files/scratch_folder.h"
#include "core/protocol/config_key.h"
#include "core/step/schedule_config.h"
#include "daemon/daemon.h"
#include "store/open.h"

namespace hocket {
namespace {

constexpr const char* kTopology = "benchmark";

TunedJob sample_key() {
  Topology topology;
  topology.cpu_model = kTopology;
  return {topology, {"benchmark", {{"gradient", 1 << 20}}}};
}

std::string published_at() {
  return ServerProcess::kPublishedAt + std::to_string(monotonic_ns());
}

std::string event_data() {
  std::string data = "{" + published_at() + ",";
  data.resize(kBodyBytes, '.');
  return data;
}

/// Returns a configuration with the time of its push, in the names of regions that no step has.
nlohmann::json dated_config() {
  ScheduleConfig config;
  config.regions["published_ns:" + std::to_string(monotonic_ns())] = {};
  config.regions[std::string(170, '.')] = {};
  return to_json(config);
}

void report_port(int answers, std::uint16_t port) {
  HOCKET_CHECK(::write(answers, &port, sizeof port) == sizeof port, "the parent waits for it");
}

/// Calls `publish` for each byte from the parent, until the end of file.
template <class Publish>
void follow(int commands, Publish publish) {
  for (char command; ::read(commands, &command, 1) == 1;) publish();
}

void serve_hocket(int commands, int answers, const std::string& where) {
  const SteadyClock clock;
  const auto folder = ScratchFolder::make();
  HOCKET_CHECK(folder.has_value(), "a folder can be made");
  const auto store = open_store(where.empty() ? folder->path() + "/hocket.db" : where);
  HOCKET_CHECK(store.has_value(), "a store can be made");
  const auto key = sample_key();
  const auto topology = (*store)->upsert_topology(key.topology);
  const auto workload = (*store)->upsert_workload(key.workload);
  HOCKET_CHECK(topology && workload, "the store can be written");
  const auto current =
      (*store)->current_promotion(fingerprint(key.topology), fingerprint(key.workload));
  HOCKET_CHECK(current.has_value(), "the store can be read");
  if (!*current) {
    HOCKET_CHECK((*store)->promote({.topology_id = *topology,
                                    .workload_id = *workload,
                                    .config = dated_config(),
                                    .origin = PromotionOrigin::push}),
                 "the first version");
  }
  DaemonOptions options;
  options.server.port = 0;
  auto daemon = Daemon::create(std::move(options), **store, clock);
  HOCKET_CHECK(daemon.has_value(), "a port of loopback is free");
  report_port(answers, (*daemon)->server().port());
  std::thread parent([&] {
    follow(commands, [] {});
    (*daemon)->server().stop();
  });
  (*daemon)->run();
  parent.join();
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

ServerProcess::ServerProcess(ServerKind kind, std::string store) {
  std::array<int, 2> commands = {}, answers = {};
  HOCKET_CHECK(pipe(commands.data()) == 0 && pipe(answers.data()) == 0, "there are descriptors");
  process_ = fork();
  HOCKET_CHECK(process_ >= 0, "a process can be started");
  if (process_ == 0) {
    close(commands[1]);
    close(answers[0]);
    kind == ServerKind::hocket ? serve_hocket(commands[0], answers[1], store)
                               : serve_bare(commands[0], answers[1]);
    _exit(0);
  }
  close(commands[0]);
  close(answers[1]);
  commands_ = commands[1];
  HOCKET_CHECK(::read(answers[0], &port_, sizeof port_) == sizeof port_, "the server has started");
  close(answers[0]);
  if (kind == ServerKind::bare) return;
  const auto job = sample_key();
  const std::string key =
      to_string(ConfigKey{fingerprint(job.topology), fingerprint(job.workload)});
  target_ = "/v1/configs/" + key;
  watch_target_ = "/v1/watch?key=" + key;
  client_ = std::make_unique<HttpClient>(
      DaemonAccess{.address = {.tls = false, .host = "127.0.0.1", .port = port_}});
  const auto now = client_->send({.target = target_}, deadline_after_ns(10'000'000'000));
  HOCKET_CHECK(now && now->status == 200, "there is a version");
  version_ = nlohmann::json::parse(now->body)["version"];
  // From here on, the daemon reports the key's versions to watchers.
  const auto waited =
      client_->send({.target = target_ + "?wait=1", .headers = {{"If-None-Match", etag()}}},
                    deadline_after_ns(10'000'000'000));
  HOCKET_CHECK(waited && waited->status == 304, "this version is the current one");
}

ServerProcess::~ServerProcess() {
  close(commands_);
  waitpid(process_, nullptr, 0);
}

void ServerProcess::publish() {
  if (!client_) {
    HOCKET_CHECK(::write(commands_, "p", 1) == 1, "the server still runs");
    return;
  }
  const nlohmann::json body = {{"config", dated_config()}};
  const auto pushed = client_->send({.method = "PUT", .target = target_, .body = body.dump()},
                                    deadline_after_ns(10'000'000'000));
  HOCKET_CHECK(pushed && pushed->status == 200, "the daemon takes a push");
}

double ServerProcess::memory_mb(std::string_view field) const {
  std::ifstream status("/proc/" + std::to_string(process_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size())) / 1024;
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
