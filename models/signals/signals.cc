#include "models/signals/signals.h"

#include <algorithm>
#include <set>

#include "core/base/text.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"
#include "core/layout/division_rule.h"
#include "core/layout/layout.h"

namespace hocket {
namespace {

using Kind = OperationKind;

constexpr std::size_t kShownPatternBytes = 60;
/// Operations that a parameter is followed through to where its parts are cut.
constexpr int kMostFollowed = 8;

tl::unexpected<Error> at_line(std::int64_t line, const std::string& what) {
  return failure(ErrorCode::invalid_argument, "line " + std::to_string(line) + ": " + what);
}

class Requests {
 public:
  Requests(const Signals& signals, const Graph& graph, const Mesh& mesh)
      : signals_(signals), graph_(graph), mesh_(mesh), users_(graph.values()) {
    for (std::size_t i = 0; i < graph.operations().size(); ++i)
      for (const ValueId operand : graph.operations()[i].operands)
        users_[operand.index].push_back(i);
  }

  Result<LayoutRequest> find() {
    HOCKET_TRY(check_patterns());
    for (const Operation& operation : graph_.operations()) {
      if (operation.kind == Kind::input) HOCKET_TRY(place_input(operation));
      if (operation.kind == Kind::parameter && !is_optimiser_state(operation.name))
        HOCKET_TRY(place_parameter(operation));
    }
    for (const RegionSignal& signal : signals_.regions)
      if (signal.sequence)
        for (const std::string& name : signal.sequence->names)
          request_.sequences.push_back({signal.pattern, axis_of(name)});
    return std::move(request_);
  }

 private:
  std::size_t axis_of(const std::string& name) const {
    const auto axes = mesh_.axes();
    return static_cast<std::size_t>(std::ranges::find(axes, name, &MeshAxis::name) - axes.begin());
  }

  static bool matches(const RegionSignal& signal, std::string_view path) {
    return signal.pattern == "*" || matched_region(signal.pattern, path).has_value();
  }

  /// A pattern that matches nothing is a mistake, and not a region that stays as it is.
  Result<void> check_patterns() const {
    for (const RegionSignal& signal : signals_.regions) {
      const bool is_used =
          std::ranges::any_of(graph_.operations(), [&](const Operation& operation) {
            return matches(signal, operation.region) || matches(signal, operation.name);
          });
      if (is_used) continue;
      std::set<std::string> parts;
      for (const Operation& operation : graph_.operations())
        if (!model_region(operation.region).empty()) parts.insert(part_of_model(operation.region));
      const std::vector<std::string> names(parts.begin(), parts.end());
      std::string some;
      for (std::size_t i = 0; i < names.size() && i < 4; ++i)
        some += (i == 0 ? "" : ", ") + names[i];
      return at_line(signal.line, "\"" + printable(signal.pattern, kShownPatternBytes) +
                                      "\" is no region and no parameter of the model" +
                                      did_you_mean(signal.pattern, names) + "; there are " + some +
                                      (names.size() > 4 ? ", …" : ""));
    }
    return {};
  }

  Result<void> divide(Layout& layout, const Operation& leaf, const NamedAxes& axes,
                      std::size_t dimension, std::int64_t parts) const {
    const Shape& shape = graph_.type(leaf.first_result).shape;
    for (const std::string& name : axes.names) {
      const std::size_t axis = axis_of(name);
      if (!layout.is_whole(axis))
        return at_line(axes.line, words_of(leaf) + " is divided over " + name + " already");
      layout.divide(axis, {dimension, parts});
      if (auto ok = check_layout(layout, shape, mesh_); !ok)
        return at_line(axes.line, words_of(leaf) + ": " + ok.error().message);
    }
    return {};
  }

  bool is_key(ValueId value) const {
    return std::ranges::any_of(users_[value.index], [&](std::size_t user) {
      return graph_.operations()[user].kind == Kind::dropout;
    });
  }

  Result<void> place_input(const Operation& input) {
    const Shape& shape = graph_.type(input.first_result).shape;
    if (shape.empty() || is_key(input.first_result)) return {};
    const NamedAxes *batch = nullptr, *context = nullptr;
    for (const RegionSignal& signal : signals_.regions) {
      if (!matches(signal, input.region) && !matches(signal, input.name)) continue;
      if (signal.batch) batch = &*signal.batch;
      if (signal.context) context = &*signal.context;
    }
    Layout layout(shape.size());
    if (batch != nullptr) HOCKET_TRY(divide(layout, input, *batch, 0, 1));
    if (context != nullptr) {
      if (shape.size() < 2)
        return at_line(context->line, words_of(input) + " has no second dimension to divide");
      HOCKET_TRY(divide(layout, input, *context, 1, 1));
    }
    request_.leaves[input.name] = std::move(layout);
    return {};
  }

