// Measures requests per second over persistent connections with one request in flight each: answers
// with 304, and with a body. hocket's daemon and a bare server take turns.
//
//   daemon_load fetch [--connections N] [--seconds S] [--rounds R] [--json]

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <memory>

#include "benchmarks/daemon/load.h"
#include "benchmarks/daemon/load_kinds.h"
#include "benchmarks/daemon/server_process.h"
#include "benchmarks/measured_table.h"

namespace hocket {
namespace {

struct FetchOptions {
  std::size_t connections = 64;
  double seconds = 2;
  int rounds = 5;
  bool json = false;
};

std::string request_to(const ServerProcess& server, bool has_body) {
  return "GET " + server.target() +
         " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: load\r\nAccept: */*\r\n" +
         (has_body ? "" : "If-None-Match: " + server.etag() + "\r\n") + "\r\n";
}

/// Returns the size of one response; all later ones have the same.
std::size_t bytes_of_response(Connections& clients, std::string_view request) {
  clients.send(0, request);
  std::string text;
  while (!response_bytes(text)) {
    clients.wait();
    text += clients.receive(0);
  }
  return text.size();
}

double requests_per_second(ServerKind kind, std::size_t connections, double seconds,
                           bool has_body) {
  ServerProcess server(kind);
  const std::string request = request_to(server, has_body);
  Connections clients(server.port(), connections);
  const std::size_t bytes = bytes_of_response(clients, request);
  std::vector<std::size_t> received(connections, 0);
  for (std::size_t i = 0; i < connections; ++i) clients.send(i, request);
  const std::int64_t begin_ns = monotonic_ns();
  const auto length_ns = static_cast<std::int64_t>(seconds * 1e9);
  std::int64_t now_ns = begin_ns;
  std::size_t answers = 0;
  for (; now_ns < begin_ns + length_ns; now_ns = monotonic_ns()) {
    for (const std::size_t i : clients.wait()) {
      received[i] += clients.receive(i).size();
      if (received[i] < bytes) continue;
      received[i] -= bytes;
      ++answers;
      clients.send(i, request);
    }
  }
  return static_cast<double>(answers) * 1e9 / static_cast<double>(now_ns - begin_ns);
}

int run(const FetchOptions& options) {
  MeasuredTable table("daemon-fetch", {"requests/s", "server"}, over_bare());
  for (const bool has_body : {false, true}) {
    std::map<ServerKind, std::vector<double>> rates;
    for (int round = 0; round < options.rounds; ++round) {
      for (const ServerKind kind : {ServerKind::hocket, ServerKind::bare}) {
        rates[kind].push_back(
            requests_per_second(kind, options.connections, options.seconds, has_body));
      }
    }
    const std::string name = has_body ? "200 with 600 bytes" : "304";
    if (options.json) {
      add_servers(table, name + ", " + std::to_string(options.connections) + " connections", rates);
      continue;
    }
    std::printf("%s, %zu connections, requests/s: hocket %s, bare %s, ratio %.2f\n", name.c_str(),
                options.connections, spread_text(rates[ServerKind::hocket], 0).c_str(),
                spread_text(rates[ServerKind::bare], 0).c_str(),
                median(rates[ServerKind::hocket]) / median(rates[ServerKind::bare]));
  }
  if (options.json) table.print();
  return 0;
}

}  // namespace

void add_fetch(CLI::App& app, int& status) {
  const auto options = std::make_shared<FetchOptions>();
  CLI::App* fetch = app.add_subcommand("fetch", "Requests over connections that are kept");
  fetch->add_option("--connections", options->connections, "Connections")
      ->check(CLI::Range(1, 10'000));
  fetch->add_option("--seconds", options->seconds, "Length of a turn")
      ->check(CLI::Range(0.01, 600.0));
  fetch->add_option("--rounds", options->rounds, "Turns of each server")
      ->check(CLI::Range(1, 1'000));
  fetch->add_flag("--json", options->json, "Print measurements for benchmarks/table");
  fetch->callback([options, &status] { status = run(*options); });
}

}  // namespace hocket
