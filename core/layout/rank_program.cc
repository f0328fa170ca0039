#include "core/layout/rank_program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/graph/graph_builder.h"
#include "core/graph/maths.h"

namespace hocket {
namespace {

using Kind = OperationKind;

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t sizes = 1;
  for (std::size_t i = begin; i < end; ++i) sizes *= shape[i];
  return sizes;
}

class RankProgram {
 public:
  RankProgram(const Graph& graph, const LayoutPlan& plan, std::int64_t rank)
      : graph_(graph), plan_(plan), rank_(rank), copies_(graph.values()) {
    for (std::size_t i = 0; i < copies_.size(); ++i) copies_[i].resize(plan.versions[i].size());
  }

  Result<Graph> run() {
    const auto operations = graph_.operations();
    for (std::size_t i = 0; i < operations.size(); ++i) add(operations[i], plan_.operands[i]);
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      const GraphOutput& output = graph_.outputs()[i];
      const auto in = to_.at(graph_.operations()[graph_.producer(output.value)].region);
      to_.output(output.name, at(output.value, plan_.outputs[i]));
    }
    return to_.build();
  }

 private:
  const Mesh& mesh() const { return plan_.mesh; }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  ValueType local_type(ValueId value, const Layout& layout) const {
    return {graph_.type(value).numbers, local_shape(layout, shape(value), mesh())};
  }

  /// Returns what stands for a version of a value, which is made where it is first needed.
  Value at(ValueId value, std::size_t version) {
    auto& copy = copies_[value.index][version];
    if (!copy) {
      const ValueVersion& made = plan_.versions[value.index][version];
      const Operation& maker = graph_.operations()[graph_.producer(value)];
      const bool is_cut = std::ranges::all_of(made.steps, [](const ConversionStep& step) {
        return step.kind == ConversionKind::slice;
      });
      if (is_cut && maker.kind == Kind::constant) {
        // The same number everywhere needs no slicing.
        copy = to_.leaf_like(maker, local_type(value, made.layout)).id();
      } else {
        Value x = at(value, made.source);
        for (const ConversionStep& step : made.steps) x = convert(x, shape(value), step);
        copy = x.id();
      }
    }
    return to_.value(*copy);
  }

  // Conversions. A communication moves blocks along the outermost dimension, so others are moved
  // there and back.

  std::int64_t ranks_of(const ConversionStep& step) const {
    std::int64_t ranks = 1;
    for (const std::size_t axis : step.axes) ranks *= mesh().axes()[axis].size;
    return ranks;
  }
  AxisSet group_of(const ConversionStep& step) const {
    AxisSet axes = AxisSet::none();
    for (const std::size_t axis : step.axes) axes = axes.with(AxisSet::of(axis));
    return axes;
  }

  Value communicate(Kind kind, Value x, const ConversionStep& step) {
    return to_.add(
        kind, {x},
        {{"group", mesh().name_of({group_of(step), GroupTier::whole})}, {"ranks", ranks_of(step)}});
  }

  /// Returns the values of all ranks of the step's group, [ranks …].
  Value gather(Value x, const ConversionStep& step) {
    Shape one = x.shape();
    one.insert(one.begin(), 1);
    return communicate(Kind::all_gather, reshape(x, one), step);
  }

  /// Returns how many of the parts of a place a rank has, whose divisions are those of `layout`
  /// into fewer parts.
  std::int64_t local_parts(const Layout& layout, const DividedPlace& place) const {
    std::int64_t parts = place.parts;
    for (const DividedDimension& divided : layout.divided(place.dimension))
      if (divided.parts < place.parts) parts /= mesh().axes()[divided.axis].size;
    return parts;
  }

  /// Swaps the two outer of three dimensions that the numbers of a value are taken to have. Where
  /// one of them is 1, the numbers stay in their order.
  static Value swapped(Value x, const Shape& taken, const Shape& to) {
    if (taken[0] == 1 || taken[1] == 1) return reshape(x, to);
    return reshape(transpose(reshape(x, taken), {1, 0, 2}), to);
  }

  /// [… d …] to [blocks …], where `d` is of `parts` parts of `blocks` blocks each.
  Value blocks_first(Value x, std::size_t dimension, std::int64_t parts, std::int64_t blocks) {
    const Shape shape = x.shape();
    const std::int64_t outer = product(shape, 0, dimension) * parts;
    const std::int64_t inner = product(shape, dimension, shape.size()) / (parts * blocks);
    Shape moved = shape;
    moved[dimension] /= blocks;
    moved.insert(moved.begin(), blocks);
    return swapped(x, {outer, blocks, inner}, moved);
  }

