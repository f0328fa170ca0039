#include "core/graph/interpreter/interpreter.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "core/graph/interpreter/computation.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// invalid_argument for a fraction, or a number that has more than 32 bits.
Result<void> check_whole(double number) {
  if (number == std::floor(number) && number >= std::numeric_limits<std::int32_t>::min() &&
      number <= std::numeric_limits<std::int32_t>::max())
    return {};
  return failure(ErrorCode::invalid_argument,
                 "expected whole numbers of 32 bits, found " + std::to_string(number));
}
Result<void> check_whole(Residue number) {
  return check_whole(static_cast<double>(number.whole()));
}

template <class T>
Result<void> check_numbers(const BasicNumbers<T>& numbers, const ValueType& type) {
  if (numbers.type != type) {
    return failure(ErrorCode::invalid_argument,
                   "expected " + to_string(type) + ", found " + to_string(numbers.type));
  }
  if (static_cast<std::int64_t>(numbers.values.size()) != type.count()) {
    return failure(ErrorCode::invalid_argument, "expected " + std::to_string(type.count()) +
                                                    " numbers, found " +
                                                    std::to_string(numbers.values.size()));
  }
  if (is_floating(type.numbers)) return {};
  for (const T number : numbers.values) HOCKET_TRY(check_whole(number));
  return {};
}

/// When values are used for the last time.
class LastUses {
 public:
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t kAtTheEnd = kNever - 1;

  explicit LastUses(const Graph& graph) : uses_(graph.values(), kNever) {
    for (const GraphOutput& output : graph.outputs()) uses_[output.value.index] = kAtTheEnd;
    for (std::size_t i = graph.operations().size(); i-- > 0;) {
      if (!is_needed(graph, i)) continue;
      for (const ValueId operand : graph.operations()[i].operands)
        if (uses_[operand.index] == kNever) uses_[operand.index] = i;
    }
  }

  /// Returns the operation that is the last to use a value, of those that an output needs.
  std::size_t of(ValueId value) const { return uses_[value.index]; }

  bool is_needed(const Graph& graph, std::size_t operation) const {
    const Operation& each = graph.operations()[operation];
    const std::size_t results = graph.results(each);
    for (std::size_t i = 0; i < results; ++i)
      if (of(graph.result(each, i)) != kNever) return true;
    return false;
  }

 private:
  std::vector<std::size_t> uses_;  ///< by value
};

template <class T>
class Interpreter {
 public:
  Interpreter(const Graph& graph, const BasicLeaves<T>& leaves, const InterpreterOptions& options)
      : graph_(graph),
        leaves_(leaves),
        options_(options),
        last_uses_(graph),
        values_(graph.values()) {}

  Result<std::vector<BasicNumbers<T>>> run() {
    for (std::size_t i = 0; i < graph_.operations().size(); ++i) {
      if (!last_uses_.is_needed(graph_, i)) continue;
      const Operation& operation = graph_.operations()[i];
      if (auto ok = carry_out(operation); !ok) return failure(ok.error().in(words_of(operation)));
      end_lives(operation, i);
    }
    return outputs();
  }

 private:
  Result<void> carry_out(const Operation& operation) {
    HOCKET_TRY(make_room(operation));
    auto results = operation.kind <= Kind::constant ? leaf(operation) : results_of(operation);
    HOCKET_TRY(results);
    for (std::size_t i = 0; i < results->size(); ++i) {
      BasicNumbers<T>& numbers = (*results)[i];
      if constexpr (std::is_same_v<T, double>) {
        if (options_.rounds_values)
          for (double& number : numbers.values) number = rounded(number, numbers.type.numbers);
      }
      values_[graph_.result(operation, i).index] = std::move(numbers);
    }
    return {};
  }

