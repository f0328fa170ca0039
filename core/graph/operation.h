#pragma once

// The operations of a graph: pure functions from values to values. Each kind has a declaration:
// its operands and results, its attributes with their ranges, and the rule by which the results'
// types follow. One table (operation_table.cc) has all of them. Any thread.
//
// Dimensions are counted from the outermost, 0, or from the innermost, −1. Elementwise operations
// broadcast their operands (broadcast_shape()). Results have the number type of the first operand
// unless a kind says otherwise. Kinds named …_gradient are what the derivative of a kind needs and
// cannot be made of others without more memory or work.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/value_type.h"

namespace hocket {

enum class OperationKind : std::uint8_t {
  // Values from outside.
  input,      ///< of a step, such as tokens
  parameter,  ///< what is trained, or a state of an optimiser
  constant,   ///< the same number everywhere: `value`

  // Elementwise, on operands that are broadcast to one shape.
  add,
  subtract,
  multiply,
  divide,
  scale,  ///< x · `factor`
  exponential,
  logarithm,
  square_root,
  reciprocal_square_root,
  tanh,
  sigmoid,
  relu,
  gelu,    ///< by tanh (Hendrycks & Gimpel, 2016, section 2), as GPT-2 has it
  silu,    ///< x · sigmoid(x)
  swiglu,  ///< silu(gate) · up (Shazeer, 2020)
  relu_gradient,
  gelu_gradient,
  silu_gradient,
  select,   ///< a where `condition` is not 0, else b
  convert,  ///< to the number type `type`
  dropout,  ///< 0 at `rate`, else x / (1 − rate), by a counter-based generator: see below

  // Reductions and layout.
  sum,      ///< over `dimensions`, which stay with size 1 if `keep`
  maximum,  ///< the same
  maximum_gradient,
  is_finite,  ///< 1 if all numbers are finite, else 0
  reshape,
  transpose,  ///< dimension i of the result is dimension order[i]
  slice,      ///< `begin` to `end` of one dimension
  pad,        ///< zeros `before` and `after` in one dimension: the gradient of a slice
  concatenate,
  broadcast,

  // Products and normalisation.
  /// of the two innermost dimensions, transposed as attributes say; others are broadcast. What
  /// follows a product may be attributes of it, its epilogue, which passes set
  matmul,
  layer_norm,  ///< over the innermost dimension (Ba et al., 2016); also mean and 1/deviation
  layer_norm_gradient,
  rms_norm,  ///< over the innermost dimension (Zhang & Sennrich, 2019); also 1/root mean square
  rms_norm_gradient,
  softmax,  ///< over the innermost dimension
  softmax_gradient,

  // Attention.
  attention,  ///< also the logarithm of each query's sum (Dao et al., 2022, section 3.1)
  attention_gradient,
  rotary,  ///< by position along dimension −2 (Su et al., 2021); `inverse` turns back

  // Tables, choices and losses.
  embedding,
  embedding_gradient,
  cross_entropy,  ///< a loss a row of logits; also the logarithm of each row's sum
  cross_entropy_gradient,
  exponential_sum,  ///< of a row, each number less the row's `most`
  pick,             ///< the number of each row that an index says
  top_k,  ///< the `count` largest of the innermost dimension, largest first; also their indices
  top_k_gradient,
  dispatch,  ///< rows to the slots of experts, in order, as far as `capacity` reaches
  dispatch_gradient,
  combine,  ///< the rows of slots, weighted and added up
  combine_gradient,

  // Updates.
  adamw,  ///< Loshchilov & Hutter, 2019
  sgd,    ///< with momentum

