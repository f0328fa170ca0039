#include "profiler/metrics/layer_costs.h"

#include <map>
#include <string_view>

#include "core/base/statistics.h"

namespace hocket {
namespace {

struct StepTimes {
  double forward_ns = 0, backward_ns = 0;
};

std::size_t group_of(std::string_view task, const Workload& workload,
                     const LayerCostOptions& options) {
  const std::string tensor = options.tensor_of(task);
  for (std::size_t i = 0; i < workload.tensors.size(); ++i)
    if (workload.tensors[i].name == tensor) return i;
  return workload.tensors.size() - 1;
}

}  // namespace

std::vector<LayerCost> layer_costs(const std::vector<TraceEvent>& events, const Workload& workload,
                                   const LayerCostOptions& options) {
  std::vector<std::map<std::int64_t, StepTimes>> times(workload.tensors.size());
  for (const TraceEvent& event : events) {
    if (event.kind != TraceKind::compute || event.step < options.warmup) continue;
    StepTimes& step = times[group_of(event.name, workload, options)][event.step];
    (options.is_backward(event.name) ? step.backward_ns : step.forward_ns) +=
        static_cast<double>(event.end_ns - event.begin_ns);
  }

  std::vector<LayerCost> layers;
  for (std::size_t i = 0; i < workload.tensors.size(); ++i) {
    const TensorSpec& tensor = workload.tensors[i];
    std::vector<double> forward = {}, backward = {};
    for (const auto& [step, time] : times[i]) {
      forward.push_back(time.forward_ns);
      backward.push_back(time.backward_ns);
    }
    const double wire_bytes =
        static_cast<double>(tensor.bytes) * 2 * (options.world_size - 1) / options.world_size;
    layers.push_back({tensor.name, forward.empty() ? 0 : static_cast<std::int64_t>(median(forward)),
                      backward.empty() ? 0 : static_cast<std::int64_t>(median(backward)),
                      static_cast<std::int64_t>(wire_bytes / options.link.bytes_per_second * 1e9)});
  }
  return layers;
}

}  // namespace hocket
