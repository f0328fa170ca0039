#include "benchmarks/papers/reproduction.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace hocket {
namespace {

constexpr double kBatchPerGpu = 32;
constexpr std::int64_t kDefaultPartitionBytes = 4'000'000;

/// Returns the least value in (low, high] for which `reached` holds, by halving `steps` times.
/// `reached` must hold from some value on, at the latest at `high`.
template <class Predicate, class Middle>
double bisect(double low, double high, int steps, Middle middle, Predicate reached) {
  for (int i = 0; i < steps; ++i) {
    const double value = middle(low, high);
    (reached(value) ? high : low) = value;
  }
  return high;
}

std::optional<double> fit_fifo(const std::vector<StepLayer>& layers, const PublishedPoint& point,
                               const Overheads& overheads) {
  return fit_bandwidth(point, [&](double bytes_per_second) {
    return served_step(layers, bytes_per_second, overheads, kWholeTensors);
  });
}

PredictedPoint predict_on(double bytes_per_second, const std::vector<StepLayer>& layers,
                          const PublishedPoint& point, const Overheads& overheads) {
  const ScheduleConfig usual = documented_default();
  return {.point = point,
          .bytes_per_second = bytes_per_second,
          .tuned = tuned_schedule(layers, bytes_per_second, overheads),
          .default_ns = iteration_ns(
              served_step(layers, bytes_per_second, overheads, usual.partition_bytes), usual)};
}

double half(double low, double high) {
  return (low + high) / 2;
}

struct Hypothesis {
  std::string_view name;
  double Overheads::*overhead;
  double limit;  ///< largest value to try
  std::string_view unit;
  double per_unit;
};
constexpr std::array<Hypothesis, 4> kHypotheses{{
    {"a part holds the link longer", &Overheads::link_ns_per_part, 5e6, "ms", 1e6},
    {"a part costs computation", &Overheads::compute_ns_per_part, 5e6, "ms", 1e6},
    {"a step costs computation", &Overheads::compute_ns_per_step, 100e6, "ms", 1e6},
    {"computation is slower", &Overheads::compute_share, 0.5, "%", 0.01},
}};

/// Finds the value at which the overhead is too large: the baseline can no longer be reached, or
/// the prediction is as slow as published.
double fit_overhead(const std::vector<StepLayer>& layers, const PublishedPoint& point,
                    const Hypothesis& hypothesis) {
  const auto with = [&](double value) {
    Overheads overheads;
    overheads.*hypothesis.overhead = value;
    return overheads;
  };
  double possible = 0;
  bisect(0, hypothesis.limit, 16, half, [&](double value) {
    const auto prediction = predict(layers, point, with(value));
    const bool too_much = !prediction || prediction->error() <= 0;
    if (!too_much) possible = value;
    return too_much;
  });
  return possible;
}

OverheadFit explain_by(const Hypothesis& hypothesis, const std::vector<StepLayer>& vgg16,
                       const std::vector<StepLayer>& resnet50) {
  OverheadFit explanation{.name = hypothesis.name,
                          .unit = hypothesis.unit,
                          .fitted = {},
                          .remaining = {},
                          .mean = 0,
                          .vgg16 = {},
                          .vgg16_compute_ns = 0};
  Overheads overheads;
  double& value = overheads.*hypothesis.overhead;
  double sum = 0;
  for (std::size_t i = 0; i < kResNet50.points.size(); ++i) {
    value = fit_overhead(resnet50, kResNet50.points[i], hypothesis);
    explanation.fitted[i] = value / hypothesis.per_unit;
    explanation.remaining[i] = predict(resnet50, kResNet50.points[i], overheads)->error();
    sum += value;
  }
  value = sum / static_cast<double>(kResNet50.points.size());
  explanation.mean = value / hypothesis.per_unit;
  for (const PublishedPoint& point : kVgg16.points) {
    if (auto prediction = predict(vgg16, point, overheads)) {
      explanation.vgg16.push_back(std::move(*prediction));
    }
  }
  explanation.vgg16_compute_ns = compute_ns(served_step(vgg16, 1e9, overheads, kWholeTensors));
  return explanation;
}

}  // namespace

double PublishedPoint::step_ns(double images_per_second) const {
  return kBatchPerGpu * gpus / images_per_second * 1e9;
}

std::vector<StepLayer> tensors_of(const std::vector<StepLayer>& layers,
                                  const PublishedModel& model) {
  constexpr std::int64_t kSmallTensorBytes = 1024;
  double total_ns = 0;
  for (const StepLayer& layer : layers) {
    total_ns += static_cast<double>(layer.forward_ns + layer.backward_ns);
  }
  const double scale = model.compute_ns / total_ns;
  std::vector<StepLayer> tensors;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    StepLayer weights = layers[i];
    weights.forward_ns = std::llround(static_cast<double>(weights.forward_ns) * scale);
    weights.backward_ns = std::llround(static_cast<double>(weights.backward_ns) * scale);
    const int small = i + 1 == layers.size() ? 1 : model.tensors_per_layer - 1;
    weights.parameter_bytes =
        std::max(weights.parameter_bytes - small * kSmallTensorBytes, kSmallTensorBytes);
    tensors.push_back(weights);
    for (int k = 0; k < small; ++k) {
      tensors.push_back({weights.name + "." + std::to_string(k), kSmallTensorBytes, 0, 0});
    }
  }
  return tensors;
}

