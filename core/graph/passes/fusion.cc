#include "core/graph/passes/fusion.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/passes/graph_copy.h"
#include "core/graph/passes/graph_editor.h"

namespace hocket {
namespace {

using Kind = OperationKind;
using Node = GraphEditor::Node;

constexpr std::string_view kNoActivation = "none";

/// Parts of one value that are looked for.
constexpr std::size_t kMostParts = 64;

std::optional<std::string> activation_of(Kind kind) {
  if (kind == Kind::relu || kind == Kind::gelu || kind == Kind::silu)
    return std::string(to_string(kind));
  return std::nullopt;
}

/// Returns the activation of whose derivative a kind multiplies.
std::optional<std::string> activation_of_gradient(Kind kind) {
  switch (kind) {
    case Kind::relu_gradient:
      return "relu";
    case Kind::gelu_gradient:
      return "gelu";
    case Kind::silu_gradient:
      return "silu";
    default:
      return std::nullopt;
  }
}

/// Puts an operand into its place among those that are there.
void insert_operand(Node& node, std::string_view name, ValueId operand) {
  const auto place = operand_place(node.kind, node.attributes, name);
  node.operands.insert(node.operands.begin() + static_cast<std::ptrdiff_t>(*place), operand);
}

class Fusion {
 public:
  explicit Fusion(const Graph& graph) : editor_(graph) {}

  Result<Graph> run() {
    for (std::size_t i = 0; i < editor_.size(); ++i) {
      const Kind kind = editor_.node(i).kind;
      if (editor_.node(i).is_removed) continue;
      if (kind == Kind::matmul) fuse_product(i);
      if (kind == Kind::add) join_parts(i);
      if (kind == Kind::layer_norm_gradient || kind == Kind::rms_norm_gradient)
        take_residual(editor_.node(i).results[0]);
    }
    return editor_.take();
  }

 private:
  void fuse_product(std::size_t i) {
    const ValueId first = editor_.node(i).results[0];
    // Each step may move the product, and give it another result.
    ValueId y = first;
    while (const auto next = fused(y)) y = *next;
  }

  /// Joins one more operation to the product that makes `y`; returns its result then.
  std::optional<ValueId> fused(ValueId y) {
    for (const auto step : {&Fusion::take_sums, &Fusion::take_bias, &Fusion::take_activation,
                            &Fusion::take_gradient, &Fusion::widen, &Fusion::take_residual}) {
      if (const auto next = (this->*step)(y)) return next;
    }
    return std::nullopt;
  }

  /// A value that is one part of another, with zeros around it.
  struct Part {
    std::int64_t begin = 0;
    ValueId value;
  };

  /// Adds to `parts` those whose sum a value is, and to `members` the operations that make it;
  /// false if it is another value, or something else uses it.
  bool find_parts(ValueId value, std::int64_t dimension, std::vector<Part>& parts,
                  std::vector<std::size_t>& members) const {
    if (!editor_.has_one_use(value) || members.size() > 2 * kMostParts) return false;
    const Node& node = editor_.maker(value);
    members.push_back(editor_.producer(value));
    if (node.kind == Kind::add) {
      return editor_.type(node.operands[0]) == editor_.type(node.operands[1]) &&
             find_parts(node.operands[0], dimension, parts, members) &&
             find_parts(node.operands[1], dimension, parts, members);
    }
    if (node.kind != Kind::pad || dimension_of(node) != dimension) return false;
    parts.push_back({node.attributes.integer("before"), node.operands[0]});
    return true;
  }

  std::int64_t dimension_of(const Node& pad) const {
    return static_cast<std::int64_t>(dimension_at(pad.attributes.integer("dimension"),
                                                  editor_.type(pad.operands[0]).shape.size()));
  }

