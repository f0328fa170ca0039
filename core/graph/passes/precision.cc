#include "core/graph/passes/precision.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/graph/maths.h"
#include "core/graph/passes/graph_copy.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Kinds that are worth computing in few bits by themselves.
bool is_narrow(Kind kind) {
  return kind == Kind::matmul || kind == Kind::attention || kind == Kind::embedding ||
         kind == Kind::rotary;
}

/// Returns true for kinds that only a derivative or an optimiser adds.
bool is_later(Kind kind) {
  return kind == Kind::adamw || kind == Kind::sgd || to_string(kind).ends_with("_gradient");
}

class Precision {
 public:
  Precision(const Graph& graph, const PrecisionOptions& options)
      : copy_(graph), options_(options) {}

  Result<Graph> run() {
    for (const Operation& operation : copy_.from().operations()) {
      if (is_later(operation.kind)) {
        return failure(ErrorCode::invalid_argument,
                       words_of(operation) +
                           " belongs to a derivative or an optimiser; lower the precision before");
      }
      if (operation.kind <= Kind::constant || operation.kind == Kind::convert)
        copy_.copy(operation);
      else
        copy_.copy(operation, operation.region, converted_operands(operation));
    }
    if (options_.computes == NumberType::float16)
      copy_.to().named_parameter(std::string(kLossScale), {NumberType::float32, {}});
    copy_.copy_outputs();
    return copy_.take();
  }

 private:
  bool is_wide(const Operation& operation) const {
    return std::ranges::find(options_.wide_kinds, operation.kind) != options_.wide_kinds.end() ||
           std::ranges::any_of(options_.wide_regions, [&](const std::string& pattern) {
             return matched_region(pattern, operation.region).has_value();
           });
  }

  /// Returns true for a value whose float32 says nothing of how it is to be computed with.
  bool is_leaf(ValueId value) const {
    const Graph& graph = copy_.from();
    return graph.operations()[graph.producer(value)].kind <= Kind::constant;
  }

  NumberType type_for(const Operation& operation) {
    if (is_wide(operation)) return NumberType::float32;
    if (is_narrow(operation.kind)) return options_.computes;
    const bool follows_wide = std::ranges::any_of(operation.operands, [&](ValueId operand) {
      return !is_leaf(operand) && copy_.at(operand).type().numbers == NumberType::float32;
    });
    return follows_wide ? NumberType::float32 : options_.computes;
  }

  std::vector<Value> converted_operands(const Operation& operation) {
    const NumberType type = type_for(operation);
    std::vector<Value> operands;
    for (const ValueId operand : operation.operands) {
      const Value value = copy_.at(operand);
      const bool is_whole = !is_floating(value.type().numbers);
      operands.push_back(is_whole ? value : converted(operand, value, type, operation));
    }
    return operands;
  }

  Value converted(ValueId operand, Value value, NumberType type, const Operation& user) {
    if (value.type().numbers == type) return value;
    const auto known = converted_.find({operand, type});
    if (known != converted_.end()) return copy_.to().value(known->second);
    const Graph& graph = copy_.from();
    const Operation& producer = graph.operations()[graph.producer(operand)];
    const auto region = copy_.to().at(producer.region.empty() ? user.region : producer.region);
    const Value result = convert(value, type);
    converted_.emplace(std::pair{operand, type}, result.id());
    return result;
  }

  GraphCopy copy_;
  const PrecisionOptions& options_;
  std::map<std::pair<ValueId, NumberType>, ValueId> converted_;
};

}  // namespace

std::vector<OperationKind> usual_wide_kinds() {
  return {Kind::sum,       Kind::softmax,     Kind::exponential,
          Kind::logarithm, Kind::square_root, Kind::reciprocal_square_root,
          Kind::is_finite};
}

Result<Graph> lower_precision(const Graph& graph, const PrecisionOptions& options) {
  if (!is_floating(options.computes)) {
    return failure(ErrorCode::invalid_argument, "expected float32, bfloat16 or float16, found " +
                                                    std::string(to_string(options.computes)));
  }
  for (const std::string& pattern : options.wide_regions)
    if (auto ok = check_region_pattern(pattern); !ok) return failure(ok.error().in("region"));
  if (options.computes == NumberType::float32) return graph;
  return Precision(graph, options).run();
}

}  // namespace hocket
