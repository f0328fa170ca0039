#include "core/plan/overlap_bound.h"

#include <algorithm>

namespace hocket {

std::int64_t overlap_bound_ns(const std::vector<LayerCost>& layers) {
  std::int64_t compute_from_k = 0;
  for (const LayerCost& layer : layers) compute_from_k += layer.forward_ns + layer.backward_ns;
  std::int64_t bound = compute_from_k;
  std::int64_t communication_to_k = 0;
  for (const LayerCost& layer : layers) {
    communication_to_k += layer.communication_ns;
    bound = std::max(bound, compute_from_k + communication_to_k);
    compute_from_k -= layer.forward_ns + layer.backward_ns;
  }
  return bound;
}

double overlap_efficiency(std::int64_t compute_ns, std::int64_t communication_ns,
                          std::int64_t bound_ns, std::int64_t iteration_ns) {
  const std::int64_t serial_ns = compute_ns + communication_ns;
  const std::int64_t hideable_ns = serial_ns - bound_ns;
  if (hideable_ns <= 0) return 1;
  return static_cast<double>(serial_ns - iteration_ns) / static_cast<double>(hideable_ns);
}

double overlap_efficiency(const std::vector<LayerCost>& layers, std::int64_t iteration_ns) {
  std::int64_t compute_ns = 0, communication_ns = 0;
  for (const LayerCost& layer : layers) {
    compute_ns += layer.forward_ns + layer.backward_ns;
    communication_ns += layer.communication_ns;
  }
  return overlap_efficiency(compute_ns, communication_ns, overlap_bound_ns(layers), iteration_ns);
}

}  // namespace hocket
