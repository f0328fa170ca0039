// Measures how long a version takes to reach all watchers, and the server's memory per watcher.
// hocket's daemon and a bare server take turns.
//
//   daemon_load watch [--watchers N] [--events E] [--rounds R] [--json]
//
// With a store on PostgreSQL, several daemons share it: a version is pushed to the first, and must
// reach the watchers of all. One daemon with a store in a file takes turns with them, with as many
// watchers as one of them has, and as all have.
//
//   daemon_load cluster --store URI [--daemons D] [--watchers N] [--events E] [--rounds R]

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>

#include "benchmarks/daemon/load.h"
#include "benchmarks/daemon/load_kinds.h"
#include "benchmarks/daemon/server_process.h"
#include "benchmarks/measured_table.h"

namespace hocket {
namespace {

struct WatchOptions {
  std::size_t watchers = 10'000;
  int events = 20, rounds = 5;
  bool json = false;
};

struct WatchFigures {
  std::vector<double> p50_ms, p99_ms, max_ms, memory_mb;
};

void subscribe(const ServerProcess& server, Connections& watchers) {
  // Last-Event-ID skips the existing versions.
  const std::string request = "GET " + server.watch_target() +
                              " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                              "Last-Event-ID: " +
                              std::to_string(server.version()) + "\r\n\r\n";
  for (std::size_t i = 0; i < watchers.size(); ++i) watchers.send(i, request);
  for (std::size_t heads = 0; heads < watchers.size();) {
    for (const std::size_t i : watchers.wait()) heads += watchers.receive(i).ends_with("\r\n\r\n");
  }
}

/// Publishes one event and appends the time from its publication to its arrival on each connection,
/// in milliseconds.
void measure_event(ServerProcess& server, Connections& watchers, std::vector<double>& times_ms) {
  server.publish();
  std::int64_t published_ns = 0;
  for (std::size_t whole = 0; whole < watchers.size();) {
    for (const std::size_t i : watchers.wait()) {
      const std::string_view text = watchers.receive(i);
      if (published_ns == 0) {
        constexpr std::string_view kAt = ServerProcess::kPublishedAt;
        if (const std::size_t at = text.find(kAt); at != std::string_view::npos) {
          std::from_chars(text.data() + at + kAt.size(), text.data() + text.size(), published_ns);
        }
      }
      if (!text.ends_with("\n\n")) continue;
      ++whole;
      times_ms.push_back(static_cast<double>(monotonic_ns() - published_ns) / 1e6);
    }
  }
}

/// Publishes at the first of `servers`, which watchers of all of them hear.
void measure(const std::vector<std::unique_ptr<ServerProcess>>& servers, std::size_t count,
             int events, WatchFigures& figures) {
  std::vector<std::uint16_t> ports;
  for (const auto& server : servers) ports.push_back(server->port());
  Connections watchers(std::move(ports), count);
  subscribe(*servers.front(), watchers);
  std::vector<double> times_ms;
  for (int i = 0; i < events; ++i) measure_event(*servers.front(), watchers, times_ms);
  std::sort(times_ms.begin(), times_ms.end());
  figures.p50_ms.push_back(quantile(times_ms, 0.5));
  figures.p99_ms.push_back(quantile(times_ms, 0.99));
  figures.max_ms.push_back(times_ms.back());
  figures.memory_mb.push_back(servers.front()->peak_memory_mb());
}

void measure(ServerKind kind, std::size_t count, int events, WatchFigures& figures) {
  std::vector<std::unique_ptr<ServerProcess>> servers;
  servers.push_back(std::make_unique<ServerProcess>(kind));
  measure(servers, count, events, figures);
}

void print(const std::string& name, const WatchFigures& f) {
  std::printf("%s  p50 %s ms, p99 %s ms, max %s ms, memory %s MB\n", name.c_str(),
              spread_text(f.p50_ms, 1).c_str(), spread_text(f.p99_ms, 1).c_str(),
              spread_text(f.max_ms, 1).c_str(), spread_text(f.memory_mb, 1).c_str());
}

struct ClusterOptions {
  std::string store;
  std::size_t watchers = 3'000, daemons = 3;
  int events = 20, rounds = 5;
};

int run(const ClusterOptions& options) {
  const std::size_t files = raise_open_files(), all = options.watchers * options.daemons;
  if (files < all + 64) {
    std::fprintf(stderr, "at most %zu open files, too few for %zu watchers: raise ulimit -n\n",
                 files, all);
    return 1;
  }
  WatchFigures shared, one, one_with_all;
  for (int round = 0; round < options.rounds; ++round) {
    {
      std::vector<std::unique_ptr<ServerProcess>> servers;
      for (std::size_t i = 0; i < options.daemons; ++i)
        servers.push_back(std::make_unique<ServerProcess>(ServerKind::hocket, options.store));
      measure(servers, options.watchers, options.events, shared);
      // The last first: a later process has the ends of the pipes of those before it.
      while (!servers.empty()) servers.pop_back();
    }
    measure(ServerKind::hocket, options.watchers, options.events, one);
    measure(ServerKind::hocket, all, options.events, one_with_all);
  }
  std::printf("%d events, %d rounds: median (least to most); memory of one daemon\n",
              options.events, options.rounds);
  const std::string each = std::to_string(options.watchers) + " watchers";
  print(std::to_string(options.daemons) + " daemons on PostgreSQL, " + each + " each:", shared);
  print("1 daemon on a file, " + each + ":", one);
  print("1 daemon on a file, " + std::to_string(all) + " watchers:", one_with_all);
  std::printf("p99, to one with as many as each: %.2f, to one with all: %.2f\n",
              median(shared.p99_ms) / median(one.p99_ms),
              median(shared.p99_ms) / median(one_with_all.p99_ms));
  return 0;
}

void print_json(const std::map<ServerKind, WatchFigures>& figures) {
  MeasuredTable table("daemon-watch", {"measure", "server"}, over_bare());
  const auto add = [&](const char* measure, std::vector<double> WatchFigures::*member) {
    std::map<ServerKind, std::vector<double>> found;
    for (const auto& [kind, of_server] : figures) found[kind] = of_server.*member;
    add_servers(table, measure, found);
  };
  add("a version to all watchers, p99, ms", &WatchFigures::p99_ms);
  add("the same, p50, ms", &WatchFigures::p50_ms);
  add("the same, most, ms", &WatchFigures::max_ms);
  add("the server's memory, MB", &WatchFigures::memory_mb);
  table.print();
}

int run(const WatchOptions& options) {
  const std::size_t files = raise_open_files();
  if (files < options.watchers + 64) {
    std::fprintf(stderr, "at most %zu open files, too few for %zu watchers: raise ulimit -n\n",
                 files, options.watchers);
    return 1;
  }
  std::map<ServerKind, WatchFigures> figures;
  for (int round = 0; round < options.rounds; ++round) {
    for (const ServerKind kind : {ServerKind::hocket, ServerKind::bare}) {
      measure(kind, options.watchers, options.events, figures[kind]);
    }
  }
  if (options.json) return print_json(figures), 0;
  std::printf("%zu watchers, %d events, %d rounds: median (least to most)\n", options.watchers,
              options.events, options.rounds);
  for (const auto& [kind, f] : figures) print(to_string(kind), f);
  std::printf("p99, hocket to bare: %.2f\n", median(figures[ServerKind::hocket].p99_ms) /
                                                 median(figures[ServerKind::bare].p99_ms));
  return 0;
}

}  // namespace

void add_cluster(CLI::App& app, int& status) {
  const auto options = std::make_shared<ClusterOptions>();
  CLI::App* cluster = app.add_subcommand("cluster", "Events to the watchers of several daemons");
  cluster->add_option("--store", options->store, "URI of a database of PostgreSQL")->required();
  cluster->add_option("--daemons", options->daemons, "On the store")->check(CLI::Range(1, 16));
  cluster->add_option("--watchers", options->watchers, "Of each daemon")
      ->check(CLI::Range(1, 28'000));
  cluster->add_option("--events", options->events, "Events, one after another")
      ->check(CLI::Range(1, 10'000));
  cluster->add_option("--rounds", options->rounds, "Turns")->check(CLI::Range(1, 1'000));
  cluster->callback([options, &status] { status = run(*options); });
}

void add_watch(CLI::App& app, int& status) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* watch = app.add_subcommand("watch", "Events to many watchers");
  watch->add_option("--watchers", options->watchers, "Connections")->check(CLI::Range(1, 28'000));
  watch->add_option("--events", options->events, "Events, one after another")
      ->check(CLI::Range(1, 10'000));
  watch->add_option("--rounds", options->rounds, "Turns of each server")
      ->check(CLI::Range(1, 1'000));
  watch->add_flag("--json", options->json, "Print measurements for benchmarks/table");
  watch->callback([options, &status] { status = run(*options); });
}

}  // namespace hocket
