#pragma once

// ByteScheduler's published speeds (Peng et al., SOSP 2019, section 6; MXNet with parameter
// servers, 8 V100 a host, batch 32 a GPU): one effective bandwidth is fitted to each baseline, and
// the scheduled speed follows. Pure.

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
  double compute_ns = 0;  ///< implied computation of a step
  int tensors_per_layer = 1;
  std::array<PublishedPoint, 3> points;
};

inline constexpr PublishedModel kVgg16{
    "VGG16", 325e6, 2, {{{16, 672, 1511}, {32, 1416, 2832}, {64, 2733, 5411}}}};
inline constexpr PublishedModel kResNet50{
    "ResNet50", 155e6, 3, {{{16, 2536, 2935}, {32, 5196, 5786}, {64, 10990, 11597}}}};

/// The tensors of `layers` as StepLayers, their times scaled to the published computation. A layer
/// has its weights and small tensors of 1 KiB (a bias; scale and shift of a normalisation); the
/// last, fully connected, weights and a bias.
std::vector<StepLayer> tensors_of(const std::vector<StepLayer>& layers,
                                  const PublishedModel& model);

/// With how much bandwidth `baseline_on(bytes_per_second)` under fifo_config() takes as long as
/// published; none if it takes longer with any.
std::optional<double> fit_bandwidth(const PublishedPoint& point,
                                    const std::function<StepDescription(double)>& baseline_on);

/// What is swept: parts of 1 to 64 MiB, credit for 1, 2 or 4 of them.
const std::vector<ScheduleConfig>& tuning_grid();

/// The best partition and credit on a link of `bytes_per_second`.
Tuned tuned_schedule(const std::vector<StepLayer>& layers, double bytes_per_second,
                     const Overheads& overheads);

/// ByteScheduler's documented defaults for parameter servers: 1,000,000 and 4,000,000 parameters.
ScheduleConfig documented_default();

struct PredictedPoint {
  PublishedPoint point;
  double bytes_per_second = 0;  ///< fitted
  Tuned tuned;
  std::int64_t default_ns = 0;  ///< an iteration under documented_default()

  double images_per_second() const;
  /// Of the predicted speed, relative to the published.
  double error() const;
  double default_error() const;
};

/// None if no bandwidth fits.
std::optional<PredictedPoint> predict(const std::vector<StepLayer>& layers,
                                      const PublishedPoint& point, const Overheads& overheads);

/// Of each published point, the error when parts of 4 MB run in a window of `credit_bytes`.
struct WindowErrors {
  std::int64_t credit_bytes = 0;
  std::array<double, 3> vgg16{}, resnet50{};
};
std::vector<WindowErrors> vary_window(const std::vector<StepLayer>& vgg16,
                                      const std::vector<StepLayer>& resnet50);

/// One overhead as the explanation of what ResNet50 loses: its value by each of ResNet50's points,
/// and what the mean of the three then predicts for VGG16.
struct OverheadFit {
  std::string_view name;
  std::string_view unit;
  std::array<double, 3> fitted{};     ///< in units
  std::array<double, 3> remaining{};  ///< error of ResNet50's points at that value
  double mean = 0;                    ///< of `fitted`
  std::vector<PredictedPoint> vgg16;  ///< with the mean
  double vgg16_compute_ns = 0;        ///< VGG16's computation alone, whole tensors, with it
};
std::vector<OverheadFit> explain(const std::vector<StepLayer>& vgg16,
                                 const std::vector<StepLayer>& resnet50);

/// One bandwidth for both models, that of VGG16's baseline, and the link overhead per tensor with
/// which it reaches ResNet50's baseline, too. No scheduled speed enters.
struct SharedBandwidth {
  int gpus = 0;
  double link_ns_per_part = 0;
  PredictedPoint vgg16, resnet50;
};
std::vector<SharedBandwidth> share_bandwidth(const std::vector<StepLayer>& vgg16,
                                             const std::vector<StepLayer>& resnet50);

}  // namespace hocket
