#pragma once

// Decides where every value of a graph is, from where its inputs and parameters are: operation by
// operation, each divided over every axis as its rules allow with the least communication. Pure;
// any thread.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/layout/conversion.h"
#include "core/layout/division_rule.h"
#include "core/layout/layout.h"

namespace hocket {

/// The use of a parameter, beyond its layout.
struct ParameterUse {
  /// Axes along which the forward and the backward pass gather it, each part of the model when it
  /// needs it, to be dropped afterwards; updates use the blocks (ZeRO stage 3, Rajbhandari et al.,
  /// SC 2020, section 5.3).
  std::vector<std::size_t> gathered = {};
};

/// Normalisations and dropouts of a region are divided over an axis, along the dimension next to
/// the innermost (sequence parallelism, Korthikanti et al., 2022, section 4.2.2).
struct DividedSequence {
  std::string pattern;  ///< of regions
  std::size_t axis = 0;
};

/// The layouts of inputs and parameters, and what is asked of other values.
struct LayoutRequest {
  /// By name of the input or the parameter; others are whole.
  std::map<std::string, Layout, std::less<>> leaves = {};
  std::map<std::string, ParameterUse, std::less<>> uses = {};
  std::vector<DividedSequence> sequences = {};
};

/// A layout in which a value is there.
struct ValueVersion {
  Layout layout;
  /// The version that it is made of, and how; the first version is as the operation makes it.
  std::size_t source = 0;
  std::vector<ConversionStep> steps = {};
};

struct LayoutPlan {
  Mesh mesh = {};
  std::vector<std::vector<ValueVersion>> versions = {};  ///< by value
  /// By operation and operand: the version that it takes.
  std::vector<std::vector<std::size_t>> operands = {};
  std::vector<std::size_t> outputs = {};  ///< version of each

  const Layout& layout(ValueId value, std::size_t version = 0) const {
    return versions[value.index][version].layout;
  }
};

/// Plans the layouts of a graph, whose products have no epilogues yet. Outputs "updated/NAME" are
/// where NAME is, and others are no partial sums. Of layouts that cost the same, that which changes
/// fewest values is taken.
///
/// invalid_argument for a request that names no input or parameter, and for layouts that do not fit
/// a shape, with its region, dimension, and the nearest that would fit.
Result<LayoutPlan> plan_layouts(const Graph& graph, const Mesh& mesh, const LayoutRequest& request);

}  // namespace hocket
