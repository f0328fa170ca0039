#pragma once

// Carries out a graph on the host, slowly and as docs/formats/graph.md says, in double precision:
// it is what passes, derivatives and kernels are compared with.
//
// Pure; any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/value_type.h"

namespace hocket {

/// Numbers of a value in the order of its dimensions, innermost last. Those of int32 are whole.
struct Numbers {
  ValueType type;
  std::vector<double> values;

  bool operator==(const Numbers&) const = default;
};

struct InterpreterOptions {
  /// Rounds the numbers of each value, also of inputs and parameters, to the number type of the
  /// value. An operation computes its results in double precision from rounded operands. Without
  /// this, numbers stay double, so that differences between nearby points are exact enough.
  bool rounds_values = false;
  /// Most numbers in all values that live at the same time, 2 GiB by default. A value lives from
  /// the operation that makes it to the last one that uses it, outputs to the end.
  std::int64_t most_numbers = std::int64_t{1} << 28;
};

/// Inputs and parameters by name.
using Leaves = std::map<std::string, Numbers, std::less<>>;

/// Returns the values of the graph's outputs, in their order. Only operations that an output needs
/// are carried out, and only their inputs and parameters are needed; `leaves` may have more.
/// invalid_argument where one is missing, has another type or has numbers that are not of its type,
/// for an index that is out of range, and where values need more than `most_numbers`. unavailable
/// if the host has not so much memory.
Result<std::vector<Numbers>> interpret(const Graph& graph, const Leaves& leaves,
                                       const InterpreterOptions& options = {});

/// Returns the number of this type that is nearest to `value`, of two the even one; infinity
/// beyond the largest. Numbers of int32 are left as they are.
double rounded(double value, NumberType type);

}  // namespace hocket