  /// The reverse.
  Value blocks_back(Value x, std::size_t dimension, std::int64_t parts) {
    const Shape moved = x.shape();
    const std::int64_t blocks = moved[0];
    Shape shape(moved.begin() + 1, moved.end());
    const std::int64_t outer = product(shape, 0, dimension) * parts;
    const std::int64_t inner = product(shape, dimension, shape.size()) / parts;
    shape[dimension] *= blocks;
    return swapped(x, {blocks, outer, inner}, shape);
  }

  Value convert(Value x, const Shape& whole, const ConversionStep& step) {
    const std::int64_t ranks = ranks_of(step);
    switch (step.kind) {
      case ConversionKind::all_reduce:
        return communicate(Kind::all_reduce, x, step);
      case ConversionKind::slice: {
        const std::int64_t parts = local_parts(step.before, step.to), index = index_of(step);
        if (parts == 1) {
          const std::int64_t size = x.size(static_cast<std::int64_t>(step.to.dimension)) / ranks;
          return slice(x, static_cast<std::int64_t>(step.to.dimension), index * size,
                       (index + 1) * size);
        }
        const Value blocks = blocks_first(x, step.to.dimension, parts, ranks);
        return reshape(slice(blocks, 0, index, index + 1), local_shape(step.after, whole, mesh()));
      }
      case ConversionKind::reduce_scatter: {
        const Value blocks =
            blocks_first(x, step.to.dimension, local_parts(step.before, step.to), ranks);
        return reshape(communicate(Kind::reduce_scatter, blocks, step),
                       local_shape(step.after, whole, mesh()));
      }
      case ConversionKind::all_gather: {
        return blocks_back(gather(x, step), step.from.dimension,
                           local_parts(step.after, step.from));
      }
      case ConversionKind::all_to_all: {
        const Value blocks =
            blocks_first(x, step.to.dimension, local_parts(step.before, step.to), ranks);
        return blocks_back(communicate(Kind::all_to_all, blocks, step), step.from.dimension,
                           local_parts(step.after, step.from));
      }
      case ConversionKind::summand:
        return index_of(step) == 0 ? x : to_.constant(0, x.type());
    }
    HOCKET_CHECK(false, "a kind of conversion");
  }

  std::int64_t index_of(const ConversionStep& step) const {
    return mesh().index_in(group_of(step), rank_);
  }

  // Operations.

