#include "core/graph/passes/optimiser.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/derivative.h"
#include "core/graph/maths.h"
#include "core/graph/passes/graph_copy.h"
#include "core/graph/passes/precision.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

using Kind = OperationKind;

constexpr std::int64_t kMostRanks = 1 << 20;

constexpr ValueType kNumber{NumberType::float32, {}};

/// A parameter, its gradient in the first graph, and what the optimiser takes of it.
struct Trained {
  const Operation* parameter = nullptr;
  ValueId derived;
  ValueId gradient = {}, sum = {};
  /// The parameter and its states after the step, by name.
  std::vector<std::pair<std::string, ValueId>> updated = {};
};

class Optimiser {
 public:
  Optimiser(const Graph& graph, const OptimiserOptions& options)
      : copy_(graph), options_(options), builder_(copy_.to()) {}

  Result<Graph> run() {
    HOCKET_TRY(find_trained());
    if (!needs_means()) {
      add_inputs();
      update_as_they_come();
      add_outputs();
      return copy_.take();
    }
    for (const Operation& operation : copy_.from().operations()) copy_.copy(operation);
    for (Trained& trained : trained_) trained.gradient = copy_.at(trained.derived).id();
    if (sums()) add_means();
    add_inputs();
    add_loss_scale();
    if (options_.clip_norm > 0) add_clipping();
    for (Trained& trained : trained_) update(trained);
    add_outputs();
    return copy_.take();
  }

 private:
  Result<void> find_trained() {
    const Graph& graph = copy_.from();
    for (const GraphOutput& output : graph.outputs()) {
      if (!output.name.starts_with(gradient_name(""))) continue;
      const auto leaf = graph.leaf(output.name.substr(gradient_name("").size()));
      if (!leaf || graph.operations()[graph.producer(*leaf)].kind != Kind::parameter) continue;
      trained_.push_back(
          {.parameter = &graph.operations()[graph.producer(*leaf)], .derived = output.value});
    }
    if (!trained_.empty()) return {};
    return failure(ErrorCode::invalid_argument,
                   "no output is the gradient of a parameter; differentiate before");
  }

  bool sums() const { return options_.ranks > 1 || options_.sums || is_served(); }
  bool is_served() const { return options_.method == OptimiserMethod::served; }

  void add_inputs() {
    if (is_served()) return;
    const auto region = builder_.at(kUpdate);
    rate_ = builder_.input("rate", kNumber).id();
    if (options_.method == OptimiserMethod::adamw)
      step_ = builder_.input("step", {NumberType::int32, {}}).id();
  }

