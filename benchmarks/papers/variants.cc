#include "benchmarks/papers/variants.h"

#include <algorithm>
#include <functional>

#include "core/base/check.h"

namespace hocket {
namespace {

using Layers = std::vector<StepLayer>;
using StepOn = std::function<StepDescription(const Layers&, double bytes_per_second)>;

StepDescription duplex(const Layers& layers, double bytes_per_second) {
  return served_step(layers, bytes_per_second, {}, kWholeTensors);
}

/// Makes the first forward wait for the parameters of all layers.
StepDescription duplex_with_barrier(const Layers& layers, double bytes_per_second) {
  StepDescription step = expand(duplex(layers, bytes_per_second));
  std::vector<Access>& first = step.tasks.front().accesses;
  for (const StepTask& task : step.tasks) {
    if (!task.collective) continue;
    const DataId parameters = task.accesses.front().data;
    const bool is_own =
        std::ranges::any_of(first, [&](const Access& access) { return access.data == parameters; });
    if (!is_own) first.push_back(read(parameters));
  }
  return step;
}

StepDescription one_transfer(const Layers& layers, double bytes_per_second) {
  StepDescription step;
  step.layers = layers;
  step.collective.beta_ns_per_byte = 1e9 / bytes_per_second;
  return step;
}

std::array<double, 3> errors(const Layers& layers, const PublishedModel& published,
                             const StepOn& baseline, bool duplex_parts) {
  std::array<double, 3> errors{};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const PublishedPoint& point = published.points[i];
    const auto bandwidth = fit_bandwidth(
        point, [&](double bytes_per_second) { return baseline(layers, bytes_per_second); });
    HOCKET_CHECK(bandwidth, "no bandwidth fits the baseline");
    const Tuned tuned = duplex_parts ? tuned_schedule(layers, *bandwidth, {})
                                     : fastest(tuning_grid(), [&](const ScheduleConfig&) {
                                         return one_transfer(layers, *bandwidth);
                                       });
    errors[i] =
        point.step_ns(point.scheduled_images_per_second) / static_cast<double>(tuned.iteration_ns) -
        1;
  }
  return errors;
}

}  // namespace

std::vector<Variant> vary_baseline(const Layers& vgg16, const Layers& resnet50) {
  const auto variant = [&](std::string_view name, const StepOn& baseline, bool duplex_parts) {
    return Variant{.name = name,
                   .vgg16 = errors(vgg16, kVgg16, baseline, duplex_parts),
                   .resnet50 = errors(resnet50, kResNet50, baseline, duplex_parts)};
  };
  return {variant("pull after push, both ways at once", duplex, true),
          variant("the same, and a barrier", duplex_with_barrier, true),
          variant("push and pull as one transfer", one_transfer, false)};
}

}  // namespace hocket
