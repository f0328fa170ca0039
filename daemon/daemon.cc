#include "daemon/daemon.h"

#include <utility>

#include "daemon/api/daemon_state.h"
#include "daemon/api/openapi.h"
#include "daemon/daemon_metrics.h"
#include "daemon/live/search_runner.h"
#include "daemon/retention/store_keeper.h"

namespace hocket {
namespace {

class AssembledDaemon final : public Daemon {
 public:
  AssembledDaemon(DaemonOptions options, Store& store, const Clock& clock)
      : state_(store, clock,
               {.tokens = std::move(options.tokens),
                .description = kOpenApi,
                .metrics =
                    [this] { return daemon_metrics(state_, server_->counts(), keeper_.counts()); },
                .log = options.log,
                .now_unix_ns = options.now_unix_ns,
                .is_daemon = options.is_daemon,
                .hidden_folders = std::move(options.hidden_folders),
                .traces = std::move(options.traces),
                .searches = &searches_}),
        keeper_({.store = store,
                 .store_path = std::move(options.store_path),
                 .policy = options.retention,
                 .clock = clock,
                 .now_unix_ns = options.now_unix_ns,
                 .log = options.log,
                 .errors = state_.errors,
                 .traces = state_.traces.are_taken() ? &state_.traces : nullptr}) {}

  Result<void> listen(ServerOptions options, Log log) {
    auto server =
        Server::create(std::move(options), state_.api, state_.feed, std::move(log), state_.errors);
    HOCKET_TRY(server);
    server_ = std::move(*server);
    return {};
  }

  /// Call before run().
  void use(AccessTokens tokens) { state_.tokens = std::move(tokens); }

  Server& server() override { return *server_; }

  void run() override {
    if (state_.is_daemon) {
      state_.live.start();
      keeper_.start();
    }
    state_.changes.start();
    server_->run();
  }

 private:
  SearchThread searches_;
  DaemonState state_;
  StoreKeeper keeper_;
  std::unique_ptr<Server> server_;  // last: its threads use the state
};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::create(DaemonOptions options, Store& store,
                                               const Clock& clock) {
  ServerOptions server = std::move(options.server);
  server.is_open = !options.make_tokens && options.tokens.is_open();
  const Log log = options.log;
  const auto make_tokens = options.make_tokens;
  auto daemon = std::make_unique<AssembledDaemon>(std::move(options), store, clock);
  HOCKET_TRY(daemon->listen(std::move(server), log));
  if (make_tokens) {
    auto tokens = make_tokens(daemon->server().port());
    HOCKET_TRY(tokens);
    daemon->use(std::move(*tokens));
  }
  return daemon;
}

}  // namespace hocket