std::optional<double> fit_bandwidth(const PublishedPoint& point,
                                    const std::function<StepDescription(double)>& baseline_on) {
  constexpr double kLow = 1e7, kHigh = 1e12;  // bytes per second
  const double baseline_ns = point.step_ns(point.baseline_images_per_second);
  const auto fast_enough = [&](double bytes_per_second) {
    const StepDescription step = baseline_on(bytes_per_second);
    const ScheduleConfig config = step.servers ? over_servers(fifo_config()) : fifo_config();
    return static_cast<double>(iteration_ns(step, config)) <= baseline_ns;
  };
  if (!fast_enough(kHigh)) return std::nullopt;
  const auto geometric_mean = [](double low, double high) { return std::sqrt(low * high); };
  return bisect(kLow, kHigh, 32, geometric_mean, fast_enough);
}

const std::vector<ScheduleConfig>& tuning_grid() {
  static const std::vector<ScheduleConfig> grid = partition_and_credit_grid(
      {1 * MiB, 2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB, 32 * MiB, 64 * MiB}, {1, 2, 4});
  return grid;
}

Tuned tuned_schedule(const std::vector<StepLayer>& layers, double bytes_per_second,
                     const Overheads& overheads) {
  std::vector<ScheduleConfig> grid = tuning_grid();
  for (ScheduleConfig& config : grid) config = over_servers(config);
  return fastest(grid, [&](const ScheduleConfig& config) {
    return served_step(layers, bytes_per_second, overheads, config.partition_bytes);
  });
}

ScheduleConfig documented_default() {
  return over_servers(partition_and_credit_grid({kDefaultPartitionBytes}, {4}).front());
}

double PredictedPoint::images_per_second() const {
  return kBatchPerGpu * point.gpus / static_cast<double>(tuned.iteration_ns) * 1e9;
}

double PredictedPoint::error() const {
  return images_per_second() / point.scheduled_images_per_second - 1;
}

double PredictedPoint::default_error() const {
  return point.step_ns(point.scheduled_images_per_second) / static_cast<double>(default_ns) - 1;
}

std::optional<PredictedPoint> predict(const std::vector<StepLayer>& layers,
                                      const PublishedPoint& point, const Overheads& overheads) {
  const auto bandwidth = fit_fifo(layers, point, overheads);
  if (!bandwidth) return std::nullopt;
  return predict_on(*bandwidth, layers, point, overheads);
}

std::vector<WindowErrors> vary_window(const std::vector<StepLayer>& vgg16,
                                      const std::vector<StepLayer>& resnet50) {
  std::vector<WindowErrors> windows;
  for (const std::int64_t parts : {1, 2, 3, 4, 5, 6, 8, 16}) {
    const ScheduleConfig config =
        over_servers(partition_and_credit_grid({kDefaultPartitionBytes}, {parts})[0]);
    const auto error = [&](const std::vector<StepLayer>& layers, const PublishedPoint& point) {
      const auto bandwidth = fit_fifo(layers, point, {});
      HOCKET_CHECK(bandwidth, "no bandwidth fits the baseline");
      const auto step = served_step(layers, *bandwidth, {}, config.partition_bytes);
      return point.step_ns(point.scheduled_images_per_second) /
                 static_cast<double>(iteration_ns(step, config)) -
             1;
    };
    WindowErrors errors{.credit_bytes = config.credit_bytes, .vgg16 = {}, .resnet50 = {}};
    for (std::size_t i = 0; i < errors.vgg16.size(); ++i) {
      errors.vgg16[i] = error(vgg16, kVgg16.points[i]);
      errors.resnet50[i] = error(resnet50, kResNet50.points[i]);
    }
    windows.push_back(errors);
  }
  return windows;
}

std::vector<OverheadFit> explain(const std::vector<StepLayer>& vgg16,
                                 const std::vector<StepLayer>& resnet50) {
  std::vector<OverheadFit> explanations;
  for (const Hypothesis& hypothesis : kHypotheses) {
    explanations.push_back(explain_by(hypothesis, vgg16, resnet50));
  }
  return explanations;
}

std::vector<SharedBandwidth> share_bandwidth(const std::vector<StepLayer>& vgg16,
                                             const std::vector<StepLayer>& resnet50) {
  std::vector<SharedBandwidth> shared;
  for (std::size_t i = 0; i < kVgg16.points.size(); ++i) {
    const PublishedPoint& of_vgg16 = kVgg16.points[i];
    const PublishedPoint& of_resnet50 = kResNet50.points[i];
    Overheads overheads;
    const double baseline_ns = of_resnet50.step_ns(of_resnet50.baseline_images_per_second);
    overheads.link_ns_per_part = bisect(0, 5e6, 24, half, [&](double value) {
      const Overheads tried{.link_ns_per_part = value,
                            .compute_ns_per_part = 0,
                            .compute_ns_per_step = 0,
                            .compute_share = 0};
      const auto bandwidth = fit_fifo(vgg16, of_vgg16, tried);
      if (!bandwidth) return true;
      const auto step = served_step(resnet50, *bandwidth, tried, kWholeTensors);
      return static_cast<double>(iteration_ns(step, over_servers(fifo_config()))) >= baseline_ns;
    });
    const auto vgg16_prediction = predict(vgg16, of_vgg16, overheads);
    HOCKET_CHECK(vgg16_prediction, "no bandwidth fits VGG16's baseline");
    shared.push_back({.gpus = of_vgg16.gpus,
                      .link_ns_per_part = overheads.link_ns_per_part,
                      .vgg16 = *vgg16_prediction,
                      .resnet50 = predict_on(vgg16_prediction->bytes_per_second, resnet50,
                                             of_resnet50, overheads)});
  }
  return shared;
}

}  // namespace hocket
