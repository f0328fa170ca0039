#pragma once

// Rules by which operations are divided over an axis of a mesh: the one table from the layouts of
// operands to those of results. It knows operations, and no model. Along one axis an operation
// follows one rule, or is carried out whole by every rank, which is always right. Pure; any thread.
//
// A rule is a loop of the operation's formula (GSPMD, Xu et al., 2021, section 3.5, has the same
// idea): rows of a product are rows of its first operand and of its result, and what is summed over
// makes the result a partial sum. Where a formula is linear, partial sums pass through it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/operation.h"
#include "core/graph/value_type.h"
#include "core/layout/layout.h"

namespace hocket {

/// The state of a value along one axis.
struct AxisLayout {
  enum class Kind : std::uint8_t { whole, divided, partial };

  Kind kind = Kind::whole;
  DividedPlace place = {};  ///< of a divided one

  static AxisLayout divided(std::size_t dimension, std::int64_t parts = 1) {
    return {Kind::divided, {dimension, parts}};
  }
  static AxisLayout partial() { return {Kind::partial, {}}; }

  bool operator==(const AxisLayout&) const = default;
};

AxisLayout along(const Layout& layout, std::size_t axis);
/// Requires a layout that is whole along the axis.
void set_along(Layout& layout, std::size_t axis, const AxisLayout& state);

struct DivisionRule {
  std::vector<AxisLayout> operands, results;
  /// Ranks have neighbouring indices, because the operation depends on them: no divisions of parts.
  bool is_contiguous = false;
};

/// Returns the rules of an operation that is neither an input, a parameter nor a constant, with
/// complete() attributes. Dimensions are divided into the fewest parts with which the rule holds;
/// it also holds where each of these is divided into as many parts more (with_parts()).
std::vector<DivisionRule> division_rules(OperationKind kind, const Attributes& attributes,
                                         std::span<const ValueType> operands,
                                         std::span<const ValueType> results);

/// Returns those of an operation of a graph.
std::vector<DivisionRule> division_rules(const Graph& graph, const Operation& operation);

/// Returns the rule with `factor` times as many parts everywhere. Requires factor 1 of a rule that
/// is contiguous.
DivisionRule with_parts(DivisionRule rule, std::int64_t factor);

}  // namespace hocket
