// hocket web: the page of a store, without a daemon.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <ostream>

#include "cli/inputs/access/store_access.h"
#include "cli/process/harmless_signal.h"
#include "cli/verbs/verb.h"
#include "core/base/clock.h"
#include "daemon/api/own_token.h"
#include "daemon/daemon.h"

namespace hocket {
namespace {

struct WebOptions {
  std::string store;
  int port = 0;
  bool no_token = false;
};

Result<int> serve_page(const WebOptions& options, VerbContext& context) {
  const HarmlessSignal unread_pipe(SIGPIPE);
  const auto store = open_for_reading(options.store);
  HOCKET_TRY(store);
  DaemonOptions daemon{.log = Log({.level = LogLevel::warning}), .is_daemon = false};
  daemon.server.port = static_cast<std::uint16_t>(options.port);
  std::string token;
  if (!options.no_token) {
    auto made = random_token();
    HOCKET_TRY(made);
    token = std::move(*made);
    daemon.tokens = AccessTokens::of_owner(token);
  }
  const SteadyClock clock;
  const auto page = Daemon::create(std::move(daemon), **store, clock);
  HOCKET_TRY(page);
  (*page)->server().stop_on_signals();
  context.out << page_address("http://127.0.0.1:" + std::to_string((*page)->server().port()), token)
              << std::endl;
  // Without the address, which holds the token, nobody can open the page.
  if (!context.out) return kFailed;
  (*page)->run();
  return kDone;
}

}  // namespace

void add_web(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<WebOptions>();
  auto* verb = program.add_subcommand("web", "show what is stored on a web page");
  add_store_option(*verb, options->store);
  verb->add_option("--port", options->port, "of 127.0.0.1; 0: any that is free")
      ->capture_default_str()
      ->check(CLI::Range(0, 65'535));
  verb->add_flag("--no-token", options->no_token,
                 "let every user and program of this host read the store");
  verb->footer(
      "Prints the address of the page, then serves it until it gets SIGINT or SIGTERM. Nothing in\n"
      "the store is changed. A daemon (`hocket serve`) serves the same page, with its jobs.\n"
      "Example:\n  hocket web --store /var/lib/hocket/hocket.db\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return serve_page(*options, c); };
  });
}

}  // namespace hocket
