#include "daemon/daemon.h"

#include <utility>

#include "daemon/api/daemon_state.h"
#include "daemon/api/openapi.h"
#include "daemon/live/search_runner.h"
#include "daemon/metrics/metrics.h"
#include "daemon/retention/store_keeper.h"
#include "daemon/server/server_metrics.h"

namespace hocket {
namespace {

void add_metrics(const LiveCounts& counts, MetricsText& metrics) {
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
}

void add_metrics(const InternalErrors& errors, MetricsText& metrics) {
  for (std::size_t i = 0; i < kWheres; ++i) {
    const auto where = static_cast<Where>(i);
    metrics.counter("hocket_internal_errors_total", "Exceptions caught, by what threw",
                    {{"where", std::string(to_string(where))}},
                    static_cast<double>(errors.count(where)));
  }
}

void add_metrics(const LiveTuning::Sizes& sizes, MetricsText& metrics) {
  metrics.gauge("hocket_live_keys", "Keys in memory", {}, static_cast<double>(sizes.keys));
  metrics.gauge("hocket_live_claimed_keys", "Keys for which this daemon decides", {},
                static_cast<double>(sizes.claims));
  metrics.gauge("hocket_live_pending_events",
                "Jobs, reports and keys that live tuning has not seen", {},
                static_cast<double>(sizes.pending_events));
  metrics.gauge("hocket_live_waiting_outcomes", "Outcomes of versions that wait for the store", {},
                static_cast<double>(sizes.waiting_outcomes));
}

void add_metrics(const StoreKeeper::Counts& counts, MetricsText& metrics) {
  const auto pruned = [&](const char* what, std::uint64_t count) {
    metrics.counter("hocket_pruned_total", "Rows of the store that this daemon has removed",
                    {{"what", what}}, static_cast<double>(count));
  };
  pruned("study", counts.studies);
  pruned("audit_entry", counts.audit_entries);
  pruned("profile", counts.profiles);
}

/// Adds the measurements of a job, by its name and id.
void add_metrics(const RunningJob& job, MetricsText& metrics) {
  const MetricsText::Labels labels = {{"name", job.description.name}, {"job", job.description.id}};
  if (job.iteration_ns > 0) {
    metrics.gauge("hocket_job_iteration_seconds", "Median of a job's latest iterations", labels,
                  job.iteration_ns / 1e9);
  }
  for (const auto& [name, value] : job.values) {
    MetricsText::Labels its = labels;
    its.emplace_back("value", name);
    metrics.gauge("hocket_job_value", "What a job measures itself; the name ends in the unit", its,
                  value);
  }
}

class AssembledDaemon final : public Daemon {
 public:
  AssembledDaemon(DaemonOptions options, Store& store, const Clock& clock)
      : state_(store, clock,
               {.tokens = std::move(options.tokens),
                .description = kOpenApi,
                .metrics = [this] { return metrics(); },
                .log = options.log,
                .now_unix_ns = options.now_unix_ns,
                .is_daemon = options.is_daemon,
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
  void use(Tokens tokens) { state_.tokens = std::move(tokens); }

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
  std::string metrics() const {
    MetricsText text;
    add_metrics(server_->counts(), text);
    add_metrics(state_.live.counts(), text);
    text.gauge("hocket_jobs", "Jobs that are running", {}, static_cast<double>(state_.jobs.size()));
    for (const RunningJob& job : state_.jobs.list()) add_metrics(job, text);
    text.gauge("hocket_keys_set_aside", "Keys whose tuning has stopped after an error", {},
               static_cast<double>(state_.live.set_aside().size()));
    add_metrics(state_.errors, text);
    text.gauge("hocket_store_up", "Whether the store could be reached a second ago", {},
               state_.live.reaches_store() ? 1 : 0);
    add_metrics(state_.live.sizes(), text);
    text.gauge("hocket_study_sessions", "Studies whose search is in memory", {},
               static_cast<double>(state_.studies.sessions()));
    add_metrics(keeper_.counts(), text);
    return text.text();
  }

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
