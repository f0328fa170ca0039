#pragma once

// Carries out a graph on the host, slowly and as docs/formats/graph.md says: in double precision,
// which derivatives and kernels are compared with, or in residues, in which a pass that only writes
// a formula otherwise keeps every bit. One set of formulas serves both.
//
// Pure; any thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/interpreter/residue.h"
#include "core/graph/value_type.h"

namespace hocket {

/// Numbers of a value in the order of its dimensions, innermost last. Those of int32 are whole.
template <class T>
struct BasicNumbers {
  ValueType type;
  std::vector<T> values;

  bool operator==(const BasicNumbers&) const = default;
};

using Numbers = BasicNumbers<double>;
using Residues = BasicNumbers<Residue>;

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
template <class T>
using BasicLeaves = std::map<std::string, BasicNumbers<T>, std::less<>>;
using Leaves = BasicLeaves<double>;
using ResidueLeaves = BasicLeaves<Residue>;

/// Returns the values of the graph's outputs, in their order. Only operations that an output needs
/// are carried out, and only their inputs and parameters are needed; `leaves` may have more.
/// invalid_argument where one is missing, has another type or has numbers that are not of its type,
/// for an index that is out of range, and where values need more than `most_numbers`. unavailable
/// if the host has not so much memory.
Result<std::vector<Numbers>> interpret(const Graph& graph, const Leaves& leaves,
                                       const InterpreterOptions& options = {});

/// Does the same in the field of residues, where no result depends on the order of a sum, nor on
/// the number type: nothing is rounded, and `rounds_values` means nothing. Attributes and constants
/// are the elements of their exact values, so that 0.25 · 4 is 1, but the double nearest to 1/3,
/// times 3, is not. Numbers of int32 stay whole: indices, numbers of steps and what a dropout keeps
/// are those of doubles. No number is infinite: `is_finite` is 1.
///
/// Two graphs have the same outputs where they are equal by the laws of a field and by
///   √(a b) = √a √b;  exp(−x) = 1 / exp(x);  sigmoid(x) = 1 / (1 + exp(−x));
///   tanh(x) = 2 sigmoid(2x) − 1;  rotary backwards undoes rotary,
/// and by the formulas of kinds in docs/formats/graph.md, so `swiglu` is `silu` times a value, and
/// `attention` that is not causal is products with `softmax`. Otherwise roots, exponentials,
/// logarithms and angles are arbitrary functions of their argument. In particular exp(a + b) is not
/// exp(a) exp(b): a sum of exponentials has to be taken of the whole row, and a gradient by the
/// logarithms of sums is not one by shares. Nor is (√a)² = a for each a.
///
/// Numbers are ordered as the whole ones between −2^60 and 2^60 that they are. Maxima, choices and
/// the signs in `relu` are the same in both graphs, but not those of doubles, unless they are
/// whole.
Result<std::vector<Residues>> interpret_exactly(const Graph& graph, const ResidueLeaves& leaves,
                                                const InterpreterOptions& options = {});

/// Returns the ranks of the group of this name that a rank is in, in ascending order.
using RankGroups =
    std::function<Result<std::vector<std::size_t>>(std::string_view group, std::size_t rank)>;

/// Carry out the programs of all ranks together, each on its own inputs and parameters, and return
/// the outputs of each. A sum over ranks is in their order. Errors name the rank; also
/// invalid_argument where ranks wait for each other without end: where the ranks of a group do not
/// come to the same communication.
Result<std::vector<std::vector<Numbers>>> interpret_ranks(const std::vector<Graph>& programs,
                                                          const std::vector<Leaves>& leaves,
                                                          const RankGroups& groups,
                                                          const InterpreterOptions& options = {});
Result<std::vector<std::vector<Residues>>> interpret_ranks_exactly(
    const std::vector<Graph>& programs, const std::vector<ResidueLeaves>& leaves,
    const RankGroups& groups, const InterpreterOptions& options = {});

/// Returns the number of this type that is nearest to `value`, of two the even one; infinity
/// beyond the largest. Numbers of int32 are left as they are.
double rounded(double value, NumberType type);

}  // namespace hocket
