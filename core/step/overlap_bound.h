#pragma once

// The least time that an iteration can take when communication hides behind computation as well as
// the order of layers allows. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

/// One layer of a data-parallel step, or any group of parameters that is communicated as one.
struct LayerCost {
  std::string name;
  std::int64_t forward_ns = 0;  ///< with the update of its parameters
  std::int64_t backward_ns = 0;
  std::int64_t communication_ns = 0;  ///< its bytes on an otherwise idle link

  bool operator==(const LayerCost&) const = default;
};

/// T* = max( Σf + Σb, max over k of [ Σ_{j≥k} b_j + Σ_{i≤k} m_i + Σ_{j≥k} f_j ] ) for layers in
/// forward order: layers 1…k cannot all be communicated before backward has reached k, nor forward
/// of k…n begin before they are (after ByteScheduler, SOSP 2019, section 4.1). Communication is
/// taken as infinitely divisible and free of overhead, computation as one stream.
std::int64_t overlap_bound_ns(const std::vector<LayerCost>& layers);

/// η = (C + M − T) / (C + M − T*): 1 when an iteration of `iteration_ns` reaches the bound, 0 when
/// nothing overlaps. 1 when there is nothing to overlap.
double overlap_efficiency(std::int64_t compute_ns, std::int64_t communication_ns,
                          std::int64_t bound_ns, std::int64_t iteration_ns);
double overlap_efficiency(const std::vector<LayerCost>& layers, std::int64_t iteration_ns);

}  // namespace hocket
