#include "daemon/metrics/metrics_text.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

namespace hocket {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct MetricsText::Families {
  std::vector<MetricFamily> families;

  ClientMetric& add(MetricType type, const std::string& name, const std::string& help,
                    const Labels& labels) {
    auto family = std::find_if(families.begin(), families.end(),
                               [&](const MetricFamily& f) { return f.name == name; });
    if (family == families.end()) {
      family = families.insert(families.end(), MetricFamily{name, help, type, {}});
    }
    ClientMetric& metric = family->metric.emplace_back();
    for (const auto& [label, value] : labels) metric.label.push_back({label, value});
    return metric;
  }
};

MetricsText::MetricsText() : families_(std::make_unique<Families>()) {}

MetricsText::~MetricsText() = default;

void MetricsText::counter(const std::string& name, const std::string& help, const Labels& labels,
                          double value) {
  families_->add(MetricType::Counter, name, help, labels).counter.value = value;
}

void MetricsText::gauge(const std::string& name, const std::string& help, const Labels& labels,
                        double value) {
  families_->add(MetricType::Gauge, name, help, labels).gauge.value = value;
}

std::string MetricsText::text() const {
  return prometheus::TextSerializer().Serialize(families_->families);
}

}  // namespace hocket
