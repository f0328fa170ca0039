#include "tuner/daemon/daemon.h"

#include <utility>

#include "tuner/daemon/api/api.h"
#include "tuner/daemon/api/openapi.h"
#include "tuner/daemon/server/metrics.h"

namespace hocket {
namespace {

void add_metrics(const LiveCounts& counts, std::size_t jobs, MetricsText& metrics) {
  const auto candidates = [&](const char* status, std::uint64_t count) {
    metrics.counter("hocket_candidates_total", "Candidates tried on running jobs, by outcome",
                    {{"outcome", status}}, static_cast<double>(count));
  };
  candidates("applied", counts.kept);
  candidates("rolled_back", counts.rolled_back);
  candidates("rejected", counts.rejected);
  metrics.counter("hocket_candidates_offered_total", "Candidates sent to jobs", {},
                  static_cast<double>(counts.offered));
  metrics.counter("hocket_drifts_total", "Drifts that began a search again", {},
                  static_cast<double>(counts.drifts));
  metrics.counter("hocket_releases_total", "Versions sent to all jobs of a key", {},
                  static_cast<double>(counts.releases));
  metrics.counter("hocket_withdrawals_total", "Versions taken back", {},
                  static_cast<double>(counts.withdrawals));
  metrics.gauge("hocket_jobs", "Jobs that are running", {}, static_cast<double>(jobs));
}

class AssembledDaemon final : public Daemon {
 public:
  AssembledDaemon(DaemonOptions options, Store& store, const Clock& clock)
      : tokens_(std::move(options.tokens)),
        board_(store, feed_),
        live_({.store = store,
               .feed = feed_,
               .board = board_,
               .jobs = jobs_,
               .clock = clock,
               .log = options.log}),
        studies_(store),
        api_({.store = store,
              .feed = feed_,
              .board = board_,
              .jobs = jobs_,
              .live = live_,
              .studies = studies_,
              .clock = clock,
              .tokens = tokens_,
              .description = kOpenApi,
              .metrics = [this] { return metrics(); },
              .log = options.log}) {}

  Result<void> listen(ServerOptions options, Log log) {
    auto server = Server::create(std::move(options), api_, feed_, std::move(log));
    HOCKET_TRY(server);
    server_ = std::move(*server);
    return {};
  }

  /// Call before run().
  void use(Tokens tokens) { tokens_ = std::move(tokens); }

  Server& server() override { return *server_; }

  void run() override {
    live_.start();
    server_->run();
  }

 private:
  std::string metrics() const {
    MetricsText text;
    add_metrics(server_->counts(), text);
    add_metrics(live_.counts(), jobs_.list().size(), text);
    return text.text();
  }

  Tokens tokens_;
  Feed feed_;
  ConfigBoard board_;
  JobRegistry jobs_;
  LiveTuning live_;
  StudyService studies_;
  Api api_;
  std::unique_ptr<Server> server_;  // last: its threads use all of the above
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
