#include "daemon/server/server_metrics.h"

#include <cstdint>
#include <string>

namespace hocket {

void add_metrics(const ServerCounts& counts, MetricsText& metrics) {
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

}  // namespace hocket
