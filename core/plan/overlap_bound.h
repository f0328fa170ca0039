#pragma once

// Least time of an iteration when communication hides behind computation as well as the order of
// layers allows. Pure.

#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

/// One layer of a data-parallel step, or any group of parameters that is communicated together.
struct LayerCost {
  std::string name;
  /// Includes the update of the layer's parameters.
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  /// Time to communicate the layer's bytes on an otherwise idle link.
  std::int64_t communication_ns = 0;

  bool operator==(const LayerCost&) const = default;
};

/// Returns T* = max( Σf + Σb, max over k of [ Σ_{j≥k} b_j + Σ_{i≤k} m_i + Σ_{j≥k} f_j ] ) for
/// layers in forward order: layers 1…k are not all communicated before backward has reached k, and
/// forward of k…n does not begin before they are (after ByteScheduler, SOSP 2019, section 4.1).
/// Assumes that communication is infinitely divisible and free of overhead, and that computation is
/// one stream.
std::int64_t overlap_bound_ns(const std::vector<LayerCost>& layers);

/// Returns η = (C + M − T) / (C + M − T*): 1 when an iteration of `iteration_ns` reaches the bound,
/// 0 when nothing overlaps, and 1 when nothing can overlap.
double overlap_efficiency(std::int64_t compute_ns, std::int64_t communication_ns,
                          std::int64_t bound_ns, std::int64_t iteration_ns);
double overlap_efficiency(const std::vector<LayerCost>& layers, std::int64_t iteration_ns);

}  // namespace hocket