  void add(const Operation& operation, const std::vector<std::size_t>& versions) {
    const auto in = to_.at(operation.region);
    if (operation.kind <= Kind::constant) {
      const ValueId value = operation.first_result;
      set(value, to_.leaf_like(operation, local_type(value, plan_.layout(value))));
      return;
    }
    std::vector<Value> operands;
    std::vector<const Layout*> layouts;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      operands.push_back(at(operation.operands[i], versions[i]));
      layouts.push_back(&plan_.layout(operation.operands[i], versions[i]));
    }
    const Layout& result = plan_.layout(operation.first_result);
    const std::vector<Value> results = local_results(operation, operands, layouts, result);
    for (std::size_t i = 0; i < results.size(); ++i) set(graph_.result(operation, i), results[i]);
  }

  void set(ValueId value, Value copy) { copies_[value.index][0] = copy.id(); }

  /// Returns the first index that this rank has of a dimension which is divided as a whole.
  std::int64_t begin_of(const Layout& layout, std::size_t dimension, std::int64_t size) const {
    return local_indices(layout, dimension, size, mesh(), rank_).front().begin;
  }
  bool is_divided(const Layout& layout, std::size_t dimension) const {
    return !layout.divided(dimension).empty();
  }

  std::vector<Value> local_results(const Operation& operation, std::vector<Value> operands,
                                   const std::vector<const Layout*>& layouts,
                                   const Layout& result) {
    const Attributes& all = operation.attributes;
    const ValueId first = operation.operands.empty() ? ValueId{} : operation.operands[0];
    switch (operation.kind) {
      case Kind::attention:
      case Kind::attention_gradient:
        if (all.flag("causal") && is_divided(*layouts[0], 2))
          return later_queries(operation, std::move(operands), *layouts[0]);
        break;
      case Kind::cross_entropy:
        if (is_divided(*layouts[0], shape(first).size() - 1))
          return divided_classes(operands, *layouts[0], shape(first));
        break;
      default:
        break;
    }
    return to_.add_all(operation.kind, operands, local_attributes(operation, layouts, result));
  }

  Attributes local_attributes(const Operation& operation, const std::vector<const Layout*>& layouts,
                              const Layout& result) const {
    Attributes attributes = operation.attributes;
    const auto divide = [&](const char* name, std::int64_t by) {
      attributes.set(name, attributes.integer(name) / by);
    };
    const auto set_begin = [&](const Layout& layout, std::size_t dimension, std::int64_t size) {
      if (is_divided(layout, dimension)) attributes.set("begin", begin_of(layout, dimension, size));
    };
    const ValueId first = operation.operands.empty() ? ValueId{} : operation.operands[0];
    switch (operation.kind) {
      case Kind::reshape:
      case Kind::broadcast:
        attributes.set("shape", local_type(operation.first_result, result).shape);
        break;
      case Kind::slice:
      case Kind::pad: {
        const std::size_t dimension =
            dimension_at(attributes.integer("dimension"), shape(first).size());
        const std::int64_t blocks = blocks_of(result, dimension, mesh());
        const bool is_slice = operation.kind == Kind::slice;
        divide(is_slice ? "begin" : "before", blocks);
        divide(is_slice ? "end" : "after", blocks);
        break;
      }
      case Kind::dropout:
        set_places(attributes, *layouts[0], shape(first));
        break;
      case Kind::rotary: {
        const std::size_t dimension = shape(first).size() - 2;
        set_begin(*layouts[0], dimension, shape(first)[dimension]);
        break;
      }
      case Kind::embedding:
        set_begin(*layouts[0], 0, shape(first)[0]);
        break;
      case Kind::embedding_gradient:
        set_begin(result, 0, attributes.integer("rows"));
        divide("rows", blocks_of(result, 0, mesh()));
        break;
      case Kind::cross_entropy_gradient:
        set_begin(result, shape(first).size() - 1, shape(first).back());
        break;
      case Kind::dispatch:
        set_begin(result, 0, attributes.integer("expert_count"));
        divide("expert_count", blocks_of(result, 0, mesh()));
        break;
      case Kind::dispatch_gradient:
        set_begin(*layouts[2], 0, shape(operation.operands[2])[0]);
        break;
      case Kind::combine:
      case Kind::combine_gradient:
        set_begin(*layouts[0], 0, shape(first)[0]);
        break;
      default:
        break;
    }
    return attributes;
  }

  /// Has a dropout count places of the whole value.
  void set_places(Attributes& attributes, const Layout& layout, const Shape& whole) const {
    std::vector<std::int64_t> begins;
    for (std::size_t d = 0; d < whole.size(); ++d) begins.push_back(begin_of(layout, d, whole[d]));
    if (local_shape(layout, whole, mesh()) == whole) return;
    attributes.set("whole", whole);
    attributes.set("begins", begins);
  }

  /// Queries that are not the first ones see more keys than there are queries before them on this
  /// rank: those keys that none of them sees are left out, and causal attention is aligned at the
  /// end.
  std::vector<Value> later_queries(const Operation& operation, std::vector<Value> operands,
                                   const Layout& queries) {
    const std::int64_t rows = shape(operation.operands[0])[2];
    const std::int64_t columns = shape(operation.operands[1])[2];
    const std::int64_t end = begin_of(queries, 2, rows) + operands[0].size(2) + columns - rows;
    operands[1] = slice(operands[1], 2, 0, end);
    operands[2] = slice(operands[2], 2, 0, end);
    std::vector<Value> results = to_.add_all(operation.kind, operands, operation.attributes);
    if (operation.kind == Kind::attention_gradient) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (end == columns) continue;
        results[i] = to_.add(Kind::pad, {results[i]},
                             {{"dimension", std::int64_t{2}},
                              {"before", std::int64_t{0}},
                              {"after", columns - end}});
      }
    }
    return results;
  }

  /// The loss of classes that ranks have in part: the largest logit and the sum of exponentials are
  /// those of all ranks (Shoeybi et al., Megatron-LM, 2019, section 3).
  std::vector<Value> divided_classes(const std::vector<Value>& operands, const Layout& layout,
                                     const Shape& whole) {
    const std::size_t dimension = whole.size() - 1;
    ConversionStep step{.kind = ConversionKind::all_gather};
    for (const DividedDimension& divided : layout.divided(dimension))
      step.axes.push_back(divided.axis);
    const std::int64_t begin = begin_of(layout, dimension, whole.back());
    const Value& logits = operands[0];
    const Value most = hocket::convert(maximum(logits, {-1}), NumberType::float32);
    const Value greatest = maximum(gather(most, step), {0});
    const Value sums =
        communicate(Kind::all_reduce, to_.add(Kind::exponential_sum, {logits, greatest}), step);
    const Value picked = communicate(
        Kind::all_reduce, to_.add(Kind::pick, {logits, operands[1]}, {{"begin", begin}}), step);
    const Value log_sums = logarithm(sums) + greatest;
    // The logarithm of a sum that is near 1 is small beside the logits: they are subtracted first.
    return {logarithm(sums) + (greatest - picked), log_sums};
  }

  const Graph& graph_;
  const LayoutPlan& plan_;
  const std::int64_t rank_;
  GraphBuilder to_;
  std::vector<std::vector<std::optional<ValueId>>> copies_;  ///< by value and version
};

}  // namespace

Result<Graph> program_of_rank(const Graph& graph, const LayoutPlan& plan, std::int64_t rank) {
  return RankProgram(graph, plan, rank).run();
}

}  // namespace hocket