  /// Updates each parameter as soon as its gradient is there and it is used no more, so that the
  /// gradient need not be kept. Gradients that are summed are there when all of their part of the
  /// model are, which are summed together.
  void update_as_they_come() {
    const Graph& graph = copy_.from();
    std::vector<std::size_t> last_uses(graph.values());
    for (std::size_t i = 0; i < graph.operations().size(); ++i)
      for (const ValueId operand : graph.operations()[i].operands) last_uses[operand.index] = i;
    std::map<std::string, std::size_t> last_of_part;
    for (const Trained& trained : trained_) {
      std::size_t& last = last_of_part[part_of_model(trained.parameter->region)];
      last = std::max(last, graph.producer(trained.derived));
    }
    std::vector<std::vector<std::size_t>> made(graph.operations().size()), ready(made.size());
    for (std::size_t i = 0; i < trained_.size(); ++i) {
      const Trained& trained = trained_[i];
      const ValueId parameter = trained.parameter->first_result;
      const std::size_t derived = graph.producer(trained.derived);
      made[derived].push_back(i);
      const std::size_t there =
          sums() ? last_of_part[part_of_model(trained.parameter->region)] : derived;
      ready[std::max({there, graph.producer(parameter), last_uses[parameter.index]})].push_back(i);
    }
    std::set<ValueId> shared = shared_values();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      copy_.copy(graph.operations()[i]);
      for (const std::size_t of : made[i]) {
        trained_[of].gradient = copy_.at(trained_[of].derived).id();
        if (sums()) add_sum(trained_[of], shared);
      }
      for (const std::size_t of : ready[i]) update(trained_[of]);
    }
  }

  void add_outputs() {
    for (const GraphOutput& output : copy_.from().outputs())
      if (!output.name.starts_with(gradient_name("")))
        builder_.output(output.name, copy_.at(output.value));
    if (sums())
      for (const Trained& trained : trained_)
        builder_.output(gradient_name(trained.parameter->name), builder_.value(trained.sum));
    for (const auto& [name, value] : scale_outputs_) builder_.output(name, builder_.value(value));
    for (const Trained& trained : trained_)
      for (const auto& [name, value] : trained.updated)
        builder_.output(updated_name(name), builder_.value(value));
  }

  /// Returns values that others use, too, or that have no memory of their own.
  std::set<ValueId> shared_values() const {
    std::set<ValueId> shared;
    for (const Operation& operation : copy_.from().operations()) {
      shared.insert(operation.operands.begin(), operation.operands.end());
      // A reshape has the memory of another value, and leaves have theirs.
      if (operation.kind <= Kind::constant || operation.kind == Kind::reshape)
        shared.insert(operation.first_result);
    }
    return shared;
  }

  /// Gives a gradient a value of its own, to be summed.
  void add_sum(Trained& trained, std::set<ValueId>& shared) {
    Value sum = builder_.value(trained.gradient);
    if (!shared.insert(trained.derived).second) {
      const Graph& graph = copy_.from();
      const auto region = builder_.at(graph.operations()[graph.producer(trained.derived)].region);
      sum = convert(sum, sum.type().numbers);
    }
    trained.sum = trained.gradient = sum.id();
  }

  /// Sums all gradients, and makes means of them.
  void add_means() {
    std::set<ValueId> shared = shared_values();
    for (Trained& trained : trained_) {
      add_sum(trained, shared);
      const auto region = builder_.at(trained.parameter->region + std::string(kUpdate));
      const Value sum = builder_.value(trained.sum);
      trained.gradient = (sum * (1.0 / static_cast<double>(options_.ranks))).id();
    }
  }

  /// Returns whether something but the optimiser needs the means of gradients; it takes sums.
  bool needs_means() const { return options_.clip_norm > 0 || copy_.from().leaf(kLossScale); }
  double gradient_scale() const {
    return needs_means() ? 1 : 1.0 / static_cast<double>(options_.ranks);
  }

  /// Keeps whether all gradients are finite, and adds what becomes of the loss scale.
  void add_loss_scale() {
    const auto scale_leaf = copy_.from().leaf(kLossScale);
    if (!scale_leaf) return;
    const auto region = builder_.at(kUpdate);
    Value finite = is_finite(builder_.value(trained_[0].gradient));
    for (std::size_t i = 1; i < trained_.size(); ++i)
      finite = finite * is_finite(builder_.value(trained_[i].gradient));
    finite_ = finite.id();
    const Value scale = copy_.at(*scale_leaf), zero = number(0), one = number(1);
    const Value steps = builder_.named_parameter(std::string(kLossScale) + "_steps", kNumber);
    const Value counted = steps + one;
    // 0 where the count has reached its end, so that what it is doubled by is chosen.
    const Value left = relu(number(static_cast<double>(kGoodSteps)) - counted);
    const Value grown = select(left, scale, scale * 2.0);
    const Value next_scale = select(finite, grown, scale * 0.5);
    scale_outputs_.emplace_back(updated_name(kLossScale), next_scale.id());
    const Value kept_steps = select(left, counted, zero);
    const Value next_steps = select(finite, kept_steps, zero);
    scale_outputs_.emplace_back(updated_name(std::string(kLossScale) + "_steps"), next_steps.id());
  }

  /// Keeps clip_norm / max(clip_norm, norm), by which all gradients are multiplied.
  void add_clipping() {
    const auto region = builder_.at(kUpdate);
    std::optional<Value> total;
    for (const Trained& trained : trained_) {
      const Value gradient = as_number(builder_.value(trained.gradient));
      std::vector<std::int64_t> all;
      for (std::size_t i = 0; i < gradient.shape().size(); ++i)
        all.push_back(static_cast<std::int64_t>(i));
      const Value squares = gradient * gradient;
      const Value square = all.empty() ? squares : sum(squares, all);
      total = total ? *total + square : square;
    }
    const Value limit = number(options_.clip_norm);
    const Value norm = square_root(*total);
    // The larger of the two is the limit plus what exceeds it.
    const Value larger = limit + relu(norm - limit);
    factor_ = (limit / larger).id();
  }

  static Value as_number(Value x) {
    return x.type().numbers == NumberType::float32 ? x : convert(x, NumberType::float32);
  }

  Value number(double value) { return builder_.constant(value, kNumber); }

  void update(Trained& trained) {
    const Operation& parameter = *trained.parameter;
    const auto region = builder_.at(parameter.region + std::string(kUpdate));
    const Value before = copy_.at(parameter.first_result);
    const ValueType& type = copy_.from().type(parameter.first_result);
    Value gradient = builder_.value(trained.gradient);
    if (factor_) gradient = gradient * converted(builder_.value(*factor_), type.numbers);
    const double decay = type.shape.size() >= 2 ? options_.weight_decay : 0;
    if (is_served()) {
      const double keep = 1 - options_.served_rate * decay;
      const Value kept = keep < 1 ? before * keep : before;
      return give(trained, parameter.name, kept - gradient, before);
    }
    const auto state = [&](const char* name) { return std::string(name) + "/" + parameter.name; };
    if (options_.method == OptimiserMethod::adamw) {
      const Value first = builder_.named_parameter(state("first_moment"), type);
      const Value second = builder_.named_parameter(state("second_moment"), type);
      const auto after = builder_.add_all(
          Kind::adamw,
          {before, gradient, first, second, builder_.value(*rate_), builder_.value(*step_)},
          {{"beta1", options_.beta1},
           {"beta2", options_.beta2},
           {"epsilon", options_.epsilon},
           {"weight_decay", decay},
           {"gradient_scale", gradient_scale()}});
      give(trained, parameter.name, after[0], before);
      give(trained, state("first_moment"), after[1], first);
      give(trained, state("second_moment"), after[2], second);
      return;
    }
    const Value velocity = builder_.named_parameter(state("velocity"), type);
    const auto after =
        builder_.add_all(Kind::sgd, {before, gradient, velocity, builder_.value(*rate_)},
                         {{"momentum", options_.momentum},
                          {"weight_decay", decay},
                          {"gradient_scale", gradient_scale()}});
    give(trained, parameter.name, after[0], before);
    give(trained, state("velocity"), after[1], velocity);
  }

  static Value converted(Value x, NumberType type) {
    return x.type().numbers == type ? x : convert(x, type);
  }

  void give(Trained& trained, const std::string& name, Value after, Value before) {
    if (finite_) {
      const Value finite = converted(builder_.value(*finite_), after.type().numbers);
      after = select(finite, after, before);
    }
    trained.updated.emplace_back(name, after.id());
  }

  GraphCopy copy_;
  const OptimiserOptions& options_;
  GraphBuilder& builder_;
  std::vector<Trained> trained_;
  std::vector<std::pair<std::string, ValueId>> scale_outputs_;
  std::optional<ValueId> rate_, step_, finite_, factor_;
};

}  // namespace

bool is_optimiser_state(std::string_view parameter) {
  return parameter.starts_with("first_moment/") || parameter.starts_with("second_moment/") ||
         parameter.starts_with("velocity/") || parameter.starts_with(kLossScale);
}

std::string updated_name(std::string_view name) {
  return "updated/" + std::string(name);
}

Result<Graph> add_optimiser(const Graph& graph, const OptimiserOptions& options) {
  if (options.method == OptimiserMethod::none) return graph;
  if (!(options.clip_norm >= 0 && options.clip_norm <= 1e30)) {
    return failure(ErrorCode::invalid_argument,
                   "clip_norm: expected 0 to 1e30, found " + std::to_string(options.clip_norm));
  }
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    return failure(ErrorCode::invalid_argument, "ranks: expected 1 to " +
                                                    std::to_string(kMostRanks) + ", found " +
                                                    std::to_string(options.ranks));
  }
  if (options.method == OptimiserMethod::served &&
      (options.clip_norm > 0 || graph.leaf(kLossScale).has_value())) {
    return failure(
        ErrorCode::invalid_argument,
        "servers make steps of the sums that ranks send; they can neither clip gradients "
        "nor remove a loss scale");
  }
  return Optimiser(graph, options).run();
}

}  // namespace hocket
