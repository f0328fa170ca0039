#pragma once

// Reproduces ByteScheduler's published speeds (Peng et al., SOSP 2019, section 6; MXNet with
// parameter servers, 8 V100 per host, batch 32 per GPU): one effective bandwidth is fitted to each
// baseline, and the scheduled speed follows from it. Pure.

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/papers/parameter_server.h"
#include "benchmarks/papers/sweep.h"

namespace hocket {

struct PublishedPoint {
  int gpus = 0;
  double baseline_images_per_second = 0;
  double scheduled_images_per_second = 0;

  double step_ns(double images_per_second) const;
};

struct PublishedModel {
  std::string_view name;
  double compute_ns = 0;  ///< computation of a step that the published speeds imply
  int tensors_per_layer = 1;
  std::array<PublishedPoint, 3> points;
};

inline constexpr PublishedModel kVgg16{
    "VGG16", 325e6, 2, {{{16, 672, 1511}, {32, 1416, 2832}, {64, 2733, 5411}}}};
inline constexpr PublishedModel kResNet50{
    "ResNet50", 155e6, 3, {{{16, 2536, 2935}, {32, 5196, 5786}, {64, 10990, 11597}}}};

/// Returns the tensors of `layers` as StepLayers, with times scaled to the published computation. A
/// layer has its weights and small tensors of 1 KiB (a bias; scale and shift of a normalisation);
/// the last layer, which is fully connected, has weights and a bias.
std::vector<StepLayer> tensors_of(const std::vector<StepLayer>& layers,
                                  const PublishedModel& model);

/// Returns the bandwidth with which `baseline_on(bytes_per_second)` under fifo_config() takes as
/// long as published; empty if it takes longer with any bandwidth.
std::optional<double> fit_bandwidth(const PublishedPoint& point,
                                    const std::function<StepDescription(double)>& baseline_on);

/// Returns the configurations to sweep: parts of 1 to 64 MiB, with credit for 1, 2 or 4 of them.
const std::vector<ScheduleConfig>& tuning_grid();

/// Returns the best partition and credit on a link of `bytes_per_second`.
Tuned tuned_schedule(const std::vector<StepLayer>& layers, double bytes_per_second,
                     const Overheads& overheads);

/// Returns ByteScheduler's documented defaults for parameter servers: 1,000,000 and 4,000,000
/// parameters.
ScheduleConfig documented_default();

struct PredictedPoint {
  PublishedPoint point;
  double bytes_per_second = 0;  ///< the fitted bandwidth
  Tuned tuned;
  std::int64_t default_ns = 0;  ///< iteration time under documented_default()

  double images_per_second() const;
  /// Returns the error of the predicted speed relative to the published one.
  double error() const;
  double default_error() const;
};

/// Returns the prediction for a point; empty if no bandwidth fits.
std::optional<PredictedPoint> predict(const std::vector<StepLayer>& layers,
                                      const PublishedPoint& point, const Overheads& overheads);

/// Errors at each published point when parts of 4 MB run with `credit_bytes`.
struct WindowErrors {
  std::int64_t credit_bytes = 0;
  std::array<double, 3> vgg16{}, resnet50{};
};
std::vector<WindowErrors> vary_window(const std::vector<StepLayer>& vgg16,
                                      const std::vector<StepLayer>& resnet50);

/// One overhead as an explanation of ResNet50's loss: its value fitted to each of ResNet50's
/// points, and what the mean of the three predicts for VGG16.
struct OverheadFit {
  std::string_view name;
  std::string_view unit;
  std::array<double, 3> fitted{};     ///< in `unit`
  std::array<double, 3> remaining{};  ///< errors of ResNet50's points at these values
  double mean = 0;                    ///< mean of `fitted`
  std::vector<PredictedPoint> vgg16;  ///< predictions with the mean
  double vgg16_compute_ns = 0;        ///< VGG16's computation with the mean, whole tensors
};
std::vector<OverheadFit> explain(const std::vector<StepLayer>& vgg16,
                                 const std::vector<StepLayer>& resnet50);

/// The same bandwidth for both models, that of VGG16's baseline, and the link overhead per tensor
/// with which ResNet50's baseline is reached as well. Uses no scheduled speed.
struct SharedBandwidth {
  int gpus = 0;
  double link_ns_per_part = 0;
  PredictedPoint vgg16, resnet50;
};
std::vector<SharedBandwidth> share_bandwidth(const std::vector<StepLayer>& vgg16,
                                             const std::vector<StepLayer>& resnet50);

}  // namespace hocket
