#include "core/layout/layout_plan.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include "core/base/check.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using State = AxisLayout::Kind;

/// Parameters are not sent where anything else can be, however few bytes they are: whoever divides
/// them wants them to be used so. Those that are gathered are whole for those who use them.
constexpr double kStays = 1e6;

/// A summand has at most this part of the numbers of the sum.
constexpr std::int64_t kLeastShare = 8;

/// The cost of a choice, compared in this order.
struct Cost {
  /// Bytes on the links. What is scattered costs as if it were reduced: it is gathered later.
  double bytes = 0;
  std::int64_t changes = 0;  ///< operands that are made anew
  /// True if nothing that was there is divided so: whatever comes after has to follow.
  bool is_new_division = false;
  double sent_bytes = 0;

  auto key() const { return std::tuple(bytes, changes, is_new_division, sent_bytes); }
};

/// Returns a name of the part of the model and the pass in which an operation is: blocks that are
/// gathered for it are used again there alone.
std::string place_of_use(const Operation& operation) {
  const std::string_view region = operation.region;
  return part_of_model(region) + std::string(region.substr(model_region(region).size()));
}

/// Returns whether what the steps make is kept for the place that needs it alone.
bool is_for_one_place(const std::vector<ConversionStep>& steps) {
  return std::ranges::any_of(steps, [](const ConversionStep& step) {
    return step.kind == ConversionKind::all_gather || step.kind == ConversionKind::all_to_all ||
           step.kind == ConversionKind::slice;
  });
}

bool is_in_sequence(Kind kind) {
  return kind == Kind::layer_norm || kind == Kind::layer_norm_gradient || kind == Kind::rms_norm ||
         kind == Kind::rms_norm_gradient || kind == Kind::dropout;
}

class Planner {
 public:
  Planner(const Graph& graph, const Mesh& mesh, const LayoutRequest& request)
      : graph_(graph), request_(request), plan_{.mesh = mesh} {
    plan_.versions.resize(graph.values());
    places_.resize(graph.values());
    final_.resize(graph.values());
    is_parameter_.resize(graph.values());
  }

  Result<LayoutPlan> run() {
    for (const auto& [name, layout] : request_.leaves) HOCKET_TRY(check_leaf(name));
    for (const auto& [name, use] : request_.uses) HOCKET_TRY(check_leaf(name));
    find_final_layouts();
    for (const Operation& operation : graph_.operations()) {
      if (auto ok = place(operation); !ok) return failure(ok.error().in(words_of(operation)));
    }
    for (const GraphOutput& output : graph_.outputs()) {
      Layout wanted = plan_.layout(output.value);
      if (const auto& layout = final_[output.value.index])
        wanted = *layout;
      else
        for (std::size_t axis = 0; axis < axes(); ++axis)
          if (wanted.is_partial(axis)) wanted.make_whole(axis);
      plan_.outputs.push_back(version_in(output.value, wanted, {}));
    }
    return std::move(plan_);
  }