  Result<void> place_parameter(const Operation& parameter) {
    const Shape& shape = graph_.type(parameter.first_result).shape;
    // The last signal of each dimension prevails, so that a pattern may name exceptions.
    std::vector<const DividedParameters*> divided(shape.size());
    const ZeroSignal* zero = nullptr;
    for (const RegionSignal& signal : signals_.regions) {
      if (!matches(signal, parameter.name) && !matches(signal, parameter.region)) continue;
      if (signal.zero) zero = &*signal.zero;
      for (const DividedParameters& each : signal.parameters) {
        const auto dimension = dimension_of(each, shape);
        if (dimension) divided[*dimension] = &each;
        if (!dimension && each.of == ParameterDimension::counted)
          return at_line(each.axes.line, words_of(parameter) + " is " + to_string(shape) +
                                             " and has no dimension " +
                                             std::to_string(each.dimension));
      }
    }
    Layout layout(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (divided[d] == nullptr) continue;
      HOCKET_TRY(divide(layout, parameter, divided[d]->axes, d,
                        parts_of(parameter.first_result, d, kMostFollowed)));
    }
    place_with_states(parameter, layout, zero);
    return {};
  }

  static std::optional<std::size_t> dimension_of(const DividedParameters& divided,
                                                 const Shape& shape) {
    const std::size_t rank = shape.size();
    switch (divided.of) {
      case ParameterDimension::columns:
        return rank == 0 ? std::nullopt : std::optional(rank == 1 ? 0 : rank - 2);
      case ParameterDimension::rows:
        return rank < 2 ? std::nullopt : std::optional(rank - 1);
      case ParameterDimension::experts:
        return rank < 3 ? std::nullopt : std::optional(std::size_t{0});
      case ParameterDimension::counted:
        if (divided.dimension >= static_cast<std::int64_t>(rank) ||
            divided.dimension < -static_cast<std::int64_t>(rank))
          return std::nullopt;
        return dimension_at(divided.dimension, rank);
    }
    return std::nullopt;
  }

  /// Returns the number of equal parts that what a value makes is cut into along a dimension, such
  /// as queries, keys and values, each of which has to be divided; 1 if it is not cut.
  std::int64_t parts_of(ValueId value, std::size_t dimension, int most) const {
    if (most == 0) return 1;
    for (const std::size_t user : users_[value.index]) {
      const Operation& operation = graph_.operations()[user];
      if (has_mark(operation.region, kBackward) || has_mark(operation.region, kUpdate)) continue;
      for (const DivisionRule& rule : division_rules(graph_, operation)) {
        for (std::size_t i = 0; i < operation.operands.size(); ++i) {
          const AxisLayout& state = rule.operands[i];
          if (operation.operands[i] != value || state.kind != AxisLayout::Kind::divided ||
              state.place.dimension != dimension)
            continue;
          if (operation.kind == Kind::slice && state.place.parts > 1) return state.place.parts;
          if (state.place.parts > 1 || rule.results[0].kind != AxisLayout::Kind::divided ||
              rule.results[0].place.parts > 1)
            continue;
          const std::int64_t parts =
              parts_of(operation.first_result, rule.results[0].place.dimension, most - 1);
          if (parts > 1) return parts;
        }
      }
    }
    return 1;
  }

  /// Adds the divisions of ZeRO, each to the first dimension that has no other and can be divided;
  /// what cannot be divided stays whole.
  void place_with_states(const Operation& parameter, const Layout& layout, const ZeroSignal* zero) {
    Layout divided = layout;
    std::vector<std::size_t> axes;
    if (zero != nullptr && zero->stage > 0) {
      for (const std::string& name : zero->axes.names) {
        const std::size_t axis = axis_of(name);
        if (divided.is_whole(axis) && divide_somewhere(divided, parameter, axis))
          axes.push_back(axis);
      }
    }
    const bool is_divided = zero != nullptr && zero->stage == 3;
    request_.leaves[parameter.name] = is_divided ? divided : layout;
    if (is_divided) request_.uses[parameter.name].gathered = axes;
    for (const char* state : {"first_moment/", "second_moment/", "velocity/"})
      if (graph_.leaf(state + parameter.name)) request_.leaves[state + parameter.name] = divided;
  }

  /// Divides what the parameter's other divisions leave, so that they stay as they are where it is
  /// gathered: a dimension without any, or the blocks of outer axes.
  bool divide_somewhere(Layout& layout, const Operation& parameter, std::size_t axis) const {
    const Shape& shape = graph_.type(parameter.first_result).shape;
    for (const bool may_have_others : {false, true}) {
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const auto& others = layout.divided(d);
        if (others.empty() == may_have_others) continue;
        if (may_have_others && others.back().axis > axis) continue;
        Layout next = layout;
        next.divide(axis, {d, may_have_others ? others.back().parts : 1});
        if (!check_layout(next, shape, mesh_)) continue;
        layout = std::move(next);
        return true;
      }
    }
    return false;
  }

  const Signals& signals_;
  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<std::vector<std::size_t>> users_;  ///< by value
  LayoutRequest request_;
};

}  // namespace

std::int64_t Signals::ranks() const {
  std::int64_t ranks = 1;
  for (const MeshAxis& axis : mesh) ranks *= axis.size;
  return ranks;
}

Signals data_parallel_signals(std::int64_t ranks) {
  Signals signals{{{"data", ranks}}, {}};
  signals.regions.push_back({.pattern = "*", .batch = NamedAxes{{"data"}, 0}});
  return signals;
}

Result<LayoutRequest> request_layouts(const Signals& signals, const Graph& graph,
                                      const Mesh& mesh) {
  return Requests(signals, graph, mesh).find();
}

}  // namespace hocket
