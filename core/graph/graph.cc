#include "core/graph/graph.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kShownNameBytes = 60;

Result<void> check_room(std::size_t operations) {
  if (operations < kMostOperations) return {};
  return failure(ErrorCode::invalid_argument,
                 "a graph has at most " + std::to_string(kMostOperations) + " operations");
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

}  // namespace

std::string words_of(OperationKind kind, std::string_view region, std::string_view name) {
  std::string words(to_string(kind));
  if (!name.empty()) words += " \"" + printable(name, kShownNameBytes) + "\"";
  if (!region.empty()) words += " in " + printable(region, kMostNameBytes);
  return words;
}

Result<void> check_graph_name(std::string_view name) {
  if (!name.empty() && name.size() <= kMostNameBytes &&
      std::ranges::all_of(name, is_name_character))
    return {};
  return failure(ErrorCode::invalid_argument,
                 "expected a name of 1 to " + std::to_string(kMostNameBytes) +
                     " letters, digits, \"_\", \"-\", \".\" and \"/\", found \"" +
                     printable(name, kShownNameBytes) + "\"");
}

ValueId Graph::append(Operation operation, std::vector<ValueType> types) {
  const ValueId first{static_cast<std::uint32_t>(types_.size())};
  operation.first_result = first;
  if (!operation.name.empty()) leaves_.emplace(operation.name, first);
  for (ValueType& type : types) {
    types_.push_back(std::move(type));
    producers_.push_back(static_cast<std::uint32_t>(operations_.size()));
  }
  operations_.push_back(std::move(operation));
  return first;
}

Result<ValueId> Graph::add_leaf(OperationKind kind, std::string name, const ValueType& type,
                                const Attributes& attributes, std::string region) {
  const auto in = [&](const Error& error) { return failure(error.in(words_of(kind, {}, name))); };
  if (auto ok = check_room(operations_.size()); !ok) return in(ok.error());
  if (auto ok = check_shape(type.shape); !ok) return in(ok.error());
  if (!region.empty())
    if (auto ok = check_graph_name(region); !ok) return in(ok.error().in("region"));
  if (kind != OperationKind::constant) {
    if (auto ok = check_graph_name(name); !ok) return in(ok.error());
    if (leaf(name)) return in({ErrorCode::invalid_argument, "there is another one of this name"});
  }
  auto all = complete(kind, attributes);
  if (!all) return in(all.error());
  return append({.kind = kind,
                 .attributes = std::move(*all),
                 .region = std::move(region),
                 .name = std::move(name)},
                {type});
}

Result<ValueId> Graph::add_input(std::string name, const ValueType& type, std::string region) {
  return add_leaf(OperationKind::input, std::move(name), type, {}, std::move(region));
}

Result<ValueId> Graph::add_parameter(std::string name, const ValueType& type, std::string region) {
  return add_leaf(OperationKind::parameter, std::move(name), type, {}, std::move(region));
}

Result<ValueId> Graph::add_constant(double value, const ValueType& type, std::string region) {
  return add_leaf(OperationKind::constant, "", type, {{"value", value}}, std::move(region));
}

Result<ValueId> Graph::add(OperationKind kind, std::vector<ValueId> operands,
                           const Attributes& attributes, std::string region) {
  HOCKET_CHECK(kind > OperationKind::constant, "inputs, parameters and constants have types");
  const auto in = [&](const Error& error) { return failure(error.in(words_of(kind, region))); };
  if (auto ok = check_room(operations_.size()); !ok) return in(ok.error());
  if (!region.empty())
    if (auto ok = check_graph_name(region); !ok) return in(ok.error().in("region"));
  std::vector<ValueType> types;
  for (const ValueId operand : operands) {
    HOCKET_CHECK(operand.index < types_.size(), "an operand of this graph");
    types.push_back(types_[operand.index]);
  }
  auto all = complete(kind, attributes);
  if (!all) return in(all.error());
  auto results = result_types(kind, *all, types);
  if (!results) return in(results.error());
  return append({.kind = kind,
                 .operands = std::move(operands),
                 .attributes = std::move(*all),
                 .region = std::move(region)},
                std::move(*results));
}

Result<void> Graph::add_output(std::string name, ValueId value) {
  HOCKET_CHECK(value.index < types_.size(), "a value of this graph");
  if (auto ok = check_graph_name(name); !ok) return failure(ok.error().in("output"));
  if (output(name)) {
    return failure(ErrorCode::invalid_argument,
                   "output \"" + name + "\": there is another one of this name");
  }
  values_of_outputs_.emplace(name, value);
  outputs_.push_back({std::move(name), value});
  return {};
}

std::optional<ValueId> Graph::leaf(std::string_view name) const {
  const auto found = leaves_.find(name);
  return found == leaves_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ValueId> Graph::output(std::string_view name) const {
  const auto found = values_of_outputs_.find(name);
  return found == values_of_outputs_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace hocket
