#include "core/graph/passes/micro_batches.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/graph/derivative.h"
#include "core/graph/maths.h"
#include "core/graph/passes/graph_copy.h"
#include "core/graph/passes/input_dependence.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

using Kind = OperationKind;

/// Returns the inputs that are the same for all micro-batches: scalars, and keys of dropout.
std::vector<bool> shared_inputs(const Graph& graph) {
  std::vector<bool> shared(graph.values());
  for (const Operation& operation : graph.operations()) {
    if (operation.kind == Kind::input && graph.type(operation.first_result).shape.empty())
      shared[operation.first_result.index] = true;
    if (operation.kind == Kind::dropout) shared[operation.operands[1].index] = true;
  }
  return shared;
}

std::int64_t dropout_streams(const Graph& graph) {
  std::int64_t count = 0;
  for (const Operation& operation : graph.operations())
    if (operation.kind == Kind::dropout)
      count = std::max(count, operation.attributes.integer("stream") + 1);
  return count;
}

class MicroBatches {
 public:
  MicroBatches(const Graph& graph, std::int64_t count)
      : copy_(graph),
        count_(count),
        shared_(shared_inputs(graph)),
        depends_(depends_on_inputs(
            graph, [&](const Operation& input) { return !shared_[input.first_result.index]; })),
        streams_(dropout_streams(graph)) {
    std::vector<std::size_t> uses(graph.values());
    for (const Operation& operation : graph.operations())
      for (const ValueId operand : operation.operands) ++uses[operand.index];
    for (const GraphOutput& output : graph.outputs()) ++uses[output.value.index];
    for (const GraphOutput& output : graph.outputs()) {
      if (!depends_[output.value.index]) continue;
      const bool is_mean =
          graph.type(output.value).shape.empty() || output.name.starts_with(gradient_name(""));
      if (is_mean)
        totals_[linear_source(output.value, uses)] = {};
      else
        parts_[output.value] = {};
    }
  }

  Result<Graph> run() {
    HOCKET_TRY(check_outputs());
    for (const Operation& operation : copy_.from().operations())
      if (is_once(operation)) add_once(operation);
    for (std::int64_t i = 0; i < count_; ++i) {
      cut_inputs(i);
      for (const Operation& operation : copy_.from().operations())
        if (!is_once(operation) && !is_after(operation)) add_for(operation, i);
    }
    add_outputs();
    return copy_.take();
  }

 private:
  Result<void> check_outputs() const {
    const Graph& graph = copy_.from();
    for (const GraphOutput& output : graph.outputs()) {
      const ValueType& type = graph.type(output.value);
      if (!depends_[output.value.index] || is_floating(type.numbers) || !type.shape.empty())
        continue;
      return failure(ErrorCode::invalid_argument, "output \"" + output.name + "\" is " +
                                                      to_string(type) +
                                                      ", of which micro-batches have no mean");
    }
    return {};
  }

  /// Returns the value whose mean gives that of `value`: what all micro-batches are divided by or
  /// multiplied with is left for the mean.
  ValueId linear_source(ValueId value, const std::vector<std::size_t>& uses) {
    const Graph& graph = copy_.from();
    // A value that is used twice, as an output or by an operation, is needed of each micro-batch.
    while (uses[value.index] == 1) {
      const Operation& maker = graph.operations()[graph.producer(value)];
      const bool is_linear = maker.kind == Kind::scale ||
                             (maker.kind == Kind::divide && !depends_[maker.operands[1].index] &&
                              graph.type(maker.operands[0]) == graph.type(value));
      if (!is_linear) break;
      after_.insert(graph.producer(value));
      value = maker.operands[0];
    }
    return value;
  }

  bool is_after(const Operation& operation) const {
    return after_.contains(copy_.from().producer(operation.first_result));
  }

  bool is_once(const Operation& operation) const {
    return operation.kind == Kind::input || !depends_[operation.first_result.index];
  }

  void add_once(const Operation& operation) {
    if (operation.kind != Kind::input || !depends_[operation.first_result.index])
      return copy_.copy(operation);
    ValueType type = copy_.from().type(operation.first_result);
    type.shape[0] *= count_;
    const auto region = copy_.to().at(operation.region);
    inputs_.emplace_back(&operation, copy_.to().input(operation.name, type).id());
  }

  std::string region_of(const Operation& operation, std::int64_t micro_batch) const {
    return operation.region + std::string(kMicroBatch) + std::to_string(micro_batch);
  }

  void add_for(const Operation& operation, std::int64_t micro_batch) {
    Attributes attributes = operation.attributes;
    if (operation.kind == Kind::dropout)
      attributes.set("stream", attributes.integer("stream") + micro_batch * streams_);
    const std::string region = region_of(operation, micro_batch);
    copy_.copy(operation, region, copy_.operands_of(operation), attributes);
    const auto in = copy_.to().at(region);
    for (std::size_t i = 0; i < copy_.from().results(operation); ++i)
      collect(copy_.from().result(operation, i));
  }

  void cut_inputs(std::int64_t micro_batch) {
    for (const auto& [operation, whole] : inputs_) {
      const std::int64_t size = copy_.from().type(operation->first_result).shape[0];
      const auto in = copy_.to().at(region_of(*operation, micro_batch));
      const Value part =
          slice(copy_.to().value(whole), 0, micro_batch * size, (micro_batch + 1) * size);
      copy_.set(operation->first_result, part);
      collect(operation->first_result);
    }
  }

  /// Adds what a micro-batch gave of an output to that of those before.
  void collect(ValueId value) {
    if (const auto total = totals_.find(value); total != totals_.end()) {
      const Value given = copy_.at(value);
      total->second = (total->second ? copy_.to().value(*total->second) + given : given).id();
    }
    if (const auto parts = parts_.find(value); parts != parts_.end())
      parts->second.push_back(copy_.at(value));
  }

  void add_outputs() {
    const Graph& graph = copy_.from();
    for (const auto& [value, total] : totals_) {
      const auto in = copy_.to().at(graph.operations()[graph.producer(value)].region);
      copy_.set(value, copy_.to().value(*total) * (1.0 / static_cast<double>(count_)));
    }
    for (const std::size_t i : after_) copy_.copy(graph.operations()[i]);
    for (const auto& [value, parts] : parts_) {
      const auto in = copy_.to().at(graph.operations()[graph.producer(value)].region);
      copy_.set(value, concatenate(parts, 0));
    }
    copy_.copy_outputs();
  }

  GraphCopy copy_;
  const std::int64_t count_;
  const std::vector<bool> shared_;   ///< by value
  const std::vector<bool> depends_;  ///< by value: on inputs that are cut
  const std::int64_t streams_;
  std::set<std::size_t> after_;  ///< operations that are carried out on the mean
  std::vector<std::pair<const Operation*, ValueId>> inputs_;
  std::map<ValueId, std::optional<ValueId>> totals_;
  std::map<ValueId, std::vector<Value>> parts_;
};

}  // namespace

Result<Graph> split_into_micro_batches(const Graph& graph, const MicroBatchOptions& options) {
  if (options.count < 1 || options.count > kMostMicroBatches) {
    return failure(ErrorCode::invalid_argument,
                   "expected 1 to " + std::to_string(kMostMicroBatches) + " micro-batches, found " +
                       std::to_string(options.count));
  }
  if (options.count == 1) return graph;
  return MicroBatches(graph, options.count).run();
}

}  // namespace hocket
