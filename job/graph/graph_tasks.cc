#include "job/graph/graph_tasks.h"

#include <algorithm>

#include "core/graph/derivative.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

std::string layer_of(std::string_view region) {
  const std::string_view whole = model_region(region);
  return std::string(whole.substr(0, whole.find('.')));
}

std::string region_name(std::string_view region) {
  const char* const pass = has_mark(region, kUpdate)     ? "update_"
                           : has_mark(region, kBackward) ? "backward_"
                                                         : "forward_";
  return pass + layer_of(region);
}

/// Returns for each operation whether no other layer's derivative needs it, so that it may wait.
std::vector<bool> weight_gradients(const Graph& graph) {
  std::vector<bool> may_wait(graph.operations().size(), true);
  for (std::size_t i = may_wait.size(); i-- > 0;) {
    const Operation& user = graph.operations()[i];
    if (has_mark(user.region, kUpdate)) continue;
    for (const ValueId operand : user.operands) {
      const Operation& maker = graph.operations()[graph.producer(operand)];
      if (!may_wait[i] || part_of_model(maker.region) != part_of_model(user.region))
        may_wait[graph.producer(operand)] = false;
    }
  }
  return may_wait;
}

/// Returns the name of a parameter within its region: "up.weight" of "block3.mlp.up.weight".
std::string name_within(const Operation& parameter) {
  const std::string prefix = std::string(model_region(parameter.region)) + ".";
  return parameter.name.starts_with(prefix) ? parameter.name.substr(prefix.size()) : parameter.name;
}

}  // namespace

GraphTasks::GraphTasks(const Graph& graph)
    : graph_(graph), may_wait_(weight_gradients(graph)), gradient_of_(graph.operations().size()) {
  const auto add = [](std::vector<std::string>& names, std::string name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  };
  for (const Operation& operation : graph.operations()) {
    add(parts_, part_of_model(operation.region));
    if (operation.kind == OperationKind::parameter) add(layers_, layer_of(operation.region));
  }
  find_gradients();
}

void GraphTasks::find_gradients() {
  const auto set = [&](ValueId gradient, ValueId parameter) {
    std::size_t maker = graph_.producer(gradient);
    while (graph_.operations()[maker].kind == OperationKind::reshape) {
      gradient = graph_.operations()[maker].operands[0];
      maker = graph_.producer(gradient);
    }
    if (graph_.operations()[maker].first_result == gradient)
      gradient_of_[maker] = &graph_.operations()[graph_.producer(parameter)];
  };
  for (const Operation& operation : graph_.operations())
    if (is_update(operation)) set(operation.operands[1], operation.operands[0]);
  for (const GraphOutput& output : graph_.outputs()) {
    if (!output.name.starts_with(gradient_name(""))) continue;
    const auto parameter = graph_.leaf(output.name.substr(gradient_name("").size()));
    if (parameter) set(output.value, *parameter);
  }
}

std::string GraphTasks::name_of(std::size_t index) const {
  const Operation& operation = graph_.operations()[index];
  const std::string in = operation.region.empty() ? "" : " in " + operation.region;
  if (gradient_of_[index]) return "gradient of " + name_within(*gradient_of_[index]) + in;
  for (const ValueId operand : operation.operands) {
    const Operation& maker = graph_.operations()[graph_.producer(operand)];
    if (maker.kind != OperationKind::parameter) continue;
    const char* const joins = is_update(operation) ? " of " : " with ";
    return std::string(to_string(operation.kind)) + joins + name_within(maker) + in;
  }
  return words_of(operation);
}

std::uint32_t GraphTasks::part_number(std::string_view region) const {
  return static_cast<std::uint32_t>(std::ranges::find(parts_, part_of_model(region)) -
                                    parts_.begin());
}

std::int64_t GraphTasks::layer_number(const Operation& parameter) const {
  return std::ranges::find(layers_, layer_of(parameter.region)) - layers_.begin();
}

std::uint32_t GraphTasks::priority_of(const Operation& operation, bool may_wait) const {
  const auto count = static_cast<std::uint32_t>(parts_.size());
  const std::uint32_t part = part_number(operation.region);
  const bool is_backward =
      has_mark(operation.region, kBackward) || has_mark(operation.region, kRecomputed);
  if (!is_backward || has_mark(operation.region, kUpdate)) return 2 * count + part;
  return 2 * (count - 1 - part) + (may_wait ? 1 : 0);
}

DescribedTask GraphTasks::operation(std::size_t index) const {
  const Operation& operation = graph_.operations()[index];
  DescribedTask task{.name = name_of(index),
                     .place = {.region = region_name(operation.region)},
                     .priority = priority_of(operation, may_wait_[index])};
  if (const auto micro_batch = micro_batch_of(operation.region))
    task.place.micro_batch = static_cast<std::uint32_t>(*micro_batch);
  if (is_update(operation)) {
    const Operation& parameter = graph_.operations()[graph_.producer(operation.operands[0])];
    task.place.updates_layer = layer_number(parameter);
  }
  return task;
}

DescribedTask GraphTasks::load(const Operation& input) const {
  return {.name = "load " + input.name,
          .place = {.region = "forward_input"},
          .priority = priority_of(input, false)};
}

DescribedTask GraphTasks::keep(std::string_view output) const {
  return {.name = "keep " + std::string(output),
          .place = {.region = "forward_output"},
          .priority = 3 * static_cast<std::uint32_t>(parts_.size())};
}

DescribedTask GraphTasks::move(const Operation& parameter) const {
  return {.name = "move " + parameter.name,
          .place = {.region = region_name(parameter.region + std::string(kUpdate))},
          .priority = priority_of(parameter, false)};
}

DescribedTask GraphTasks::sum(const GradientGroup& group) const {
  return {.name = "gradients of " + group.name,
          .place = {.region = region_name(group.name + std::string(kBackward))},
          .priority = part_number(group.name)};
}

DescribedTask GraphTasks::gather(const GradientGroup& group) const {
  DescribedTask task = sum(group);
  task.name = "parameters of " + group.name;
  return task;
}

DescribedTask GraphTasks::count(const GradientGroup& group) const {
  return {.name = "count steps of " + group.name,
          .place = {.region = region_name(group.name + std::string(kUpdate))},
          .priority = 2 * static_cast<std::uint32_t>(parts_.size()) + part_number(group.name)};
}

}  // namespace hocket
