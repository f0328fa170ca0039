// Kills `hocket serve` repeatedly while clients ask, tell, push and report. Checks after each
// restart that everything the daemon had acknowledged is stored.
//
//   bin/kill_daemon --rounds 100
//   {"asks":…,"pushes":…,"rounds":100,"seed":1,"tells":…}

#include <CLI/CLI.hpp>
#include <cstdio>
#include <random>
#include <thread>

#include "core/base/check.h"
#include "tests/fault/daemon_process.h"
#include "tests/fault/ledger.h"
#include "tests/fault/ledger_clients.h"
#include "tests/store/check_store.h"
#include "tests/temporary_folder.h"

namespace hocket {
namespace {

/// Serves until a random number of responses has arrived and a moment longer, then kills the
/// daemon.
void run_round(DaemonProcess& daemon, std::vector<std::unique_ptr<LedgerClient>>& clients,
               Ledger& ledger, std::mt19937_64& random) {
  const auto enough = ledger.acknowledged() + 1 + random() % 80;
  std::vector<std::jthread> threads;
  for (auto& client : clients) threads.emplace_back([&] { client->run(daemon.port()); });
  if (!eventually([&] { return ledger.acknowledged() >= enough || ledger.has_complaints(); })) {
    ledger.complain("the daemon stopped answering");
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
  daemon.kill();
}

struct Options {
  int rounds = 15;
  std::uint64_t seed = 1;
};

int run(const Options& options) {
  const TemporaryFolder folder;
  const std::string store = folder.file("store.db");
  std::mt19937_64 random(options.seed);
  Ledger ledger;
  auto clients = ledger_clients(ledger, options.seed, false);
  for (int round = 0; round <= options.rounds && !ledger.has_complaints(); ++round) {
    DaemonProcess daemon({.store = store, .log = folder.file("log")});
    HOCKET_CHECK(daemon.listens(), "a killed daemon starts again");
    ledger.check(store, round == options.rounds);
    if (round < options.rounds) {
      run_round(daemon, clients, ledger, random);
    } else if (daemon.stop() != 0) {
      ledger.complain("the last daemon did not stop with status 0");
    }
  }
  if (const auto whole = check_store(store); !whole) ledger.complain(whole.error().message);
  auto summary = ledger.counts();
  summary["rounds"] = options.rounds;
  summary["seed"] = options.seed;
  std::printf("%s\n", summary.dump().c_str());
  for (const auto& complaint : ledger.complaints()) {
    std::fprintf(stderr, "kill_daemon: %s\n", complaint.c_str());
  }
  return ledger.has_complaints() ? 1 : 0;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::Options options;
  CLI::App app("Kills the daemon under load and checks that nothing acknowledged is lost");
  app.add_option("--rounds", options.rounds, "How often it is killed")->capture_default_str();
  app.add_option("--seed", options.seed, "Of what is asked, and when it is killed")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return hocket::run(options);
}
