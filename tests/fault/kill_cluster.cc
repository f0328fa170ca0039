// Two daemons on one store in PostgreSQL. Kills one daemon, or the server of PostgreSQL, in turn,
// while clients ask, tell, push and report. Checks after each round that everything acknowledged is
// stored, that the other daemon serves all the time, and that a version pushed to the one reaches
// it within a limit from its acknowledgement, or from PostgreSQL's return.
//
//   bin/kill_cluster --rounds 100 --limit-s 2
//   {"asks":…,"pushes":…,"rounds":100,"seed":1,"tells":…,"to_the_other_max_ms":…,…}

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <random>
#include <thread>

#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/base/statistics.h"
#include "core/protocol/job_message.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/ledger.h"
#include "tests/fault/ledger_clients.h"
#include "tests/store/fixtures.h"
#include "tests/store/postgres/server.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

/// Pushes versions of a key without jobs to one daemon, and waits until the other one has each.
class Relay {
 public:
  Relay(Ledger& ledger, std::uint16_t other_port, int limit_s)
      : ledger_(ledger), other_port_(other_port), limit_s_(limit_s) {}

  void run(std::uint16_t port, const std::atomic<bool>& stop) {
    DaemonClient to(port), other(other_port_);
    while (!stop) {
      const auto version = push(to);
      if (!version) return;
      if (*version > 0 && !arrives(other, *version, stop)) return;
    }
  }

  /// While PostgreSQL is gone, no limit holds; it begins anew when it is back.
  void database_is_gone() { database_is_up_ = false; }
  void database_is_back() {
    database_back_ns_ = clock_.now_ns();
    database_is_up_ = true;
  }

  std::vector<double> times_ms() const {
    const std::lock_guard lock(mutex_);
    return times_ms_;
  }

 private:
  /// Returns the version; 0 if the store could not be used, nothing if the daemon is gone.
  std::optional<std::int64_t> push(DaemonClient& daemon) {
    if (key_.empty()) {
      Workload workload = sample_workload();
      workload.name = "relayed";
      const auto known =
          daemon.send("POST", "/v1/resolve",
                      {{"topology", to_json(sample_topology())}, {"workload", to_json(workload)}});
      if (!known) return std::nullopt;
      if (known->status != 200) return 0;
      key_ = to_string({fingerprint(sample_topology()), fingerprint(workload)});
    }
    ScheduleConfig config;
    config.partition_bytes = 4096 * ++pushes_;
    const auto pushed = daemon.send("PUT", "/v1/configs/" + key_, {{"config", to_json(config)}});
    if (!pushed) return std::nullopt;
    if (pushed->status != 200) return 0;
    return nlohmann::json::parse(pushed->body)["version"].get<std::int64_t>();
  }

