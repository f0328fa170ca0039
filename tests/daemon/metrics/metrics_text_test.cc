#include "daemon/metrics/metrics_text.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Metrics, StandTogetherByNameWithEscapedLabels) {
  MetricsText metrics;
  metrics.counter("a_total", "A's", {{"who", "x\"\\\n"}}, 1);
  metrics.gauge("b", "B", {}, 2.5);
  metrics.counter("a_total", "again", {{"who", "y"}}, 3);
  EXPECT_EQ(metrics.text(),
            "# HELP a_total A's\n# TYPE a_total counter\n"
            "a_total{who=\"x\\\"\\\\\\n\"} 1\na_total{who=\"y\"} 3\n"
            "# HELP b B\n# TYPE b gauge\nb 2.5\n");
}

}  // namespace
}  // namespace hocket
