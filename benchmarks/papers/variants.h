#pragma once

// Other ways to read the published baseline than fifo_step(), and what they predict. Pure.

#include <array>
#include <string_view>
#include <vector>

#include "benchmarks/papers/reproduction.h"

namespace hocket {

/// Errors of the tuned schedule on each published point.
struct Variant {
  std::string_view name;
  std::array<double, 3> vgg16{}, resnet50{};
};

/// As fifo_step(); with a barrier between iterations; and with push and pull as one transfer that
/// holds the link once, which leaves nothing for parts to gain but their order.
std::vector<Variant> vary_baseline(const std::vector<StepLayer>& vgg16,
                                   const std::vector<StepLayer>& resnet50);

}  // namespace hocket
