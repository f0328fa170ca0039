// Measures how long a version takes to reach all watchers, and the server's memory per watcher.
// hocket's daemon and a bare server take turns.
//
//   daemon_load watch [--watchers N] [--events E] [--rounds R]

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>

#include "benchmarks/daemon/load.h"
#include "benchmarks/daemon/load_kinds.h"
#include "benchmarks/daemon/server_process.h"

namespace hocket {
namespace {

struct WatchOptions {
  std::size_t watchers = 10'000;
  int events = 20, rounds = 5;
};

struct WatchFigures {
  std::vector<double> p50_ms, p99_ms, max_ms, memory_mb;
};

void subscribe(const ServerProcess& server, Connections& watchers) {
  // Last-Event-ID skips the existing versions.
  const std::string request = "GET " + server.watch_target() +
                              " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                              "Last-Event-ID: 1\r\n\r\n";
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

void measure(ServerKind kind, std::size_t count, int events, WatchFigures& figures) {
  ServerProcess server(kind);
  Connections watchers(server.port(), count);
  subscribe(server, watchers);
  std::vector<double> times_ms;
  for (int i = 0; i < events; ++i) measure_event(server, watchers, times_ms);
  std::sort(times_ms.begin(), times_ms.end());
  figures.p50_ms.push_back(quantile(times_ms, 0.5));
  figures.p99_ms.push_back(quantile(times_ms, 0.99));
  figures.max_ms.push_back(times_ms.back());
  figures.memory_mb.push_back(server.peak_memory_mb());
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
  std::printf("%zu watchers, %d events, %d rounds: median (least to most)\n", options.watchers,
              options.events, options.rounds);
  for (const auto& [kind, f] : figures) {
    std::printf("%-6s  p50 %s ms, p99 %s ms, max %s ms, memory %s MB\n", to_string(kind),
                spread_text(f.p50_ms, 1).c_str(), spread_text(f.p99_ms, 1).c_str(),
                spread_text(f.max_ms, 1).c_str(), spread_text(f.memory_mb, 1).c_str());
  }
  std::printf("p99, hocket to bare: %.2f\n", median(figures[ServerKind::hocket].p99_ms) /
                                                 median(figures[ServerKind::bare].p99_ms));
  return 0;
}

}  // namespace

void add_watch(CLI::App& app, int& status) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* watch = app.add_subcommand("watch", "Events to many watchers");
  watch->add_option("--watchers", options->watchers, "Connections")->check(CLI::Range(1, 28'000));
  watch->add_option("--events", options->events, "Events, one after another")
      ->check(CLI::Range(1, 10'000));
  watch->add_option("--rounds", options->rounds, "Turns of each server")
      ->check(CLI::Range(1, 1'000));
  watch->callback([options, &status] { status = run(*options); });
}

}  // namespace hocket
