#pragma once

// Alternative readings of the published baseline to the served step, and their predictions. Pure.

#include <array>
#include <string_view>
#include <vector>

#include "benchmarks/papers/reproduction.h"

namespace hocket {

/// Errors of the tuned schedule at each published point.
struct Variant {
  std::string_view name;
  std::array<double, 3> vgg16{}, resnet50{};
};

/// Returns the variants: the served step; with a barrier between iterations; and with push and pull
/// as one transfer that holds the link once, so that parts gain only by their order.
std::vector<Variant> vary_baseline(const std::vector<StepLayer>& vgg16,
                                   const std::vector<StepLayer>& resnet50);

}  // namespace hocket
