#include "daemon/daemon_metrics.h"

#include <cstddef>
#include <cstdint>

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
  for (std::size_t i = 0; i < kErrorOrigins; ++i) {
    const auto where = static_cast<ErrorOrigin>(i);
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

}  // namespace

void add_server_metrics(const ServerCounts& counts, MetricsText& metrics) {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  for (int i = 1; i < 6; ++i) {
    metrics.counter("hocket_http_responses_total", "Responses by class of status",
                    {{"class", std::to_string(i) + "xx"}}, number(counts.responses_by_class[i]));
  }
  const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
    metrics.counter(name, help, {}, number(value));
  };
  counter("hocket_http_connections_total", "Connections accepted", counts.connections);
  counter("hocket_http_refused_connections_total", "Connections over the limit",
          counts.refused_connections);
  counter("hocket_http_received_bytes_total", "Bytes of requests", counts.received_bytes);
  counter("hocket_http_sent_bytes_total", "Bytes of responses and events", counts.sent_bytes);
  counter("hocket_http_events_total", "Events written to streams", counts.events);
  counter("hocket_http_rate_limited_total", "Requests answered 429", counts.rate_limited);
  counter("hocket_http_timeouts_total", "Requests and clients that were too slow", counts.timeouts);
  counter("hocket_http_malformed_total", "Requests that could not be parsed", counts.malformed);
  counter("hocket_http_foreign_total", "Requests refused for their host, origin or type",
          counts.foreign);
  counter("hocket_http_failed_handshakes_total", "TLS handshakes that failed",
          counts.failed_handshakes);
  metrics.gauge("hocket_http_open_connections", "Connections that are open", {},
                number(counts.open_connections));
  metrics.gauge("hocket_http_open_streams", "Streams of events that are open", {},
                number(counts.open_streams));
}

std::string daemon_metrics(const DaemonState& state, const ServerCounts& server,
                           const StoreKeeper::Counts& pruned) {
  MetricsText text;
  add_server_metrics(server, text);
  add_metrics(state.live.counts(), text);
  text.gauge("hocket_jobs", "Jobs that are running", {}, static_cast<double>(state.jobs.size()));
  for (const RunningJob& job : state.jobs.list()) add_metrics(job, text);
  text.gauge("hocket_keys_set_aside", "Keys whose tuning has stopped after an error", {},
             static_cast<double>(state.live.set_aside().size()));
  add_metrics(state.errors, text);
  text.gauge("hocket_store_up", "Whether the store could be reached a second ago", {},
             state.live.reaches_store() ? 1 : 0);
  add_metrics(state.live.sizes(), text);
  text.gauge("hocket_study_sessions", "Studies whose search is in memory", {},
             static_cast<double>(state.studies.sessions()));
  add_metrics(pruned, text);
  return text.text();
}

}  // namespace hocket