  Result<void> make_room(const Operation& operation) {
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i)
      live_numbers_ += graph_.type(graph_.result(operation, i)).count();
    if (live_numbers_ <= options_.most_numbers) return {};
    return failure(ErrorCode::invalid_argument,
                   "values of " + std::to_string(live_numbers_) +
                       " numbers live at the same time, expected at most " +
                       std::to_string(options_.most_numbers) + "; interpret a smaller graph");
  }

  Result<std::vector<BasicNumbers<T>>> leaf(const Operation& operation) const {
    const ValueType& type = graph_.type(operation.first_result);
    if (operation.kind == Kind::constant) {
      const double value = operation.attributes.number("value");
      if (!is_floating(type.numbers)) HOCKET_TRY(check_whole(value));
      const auto count = static_cast<std::size_t>(type.count());
      return std::vector{BasicNumbers<T>{type, std::vector<T>(count, value)}};
    }
    const auto found = leaves_.find(operation.name);
    if (found == leaves_.end()) {
      return failure(ErrorCode::invalid_argument,
                     "expected numbers of " + to_string(type) + ", found none");
    }
    HOCKET_TRY(check_numbers(found->second, type));
    return std::vector{found->second};
  }

  Result<std::vector<BasicNumbers<T>>> results_of(const Operation& operation) const {
    Computation<T> computation{operation.kind, operation.attributes, {}, {}};
    for (const ValueId operand : operation.operands)
      computation.operands.push_back(&values_[operand.index]);
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i) {
      const ValueType& type = graph_.type(graph_.result(operation, i));
      computation.results.push_back({type, std::vector<T>(static_cast<std::size_t>(type.count()))});
    }
    HOCKET_TRY(compute(computation));
    return std::move(computation.results);
  }

  /// Frees what is used no more after an operation, also results that nothing uses.
  void end_lives(const Operation& operation, std::size_t index) {
    for (const ValueId operand : operation.operands)
      if (last_uses_.of(operand) == index) end_life(operand);
    const std::size_t results = graph_.results(operation);
    for (std::size_t i = 0; i < results; ++i) {
      const ValueId result = graph_.result(operation, i);
      if (last_uses_.of(result) == LastUses::kNever) end_life(result);
    }
  }

  /// An operand that is given twice ends once.
  void end_life(ValueId value) {
    live_numbers_ -= static_cast<std::int64_t>(values_[value.index].values.size());
    values_[value.index] = {};
  }

  std::vector<BasicNumbers<T>> outputs() {
    std::vector<std::size_t> uses(values_.size());
    for (const GraphOutput& output : graph_.outputs()) ++uses[output.value.index];
    std::vector<BasicNumbers<T>> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      BasicNumbers<T>& numbers = values_[output.value.index];
      if (--uses[output.value.index] == 0)
        outputs.push_back(std::move(numbers));
      else
        outputs.push_back(numbers);
    }
    return outputs;
  }

  const Graph& graph_;
  const BasicLeaves<T>& leaves_;
  const InterpreterOptions& options_;
  const LastUses last_uses_;
  std::vector<BasicNumbers<T>> values_;  ///< by value
  std::int64_t live_numbers_ = 0;
};

template <class T>
Result<std::vector<BasicNumbers<T>>> outputs_of(const Graph& graph, const BasicLeaves<T>& leaves,
                                                const InterpreterOptions& options) {
  try {
    return Interpreter<T>(graph, leaves, options).run();
  } catch (const std::bad_alloc&) {
    return failure(ErrorCode::unavailable,
                   "the host has no memory for the graph's values; interpret a smaller graph");
  }
}

}  // namespace

Result<std::vector<Numbers>> interpret(const Graph& graph, const Leaves& leaves,
                                       const InterpreterOptions& options) {
  return outputs_of(graph, leaves, options);
}

Result<std::vector<Residues>> interpret_exactly(const Graph& graph, const ResidueLeaves& leaves,
                                                const InterpreterOptions& options) {
  return outputs_of(graph, leaves, options);
}

}  // namespace hocket