 private:
  std::size_t axes() const { return plan_.mesh.axes().size(); }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }

  Result<void> check_leaf(const std::string& name) const {
    if (graph_.leaf(name)) return {};
    return failure(ErrorCode::invalid_argument,
                   "the graph has no input or parameter \"" + name + "\"");
  }

  Layout leaf_layout(const Operation& leaf) const {
    const auto found = request_.leaves.find(leaf.name);
    return found != request_.leaves.end() ? found->second : Layout(shape(leaf.first_result).size());
  }

  /// A parameter is after the step where it was before.
  void find_final_layouts() {
    for (const Operation& operation : graph_.operations()) {
      if (operation.kind != Kind::parameter) continue;
      if (const auto updated = graph_.output(updated_name(operation.name)))
        final_[updated->index] = leaf_layout(operation);
    }
  }

  Result<void> place(const Operation& operation) {
    if (operation.kind <= Kind::constant) return place_leaf(operation);
    const std::size_t results = graph_.results(operation);
    place_ = place_of_use(operation);
    const bool is_of_parameters = std::ranges::all_of(
        operation.operands, [&](ValueId operand) { return is_parameter_[operand.index]; });
    for (std::size_t i = 0; i < results; ++i)
      is_parameter_[graph_.result(operation, i).index] = is_of_parameters;
    rules_ = division_rules(graph_, operation);

    // Outer axes first: each takes the cheapest rule, given those that axes before have taken.
    Required required;
    for (const ValueId operand : operation.operands)
      required.operands.emplace_back(shape(operand).size());
    for (std::size_t i = 0; i < results; ++i)
      required.results.emplace_back(shape(graph_.result(operation, i)).size());
    for (std::size_t axis = 0; axis < axes(); ++axis) choose(operation, axis, required);
    std::vector<std::size_t>& versions = plan_.operands.emplace_back();
    for (std::size_t i = 0; i < operation.operands.size(); ++i)
      versions.push_back(version_in(operation.operands[i], required.operands[i], place_));
    for (std::size_t i = 0; i < results; ++i)
      add_first(graph_.result(operation, i), std::move(required.results[i]));
    return {};
  }

  Result<void> place_leaf(const Operation& leaf) {
    const Layout layout = leaf_layout(leaf);
    if (layout.rank() != shape(leaf.first_result).size() || layout.partial() != AxisSet::none()) {
      return failure(ErrorCode::invalid_argument,
                     "a layout of another shape is asked for, or one of partial sums");
    }
    HOCKET_TRY(check_layout(layout, shape(leaf.first_result), plan_.mesh));
    is_parameter_[leaf.first_result.index] = leaf.kind == Kind::parameter;
    add_first(leaf.first_result, layout);
    plan_.operands.emplace_back();
    return {};
  }

  void add_first(ValueId value, Layout layout) {
    plan_.versions[value.index].push_back({std::move(layout), 0, {}});
    places_[value.index].emplace_back();
  }

  struct Required {
    std::vector<Layout> operands, results;
  };

  /// Adds what a rule needs along an axis. Returns whether it can be.
  bool require(const Operation& operation, std::size_t axis, const DivisionRule& rule,
               Required& required) const {
    for (std::size_t i = 0; i < rule.operands.size(); ++i) {
      set_along(required.operands[i], axis, rule.operands[i]);
      if (rule.operands[i].kind == State::divided &&
          !check_layout(required.operands[i], shape(operation.operands[i]), plan_.mesh))
        return false;
    }
    for (std::size_t i = 0; i < rule.results.size(); ++i) {
      set_along(required.results[i], axis, rule.results[i]);
      if (rule.results[i].kind == State::divided &&
          !check_layout(required.results[i], shape(graph_.result(operation, i)), plan_.mesh))
        return false;
    }
    return true;
  }

  /// Adds what the cheapest rule needs along an axis.
  void choose(const Operation& operation, std::size_t axis, Required& required) {
    std::optional<Cost> best;
    Required best_required;
    const auto consider = [&](const DivisionRule& rule) {
      Required next = required;
      if (!require(operation, axis, rule, next)) return;
      const auto cost = cost_of(operation, axis, rule);
      if (!cost || (best && best->key() <= cost->key())) return;
      best = cost;
      best_required = std::move(next);
    };
    const auto forced = forced_dimension(operation, axis);
    const auto is_forced = [&](const DivisionRule& rule) {
      return rule.results[0] == AxisLayout::divided(*forced);
    };
    const DivisionRule whole{std::vector<AxisLayout>(operation.operands.size()),
                             std::vector<AxisLayout>(graph_.results(operation))};
    if (!forced) consider(whole);
    for (const DivisionRule& rule : rules_) {
      if (forced && !is_forced(rule)) continue;
      for (const std::int64_t parts : factors_of(operation, axis, rule))
        consider(with_parts(rule, parts));
    }
    // A dimension that is forced may not fit.
    if (!best) consider(whole);
    HOCKET_CHECK(best, "an operation can be carried out whole");
    required = std::move(best_required);
  }

  /// Returns the dimension along which the request has an operation divided over an axis.
  std::optional<std::size_t> forced_dimension(const Operation& operation, std::size_t axis) const {
    const std::size_t rank = shape(operation.first_result).size();
    if (!is_in_sequence(operation.kind) || rank < 3) return std::nullopt;
    for (const DividedSequence& sequence : request_.sequences)
      if (sequence.axis == axis && matched_region(sequence.pattern, operation.region))
        return rank - 2;
    return std::nullopt;
  }

  /// Returns how many times the rule's parts its operands have, for all that one of them has.
  std::set<std::int64_t> factors_of(const Operation& operation, std::size_t axis,
                                    const DivisionRule& rule) const {
    std::set<std::int64_t> factors{1};
    if (rule.is_contiguous) return factors;
    for (std::size_t i = 0; i < rule.operands.size(); ++i) {
      if (rule.operands[i].kind != State::divided) continue;
      const DividedPlace& needed = rule.operands[i].place;
      for (const ValueVersion& version : plan_.versions[operation.operands[i].index]) {
        const auto place = version.layout.place(axis);
        if (place && place->dimension == needed.dimension && place->parts % needed.parts == 0)
          factors.insert(place->parts / needed.parts);
      }
    }
    return factors;
  }

  /// Returns the bytes of a value on a rank, if the axis did not divide it.
  double bytes_without(ValueId value, const Layout& layout, std::size_t axis) const {
    Layout without = layout;
    without.make_whole(axis);
    const auto numbers = count_of(local_shape(without, shape(value), plan_.mesh));
    return static_cast<double>(numbers * number_bytes(graph_.type(value).numbers));
  }

  /// Returns the cost of one state along an axis made of another; none if that cannot be.
  std::optional<Cost> cost_between(const AxisLayout& from, const AxisLayout& to, double bytes,
                                   std::size_t axis) const {
    const auto cost = [](double all, double sent) {
      return Cost{.bytes = all, .changes = 1, .sent_bytes = sent};
    };
    if (from == to) return Cost{};
    if (from.kind == State::whole) return cost(0, 0);
    if (to.kind == State::partial) return std::nullopt;
    const auto ranks = static_cast<double>(plan_.mesh.axes()[axis].size);
    const double once = bytes * (ranks - 1) / ranks;
    if (from.kind == State::partial)
      return cost(2 * once, to.kind == State::whole ? 2 * once : once);
    if (to.kind == State::divided) return cost(once / ranks, once / ranks);
    return cost(once, once);
  }

  /// Returns whether a value may be made a summand, which all but one rank have 0 in place of: what
  /// is added to partial sums and has few numbers, such as a bias. Otherwise the sums would have
  /// to be made in the end all the same, of values that are whole until then.
  bool may_be_summand(const Operation& operation, std::size_t operand) const {
    const std::int64_t count = graph_.type(operation.operands[operand]).count();
    return count * kLeastShare <= graph_.type(operation.first_result).count();
  }

  /// Returns what a rule costs along an axis; none if an operand cannot be as it needs it.
  std::optional<Cost> cost_of(const Operation& operation, std::size_t axis,
                              const DivisionRule& rule) const {
    Cost total;
    const auto add = [&](const std::optional<Cost>& cost) {
      if (!cost) return false;
      total.bytes += cost->bytes;
      total.changes += cost->changes;
      total.sent_bytes += cost->sent_bytes;
      return true;
    };
    bool divides = std::ranges::any_of(
        rule.results, [](const AxisLayout& state) { return state.kind == State::divided; });
    for (std::size_t i = 0; i < rule.operands.size(); ++i) {
      if (is_repeated(operation, rule, i)) continue;
      const ValueId value = operation.operands[i];
      const AxisLayout& needed = rule.operands[i];
      std::optional<Cost> best;
      for (const Layout& present : usable(value, operation)) {
        const AxisLayout state = along(present, axis);
        if (needed.kind == State::partial && state.kind == State::whole &&
            !may_be_summand(operation, i))
          continue;
        auto cost = cost_between(state, needed, bytes_without(value, present, axis), axis);
        if (cost && is_parameter_[value.index]) cost->bytes *= kStays;
        if (cost && (!best || cost->key() < best->key())) best = cost;
      }
      if (!add(best)) return std::nullopt;
      if (needed.kind == State::divided && best->changes == 0) divides = false;
    }
    total.is_new_division = divides;
    for (std::size_t i = 0; i < rule.results.size(); ++i) {
      const ValueId value = graph_.result(operation, i);
      const auto& layout = final_[value.index];
      if (layout && !add(cost_between(rule.results[i], along(*layout, axis),
                                      bytes_without(value, *layout, axis), axis)))
        return std::nullopt;
    }
    return total;
  }

  /// Returns whether an operand is another one once more, in the same layout.
  static bool is_repeated(const Operation& operation, const DivisionRule& rule, std::size_t i) {
    for (std::size_t before = 0; before < i; ++before)
      if (operation.operands[before] == operation.operands[i] &&
          rule.operands[before] == rule.operands[i])
        return true;
    return false;
  }

  /// Returns the layouts of a value that an operation can use at no cost of its own.
  std::vector<Layout> usable(ValueId value, const Operation& operation) const {
    std::vector<Layout> layouts;
    const auto& versions = plan_.versions[value.index];
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const std::string& made_for = places_[value.index][i];
      if (i == 0)
        layouts.push_back(gathered(value, operation));
      else if (made_for.empty() || made_for == place_)
        layouts.push_back(versions[i].layout);
    }
    return layouts;
  }

  /// Returns the layout as which an operation uses what is made: of a parameter that is gathered
  /// the whole.
  Layout gathered(ValueId value, const Operation& operation) const {
    Layout layout = plan_.layout(value);
    const Operation& maker = graph_.operations()[graph_.producer(value)];
    if (maker.kind != Kind::parameter || has_mark(operation.region, kUpdate)) return layout;
    if (const auto use = request_.uses.find(maker.name); use != request_.uses.end())
      for (const std::size_t axis : use->second.gathered) layout.make_whole(axis);
    return layout;
  }

  /// Returns a version in this layout, which is made if there is none.
  std::size_t version_in(ValueId value, const Layout& layout, const std::string& place) {
    auto& versions = plan_.versions[value.index];
    auto& places = places_[value.index];
    std::optional<ValueVersion> best;
    double best_bytes = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < versions.size(); ++i) {
      if (!places[i].empty() && places[i] != place) continue;
      if (versions[i].layout == layout) return i;
      auto steps = convert_layout(versions[i].layout, layout, plan_.mesh);
      const double bytes = sent_bytes(steps, graph_.type(value), plan_.mesh);
      if (bytes >= best_bytes) continue;
      best_bytes = bytes;
      best = {layout, i, std::move(steps)};
    }
    HOCKET_CHECK(best, "the version that an operation makes may be used anywhere");
    places.push_back(is_for_one_place(best->steps) ? place : places[best->source]);
    versions.push_back(std::move(*best));
    return versions.size() - 1;
  }

  const Graph& graph_;
  const LayoutRequest& request_;
  LayoutPlan plan_;
  // These are of the present operation.
  std::vector<DivisionRule> rules_;
  std::string place_;
  /// By value and version: where alone it may be used; empty: anywhere.
  std::vector<std::vector<std::string>> places_;
  std::vector<std::optional<Layout>> final_;  ///< by value: that an output has to have
  std::vector<bool> is_parameter_;            ///< by value: one, or what is made of those alone
};

}  // namespace

Result<LayoutPlan> plan_layouts(const Graph& graph, const Mesh& mesh,
                                const LayoutRequest& request) {
  return Planner(graph, mesh, request).run();
}

}  // namespace hocket
