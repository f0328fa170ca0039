#include "core/graph/passes/recomputation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/graph/passes/graph_copy.h"
#include "core/graph/passes/input_dependence.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

class Recomputation {
 public:
  Recomputation(const Graph& graph, const RecomputationOptions& options)
      : copy_(graph), options_(options), units_(graph.operations().size()) {
    const std::vector<bool> depends = depends_on_inputs(graph);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Operation& operation = graph.operations()[i];
      const bool is_forward = !has_mark(operation.region, kBackward);
      const bool is_kept =
          std::ranges::find(options.kept_kinds, operation.kind) != options.kept_kinds.end();
      if (is_forward && !is_kept && operation.kind > OperationKind::constant &&
          depends[operation.first_result.index])
        units_[i] = unit_of(operation.region);
    }
    find_kept();
    for (const Operation& operation : graph.operations()) {
      if (!has_mark(operation.region, kBackward)) continue;
      for (const ValueId operand : operation.operands)
        if (is_recomputed(operand)) needed_[*units_[graph.producer(operand)]].push_back(operand);
    }
  }

  Result<Graph> run() {
    again_.resize(copy_.from().values());
    for (const Operation& operation : copy_.from().operations()) {
      if (!has_mark(operation.region, kBackward)) {
        copy_.copy(operation);
        continue;
      }
      add_missing(operation);
      copy_.copy(operation, operation.region, operands_for_derivative(operation));
    }
    copy_.copy_outputs();
    return copy_.take();
  }

 private:
  /// Returns the name of the outermost region that a pattern matches around `region`.
  std::optional<std::string> unit_of(std::string_view region) const {
    std::optional<std::string> unit;
    for (const std::string& pattern : options_.regions) {
      const auto matched = matched_region(pattern, region);
      if (matched && (!unit || matched->size() < unit->size())) unit = std::string(*matched);
    }
    return unit;
  }

  /// A value is kept if it is an output, or if something beside its unit and the derivative uses
  /// it.
  void find_kept() {
    const Graph& graph = copy_.from();
    kept_.resize(graph.values());
    for (const GraphOutput& output : graph.outputs()) kept_[output.value.index] = true;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Operation& operation = graph.operations()[i];
      if (has_mark(operation.region, kBackward)) continue;
      const auto unit = unit_of(operation.region);
      for (const ValueId operand : operation.operands)
        if (unit != units_[graph.producer(operand)]) kept_[operand.index] = true;
    }
  }

  bool is_recomputed(ValueId value) const {
    return !kept_[value.index] && units_[copy_.from().producer(value)].has_value();
  }

  /// Adds again what an operation of the derivative needs, with all else that the derivative needs
  /// of these units.
  void add_missing(const Operation& user) {
    for (const ValueId operand : user.operands) {
      if (!is_recomputed(operand) || again_[operand.index]) continue;
      add_unit(*units_[copy_.from().producer(operand)]);
    }
  }

  /// Adds what the derivative needs of a unit, and what that needs in turn, in its order.
  void add_unit(const std::string& unit) {
    const Graph& graph = copy_.from();
    std::set<std::size_t> wanted;
    std::vector<ValueId> open = needed_[unit];
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!is_recomputed(value) || again_[value.index]) continue;
      if (!wanted.insert(graph.producer(value)).second) continue;
      const auto& operands = graph.operations()[graph.producer(value)].operands;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    for (const std::size_t i : wanted) {
      const Operation& operation = graph.operations()[i];
      const auto region = copy_.to().at(operation.region + std::string(kRecomputed));
      const std::vector<Value> results = copy_.to().add_all(
          operation.kind, operands_for_derivative(operation), operation.attributes);
      for (std::size_t r = 0; r < results.size(); ++r)
        again_[graph.result(operation, r).index] = results[r].id();
    }
  }

  std::vector<Value> operands_for_derivative(const Operation& operation) {
    std::vector<Value> operands;
    for (const ValueId operand : operation.operands) {
      operands.push_back(is_recomputed(operand) ? copy_.to().value(*again_[operand.index])
                                                : copy_.at(operand));
    }
    return operands;
  }

  GraphCopy copy_;
  const RecomputationOptions& options_;
  std::vector<std::optional<std::string>> units_;  ///< by operation; none: it is not recomputed
  std::vector<bool> kept_;                         ///< by value
  std::map<std::string, std::vector<ValueId>> needed_;  ///< by unit: by the derivative
  std::vector<std::optional<ValueId>> again_;           ///< by value: what stands for it afterwards
};

}  // namespace

Result<Graph> recompute(const Graph& graph, const RecomputationOptions& options) {
  for (const std::string& pattern : options.regions)
    if (auto ok = check_region_pattern(pattern); !ok) return failure(ok.error().in("region"));
  if (options.regions.empty()) return graph;
  return Recomputation(graph, options).run();
}

}  // namespace hocket
