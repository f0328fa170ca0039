#include "daemon/daemon_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using ::testing::HasSubstr;

TEST(DaemonMetrics, SayWhatTheServerCounts) {
  ServerCounts counts;
  counts.responses_by_class[4] = 7;
  counts.open_streams = 3;
  counts.sent_bytes = 12'345'678'901;
  MetricsText metrics;
  add_server_metrics(counts, metrics);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("\nhocket_http_responses_total{class=\"4xx\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("\nhocket_http_open_streams 3\n"));
  EXPECT_THAT(text, HasSubstr("\nhocket_http_sent_bytes_total 12345678901\n"));
}

}  // namespace
}  // namespace hocket