  /// Returns false if the test is over.
  bool arrives(DaemonClient& other, std::int64_t version, const std::atomic<bool>& stop) {
    const std::int64_t acknowledged_ns = clock_.now_ns();
    for (;;) {
      const auto current = other.send("GET", "/v1/configs/" + key_);
      if (!current) {
        ledger_.complain("the other daemon does not answer");
        return false;
      }
      // Before it has heard of the key, the database may be asked.
      const bool knows = current->status == 200;
      if (knows) knew_ = true;
      if (!knows && knew_) ledger_.complain("the other daemon forgot a version: " + current->body);
      const std::int64_t since_ns =
          clock_.now_ns() - std::max(acknowledged_ns, database_back_ns_.load());
      if (knows && nlohmann::json::parse(current->body)["version"] >= version) {
        const std::lock_guard lock(mutex_);
        times_ms_.push_back(static_cast<double>(std::max<std::int64_t>(since_ns, 0)) / 1e6);
        return true;
      }
      if (stop) return false;
      if (since_ns > limit_s_ * std::int64_t{1'000'000'000} && database_is_up_) {
        ledger_.complain("version " + std::to_string(version) +
                         " did not reach the other daemon within " + std::to_string(limit_s_) +
                         " s");
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  Ledger& ledger_;
  const std::uint16_t other_port_;
  const int limit_s_;
  const SteadyClock clock_;
  std::string key_;
  std::int64_t pushes_ = 0;
  bool knew_ = false;
  std::atomic<bool> database_is_up_ = true;
  std::atomic<std::int64_t> database_back_ns_ = 0;
  mutable std::mutex mutex_;
  std::vector<double> times_ms_;
};

struct Options {
  int rounds = 6;
  int limit_s = 30;  ///< on a loaded machine; a daemon that hears nothing never hears it
  std::uint64_t seed = 1;
};

class KilledCluster {
 public:
  explicit KilledCluster(const Options& options)
      : options_(options),
        random_(options.seed),
        store_(database_.new_schema()),
        clients_(ledger_clients(ledger_, options.seed, true)),
        other_(start("other")),
        relay_(ledger_, other_->port(), options.limit_s) {}

  int run() {
    for (int round = 0; round < options_.rounds && !ledger_.has_complaints(); ++round) {
      if (!daemon_) daemon_ = start("killed");
      round % 2 == 0 ? kill_daemon() : kill_database();
      ledger_.check(store_, round + 1 == options_.rounds);
    }
    if (!other_->child().is_running()) ledger_.complain("the other daemon has ended");
    auto summary = ledger_.counts();
    summary["rounds"] = options_.rounds;
    summary["seed"] = options_.seed;
    auto times_ms = relay_.times_ms();
    std::ranges::sort(times_ms);
    summary["to_the_other"] = times_ms.size();
    if (!times_ms.empty()) {
      summary["to_the_other_median_ms"] = median(times_ms);
      summary["to_the_other_p99_ms"] = quantile(times_ms, 0.99);
      summary["to_the_other_max_ms"] = times_ms.back();
    }
    std::printf("%s\n", summary.dump().c_str());
    for (const auto& complaint : ledger_.complaints())
      std::fprintf(stderr, "kill_cluster: %s\n", complaint.c_str());
    return ledger_.has_complaints() ? 1 : 0;
  }

 private:
  std::unique_ptr<DaemonProcess> start(const std::string& name) {
    auto daemon = std::make_unique<DaemonProcess>(
        DaemonProcess::Options{.store = store_, .log = folder_.file(name)});
    HOCKET_CHECK(daemon->listens(), "a daemon starts on PostgreSQL");
    return daemon;
  }

  /// Lets the clients ask the daemon while `kill` is called.
  template <class Kill>
  void under_load(Kill kill) {
    std::atomic<bool> stop = false;
    std::vector<std::jthread> threads;
    for (auto& client : clients_)
      threads.emplace_back([&] { client->run(daemon_->port(), &stop); });
    threads.emplace_back([&] { relay_.run(daemon_->port(), stop); });
    wait_for_more();
    kill();
    stop = true;
  }

  /// Waits until a random number of requests was acknowledged.
  void wait_for_more() {
    const auto enough = ledger_.acknowledged() + 1 + random_() % 80;
    if (!eventually([&] { return ledger_.acknowledged() >= enough || ledger_.has_complaints(); })) {
      ledger_.complain("nothing is acknowledged any more");
    }
  }

  void kill_daemon() {
    under_load([&] { daemon_->kill(); });
    daemon_.reset();
  }

  void kill_database() {
    under_load([&] {
      relay_.database_is_gone();
      database_.kill();
      database_.start();
      relay_.database_is_back();
      wait_for_more();
    });
  }

  const Options options_;
  std::mt19937_64 random_;
  const TemporaryFolder folder_;
  PostgresServer database_{{.is_durable = true}};
  const std::string store_;
  Ledger ledger_;
  std::vector<std::unique_ptr<LedgerClient>> clients_;
  std::unique_ptr<DaemonProcess> daemon_, other_;
  Relay relay_;
};

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("Kills a daemon and PostgreSQL under load and checks that nothing is lost");
  app.add_option("--rounds", options.rounds, "How often one of them is killed")
      ->capture_default_str();
  app.add_option("--limit-s", options.limit_s, "Within which the other daemon has a version")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of what is asked, and when they are killed")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  if (const auto missing = hocket::PostgresServer::missing()) {
    std::fprintf(stderr, "kill_cluster: %s\n", missing->c_str());
    return 1;
  }
  return hocket::KilledCluster(options).run();
}
