#pragma once

// The daemon's metrics in the Prometheus text format, version 0.0.4. Collected anew for each
// response: one thread fills and reads a MetricsText.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// Content type of the text.
inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  MetricsText();
  ~MetricsText();

  /// Add a value. Values with the same name are grouped in the text, under the first one's help.
  void counter(const std::string& name, const std::string& help, const Labels& labels,
               double value);
  void gauge(const std::string& name, const std::string& help, const Labels& labels, double value);

  std::string text() const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace hocket
