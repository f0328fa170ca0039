#pragma once

// Limits of the HTTP server towards its clients: sizes, numbers and times. A plain value.

#include <cstddef>
#include <cstdint>

namespace hocket {

struct ServerLimits {
  std::size_t header_bytes = 16 << 10;  ///< limit of request line and all fields; exceeding it: 431
  std::size_t body_bytes = 1 << 20;     ///< limit; exceeding it: 413
  std::size_t connections = 16'384;     ///< limit; further ones receive 503
  /// Time for a complete request, or a TLS handshake; exceeding it: 408.
  std::int64_t request_ns = 10'000'000'000;
  /// Time after which a connection between two requests is closed.
  std::int64_t idle_ns = 75'000'000'000;
  /// Time for a client to read a response or an event; exceeding it closes the connection.
  std::int64_t write_ns = 30'000'000'000;
  /// Sustained request rate per client address; 0: unlimited. Exceeding it: 429.
  double requests_per_second = 0;
  double burst = 0;  ///< number of requests allowed at once; 0: as many as in a second
};

}  // namespace hocket