  /// Makes one value of the parts that the additions that end at `top` put side by side: the
  /// gradient of what was taken apart by slices.
  void join_parts(std::size_t top) {
    const Node& sum = editor_.node(top);
    const ValueId one = sum.operands[0], other = sum.operands[1], result = sum.results[0];
    // The lowest pad says along which dimension.
    ValueId first = one;
    for (std::size_t i = 0; i < kMostParts && editor_.maker(first).kind == Kind::add; ++i)
      first = editor_.maker(first).operands[0];
    if (editor_.maker(first).kind != Kind::pad || editor_.type(one) != editor_.type(other)) return;
    const std::int64_t dimension = dimension_of(editor_.maker(first));
    std::vector<Part> parts;
    std::vector<std::size_t> members{top};
    if (!find_parts(one, dimension, parts, members) ||
        !find_parts(other, dimension, parts, members))
      return;
    std::ranges::sort(parts, {}, &Part::begin);
    Node joined{.kind = Kind::concatenate,
                .attributes = {{"dimension", dimension}},
                .results = {result},
                .region = sum.region};
    const auto at = static_cast<std::size_t>(dimension);
    std::int64_t end = 0;
    for (const Part& part : parts) {
      if (part.begin != end) return;
      end += editor_.type(part.value).shape[at];
      joined.operands.push_back(part.value);
    }
    if (end == editor_.type(result).shape[at]) editor_.join(members, std::move(joined));
  }

  bool has(const Node& node, std::string_view attribute) const {
    const AttributeValue& value = *node.attributes.find(attribute);
    if (const bool* const flag = std::get_if<bool>(&value)) return *flag;
    return std::get<std::string>(value) != kNoActivation;
  }
  bool has_any(const Node& node, std::initializer_list<std::string_view> attributes) const {
    return std::ranges::any_of(attributes, [&](auto each) { return has(node, each); });
  }

  /// Returns the place of the only operation that uses `y`, if it is of one kind.
  std::optional<std::size_t> only_user(ValueId y, Kind kind) const {
    if (!editor_.has_one_use(y) || editor_.node(editor_.users(y)[0]).kind != kind)
      return std::nullopt;
    return editor_.users(y)[0];
  }

  /// Returns the other operand of the only addition that uses `y`.
  std::optional<ValueId> added_to(ValueId y) const {
    const auto user = only_user(y, Kind::add);
    if (!user) return std::nullopt;
    const auto& operands = editor_.node(*user).operands;
    return operands[operands[0] == y ? 1 : 0];
  }

  /// Joins the operation at `user` to that which makes `y`, and gives it the user's result.
  std::optional<ValueId> join(ValueId y, std::size_t user, Node joined) {
    const ValueId result = editor_.node(user).results[0];
    joined.results[0] = result;
    if (!editor_.join(std::array{editor_.producer(y), user}, std::move(joined)))
      return std::nullopt;
    return result;
  }

  std::optional<ValueId> take_bias(ValueId y) {
    Node node = editor_.maker(y);
    const auto other = added_to(y);
    if (!other || has_any(node, {"bias", "activation", "gradient_of", "residual", "widens"}))
      return std::nullopt;
    if (editor_.type(*other).shape != Shape{editor_.type(y).shape.back()}) return std::nullopt;
    node.attributes.set("bias", true);
    insert_operand(node, "bias", *other);
    return join(y, editor_.users(y)[0], std::move(node));
  }

  std::optional<ValueId> take_activation(ValueId y) {
    Node node = editor_.maker(y);
    if (has_any(node, {"activation", "gradient_of", "residual", "widens"})) return std::nullopt;
    for (const std::size_t user : editor_.users(y)) {
      const auto activation = activation_of(editor_.node(user).kind);
      if (!activation) continue;
      node.attributes.set("activation", *activation);
      if (!editor_.has_one_use(y)) {
        node.attributes.set("keeps_before", true);
        node.results.insert(node.results.begin() + 1, y);
      }
      return join(y, user, std::move(node));
    }
    return std::nullopt;
  }

  std::optional<ValueId> take_gradient(ValueId y) {
    Node node = editor_.maker(y);
    if (!editor_.has_one_use(y) ||
        has_any(node, {"activation", "gradient_of", "residual", "widens"}))
      return std::nullopt;
    const std::size_t user = editor_.users(y)[0];
    const auto activation = activation_of_gradient(editor_.node(user).kind);
    if (!activation || editor_.node(user).operands[1] != y) return std::nullopt;
    node.attributes.set("gradient_of", *activation);
    insert_operand(node, "before", editor_.node(user).operands[0]);
    return join(y, user, std::move(node));
  }