  // Communications of a rank with those of its group, in the program of a rank
  // (core/layout/rank_program.h): along the outermost dimension, in the order of the ranks.
  all_reduce,      ///< the sum over the ranks
  all_gather,      ///< the values of all ranks, one after the other
  reduce_scatter,  ///< of the sum over the ranks this rank's block
  all_to_all,      ///< block i goes to rank i, whose block comes to place i
};

/// Number of kinds.
inline constexpr std::size_t kOperationKinds =
    static_cast<std::size_t>(OperationKind::all_to_all) + 1;

/// Returns whether an operation needs other ranks.
constexpr bool is_communication(OperationKind kind) {
  return kind >= OperationKind::all_reduce;
}
/// Returns whether a kind is in programs of ranks alone.
constexpr bool is_of_ranks(OperationKind kind) {
  return is_communication(kind) || kind == OperationKind::exponential_sum ||
         kind == OperationKind::pick;
}

/// "matmul", …
std::string_view to_string(OperationKind kind);
/// invalid_argument for a word that is none, with the nearest one that is.
Result<OperationKind> parse_operation_kind(std::string_view text);

/// A string is one of the words that the attribute's declaration lists.
using AttributeValue =
    std::variant<std::int64_t, double, bool, NumberType, std::vector<std::int64_t>, std::string>;

/// Settings of an operation by name, in the order of its declaration. Those that are not set have
/// their defaults.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, AttributeValue>> values);

  void set(std::string_view name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  std::span<const std::pair<std::string, AttributeValue>> all() const { return values_; }

  // Require that the attribute is there and of this type, as it is in every operation of a graph.
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  NumberType type(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const std::string& word(std::string_view name) const;

  bool operator==(const Attributes&) const = default;

 private:
  std::vector<std::pair<std::string, AttributeValue>> values_;
};

struct AttributeDeclaration {
  std::string_view name;
  /// The default, unless the attribute is required; either way it has the attribute's type.
  AttributeValue value;
  bool is_required = false;
  /// Range of an integer or a number, and of each of several integers.
  double low = 0, high = 0;
  /// The words that there are; none: the name of a group of ranks (core/step/mesh.h).
  std::vector<std::string_view> words = {};
};

/// An operand or a result. One with `if_set` is there only where the attribute of this name has
/// another value than its default.
struct ValueDeclaration {
  constexpr ValueDeclaration(const char* name, const char* if_set = "")
      : name(name), if_set(if_set) {}

  std::string_view name;
  std::string_view if_set;
};

struct OperationDeclaration {
  OperationKind kind = OperationKind::input;
  std::string_view name;
  std::vector<ValueDeclaration> operands;
  /// The last operand may be given more than once, or not at all.
  bool is_variadic = false;
  std::vector<ValueDeclaration> results;
  std::vector<AttributeDeclaration> attributes;
};

const OperationDeclaration& declaration_of(OperationKind kind);

/// Returns whether an operation with these complete() attributes is of the program of one rank: of
/// a kind that is_of_ranks(), or with a part of a larger value.
bool is_of_one_rank(OperationKind kind, const Attributes& attributes);

/// Completes `attributes` with defaults, in the order of the declaration. invalid_argument for one
/// that the kind does not have, that has another type, is out of its range or is missing.
Result<Attributes> complete(OperationKind kind, const Attributes& attributes);

/// Return the names of the operands and results that an operation with these complete() attributes
/// has, a variadic one once.
std::vector<std::string_view> operand_names(OperationKind kind, const Attributes& attributes);
std::vector<std::string_view> result_names(OperationKind kind, const Attributes& attributes);
/// Returns the place of an operand among these, if it is there.
std::optional<std::size_t> operand_place(OperationKind kind, const Attributes& attributes,
                                         std::string_view operand);
std::size_t result_count(OperationKind kind, const Attributes& attributes);

/// Returns the types of the results of an operation that is neither an input, a parameter nor a
/// constant. Requires complete() attributes. invalid_argument with the operand, its type and the
/// one expected.
Result<std::vector<ValueType>> result_types(OperationKind kind, const Attributes& attributes,
                                            std::span<const ValueType> operands);

/// Returns the dimension that `dimension` counts of `rank`, −1 being the innermost. Requires one
/// that there is.
constexpr std::size_t dimension_at(std::int64_t dimension, std::size_t rank) {
  return static_cast<std::size_t>(dimension < 0 ? dimension + static_cast<std::int64_t>(rank)
                                                : dimension);
}

}  // namespace hocket
