#pragma once

// The communication that makes one layout of a value of another. Pure; any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/value_type.h"
#include "core/layout/layout.h"

namespace hocket {

enum class ConversionKind : std::uint8_t {
  slice,           ///< of what a rank has: nothing is sent
  all_reduce,      ///< of partial sums
  reduce_scatter,  ///< of partial sums, into a divided dimension
  all_gather,      ///< of a divided dimension
  all_to_all,      ///< from one divided dimension to another
  summand,         ///< of a whole value: one rank has it, the others have 0
};

/// "all_gather", …
std::string_view to_string(ConversionKind kind);

/// One step of a conversion, over some axes at once.
struct ConversionStep {
  ConversionKind kind = ConversionKind::slice;
  /// Outermost first. Those of one dimension divide it in this order.
  std::vector<std::size_t> axes = {};
  DividedPlace from = {};  ///< of all-gather and all-to-all
  DividedPlace to = {};    ///< of slice, reduce-scatter and all-to-all
  Layout before = {}, after = {};

  /// Bytes that each rank sends, as a ring does: of n ranks' B bytes, (n − 1) / n · B for all but
  /// all-reduce, which is twice as much.
  double sent_bytes(const ValueType& type, const Mesh& mesh) const;
};

/// Returns the steps from one layout of a value to another, as few bytes as follow from its rule:
/// what is divided is divided before anything is sent, dimensions are gathered from the innermost
/// division outwards, and neighbouring axes go together. Summands of a divided value are made of
/// the whole.
std::vector<ConversionStep> convert_layout(const Layout& from, const Layout& to, const Mesh& mesh);

/// Returns the bytes that each rank sends for all steps.
double sent_bytes(const std::vector<ConversionStep>& steps, const ValueType& type,
                  const Mesh& mesh);

}  // namespace hocket