  std::optional<ValueId> take_residual(ValueId y) {
    Node node = editor_.maker(y);
    const auto other = added_to(y);
    if (!other || has(node, "residual") || *other == y || editor_.type(*other) != editor_.type(y))
      return std::nullopt;
    // A product that waited for a later value would keep its operands in memory until then.
    if (editor_.producer(*other) > editor_.producer(y)) return std::nullopt;
    node.attributes.set("residual", true);
    insert_operand(node, "residual", *other);
    return join(y, editor_.users(y)[0], std::move(node));
  }

  /// Returns the value of which `value` is another shape.
  ValueId source_of(ValueId value) const {
    while (editor_.maker(value).kind == Kind::reshape) value = editor_.maker(value).operands[0];
    return value;
  }

  /// Returns true for a sum of all rows of `x` into one.
  bool sums_rows(const Node& node, ValueId x) const {
    const auto rank = editor_.type(x).shape.size();
    if (node.kind != Kind::sum || node.attributes.flag("keep")) return false;
    const auto& dimensions = node.attributes.integers("dimensions");
    return dimensions.size() + 1 == rank && std::ranges::none_of(dimensions, [&](auto each) {
             return dimension_at(each, rank) == rank - 1;
           });
  }

  std::optional<ValueId> take_sums(ValueId y) {
    Node node = editor_.maker(y);
    const ValueId a = node.operands[0], rows = source_of(a);
    const Shape& shape = editor_.type(a).shape;
    if (!node.attributes.flag("transpose_a") || shape.size() != 2 ||
        has_any(node, {"sums_a", "widens"}) || shape.back() != innermost(rows))
      return std::nullopt;
    for (const ValueId of : {rows, a}) {
      for (const std::size_t user : editor_.users(of)) {
        if (!sums_rows(editor_.node(user), of)) continue;
        node.attributes.set("sums_a", true);
        node.results.push_back(editor_.node(user).results[0]);
        if (editor_.join(std::array{editor_.producer(y), user}, std::move(node))) return y;
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  std::int64_t innermost(ValueId value) const {
    const Shape& shape = editor_.type(value).shape;
    return shape.empty() ? 1 : shape.back();
  }

  /// Returns the place of the conversion to float32 that is the only use of a value.
  std::optional<std::size_t> widening_of(ValueId value) const {
    const auto user = only_user(value, Kind::convert);
    if (!user || editor_.type(editor_.node(*user).results[0]).numbers != NumberType::float32)
      return std::nullopt;
    return user;
  }

  std::optional<ValueId> widen(ValueId y) {
    Node node = editor_.maker(y);
    if (has_any(node, {"widens", "residual"})) return std::nullopt;
    const auto user = widening_of(y);
    if (!user) return std::nullopt;
    std::vector<std::size_t> members{editor_.producer(y), *user};
    node.results[0] = editor_.node(*user).results[0];
    if (has(node, "sums_a")) {
      const auto of_sums = widening_of(node.results.back());
      if (!of_sums) return std::nullopt;
      members.push_back(*of_sums);
      node.results.back() = editor_.node(*of_sums).results[0];
    }
    node.attributes.set("widens", true);
    const ValueId result = node.results[0];
    if (!editor_.join(members, std::move(node))) return std::nullopt;
    return result;
  }

  GraphEditor editor_;
};

/// Returns the graph in which reshapes follow what they reshape, so that they are there wherever a
/// joined operation needs them. They are no work.
Result<Graph> with_early_reshapes(const Graph& graph) {
  std::vector<std::vector<const Operation*>> reshapes(graph.values());
  for (const Operation& operation : graph.operations())
    if (operation.kind == Kind::reshape)
      reshapes[operation.operands[0].index].push_back(&operation);
  GraphCopy copy(graph);
  for (const Operation& operation : graph.operations()) {
    if (copy.has(operation.first_result)) continue;
    std::vector<const Operation*> next{&operation};
    while (!next.empty()) {
      const Operation& each = *next.back();
      next.pop_back();
      copy.copy(each);
      for (std::size_t r = 0; r < graph.results(each); ++r) {
        const auto& of = reshapes[graph.result(each, r).index];
        next.insert(next.end(), of.rbegin(), of.rend());
      }
    }
  }
  copy.copy_outputs();
  return copy.take();
}

}  // namespace

Result<Graph> fuse(const Graph& graph) {
  const auto early = with_early_reshapes(graph);
  HOCKET_TRY(early);
  return Fusion(*early).run();
}

}  // namespace hocket
