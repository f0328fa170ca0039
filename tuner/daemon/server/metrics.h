#pragma once

// Numbers about the daemon in Prometheus' text format, version 0.0.4. Collected anew for each
// answer: a MetricsText is filled and read by one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/daemon/server/server.h"

namespace hocket {

/// The content type of the text.
inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  MetricsText();
  ~MetricsText();

  /// Add a value. Calls with one name stand together in the text, under the first one's help.
  void counter(const std::string& name, const std::string& help, const Labels& labels,
               double value);
  void gauge(const std::string& name, const std::string& help, const Labels& labels, double value);

  std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

/// Adds what the server counts, as hocket_http_….
void add_metrics(const ServerCounts& counts, MetricsText& metrics);

}  // namespace hocket
