#include "job/graph/graph_model.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/base/check.h"
#include "core/graph/derivative.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

/// Returns the part of the model whose parameters are communicated together: at most two names of a
/// region, "block3.attention".
std::string group_of(std::string_view region) {
  const std::string_view whole = model_region(region);
  const std::size_t first = whole.find('.');
  if (first == std::string_view::npos) return std::string(whole);
  return std::string(whole.substr(0, whole.find('.', first + 1)));
}

/// Returns the region as configurations name it: the pass and the layer, "backward_block3".
std::string place_of(std::string_view region) {
  const std::string_view whole = model_region(region);
  const char* const pass = has_mark(region, kUpdate)     ? "update_"
                           : has_mark(region, kBackward) ? "backward_"
                                                         : "forward_";
  return pass + std::string(whole.substr(0, whole.find('.')));
}

/// Returns for each operation whether no other layer's derivative needs it, so that it may wait.
std::vector<bool> weight_gradients(const Graph& graph) {
  std::vector<bool> may_wait(graph.operations().size(), true);
  for (std::size_t i = may_wait.size(); i-- > 0;) {
    const Operation& user = graph.operations()[i];
    if (has_mark(user.region, kUpdate)) continue;
    for (const ValueId operand : user.operands) {
      const Operation& maker = graph.operations()[graph.producer(operand)];
      if (!may_wait[i] || group_of(maker.region) != group_of(user.region))
        may_wait[graph.producer(operand)] = false;
    }
  }
  return may_wait;
}

/// Returns the value of which `value` is another shape.
ValueId source_of(const Graph& graph, ValueId value) {
  while (graph.operations()[graph.producer(value)].kind == OperationKind::reshape)
    value = graph.operations()[graph.producer(value)].operands[0];
  return value;
}

/// Adds an access, or makes of two one.
void add(std::vector<Access>& accesses, const Access& access) {
  const auto known = std::ranges::find(accesses, access.data, &Access::data);
  if (known == accesses.end())
    accesses.push_back(access);
  else if (known->mode != access.mode)
    known->mode = AccessMode::update;
}

}  // namespace

std::vector<TensorSpec> gradient_groups(const Graph& graph) {
  std::vector<TensorSpec> groups;
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::parameter || is_optimiser_state(operation.name)) continue;
    const std::string name = group_of(operation.region);
    auto group = std::ranges::find(groups, name, &TensorSpec::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, 0});
    group->bytes += graph.type(operation.first_result).bytes();
  }
  return groups;
}

Result<std::unique_ptr<GraphModel>> GraphModel::create(Graph graph, const KernelTable& table,
                                                       KernelDevice device, KernelMemory& memory,
                                                       GraphModelOptions options) {
  std::unique_ptr<GraphModel> model(new GraphModel(std::move(options)));
  auto found = find_groups(graph, model->options_.grid);
  HOCKET_TRY(found);
  model->groups_ = std::move(*found);
  std::vector<std::vector<ValueId>> groups;
  for (const Group& group : model->groups_) groups.push_back(group.gradients);
  auto prepared = PreparedGraph::prepare(
      std::move(graph), table, device, memory,
      {.slack_operations = model->options_.slack_operations, .groups = std::move(groups)});
  HOCKET_TRY(prepared);
  model->prepared_ = std::move(*prepared);
  model->describe_tasks();
  return model;
}

Result<std::vector<GraphModel::Group>> GraphModel::find_groups(const Graph& graph,
                                                               const RankGrid& grid) {
  std::vector<Group> groups;
  if (grid.ranks == 1) return groups;
  for (const GraphOutput& output : graph.outputs()) {
    if (!output.name.starts_with(gradient_name(""))) continue;
    const auto parameter = graph.leaf(output.name.substr(gradient_name("").size()));
    if (!parameter) continue;
    const ValueType& type = graph.type(output.value);
    if (type.numbers != NumberType::float32) {
      return failure(ErrorCode::invalid_argument, "output \"" + output.name + "\" is " +
                                                      to_string(type) +
                                                      "; ranks sum gradients of float32 alone");
    }
    const std::string name = group_of(graph.operations()[graph.producer(*parameter)].region);
    auto group = std::ranges::find(groups, name, &Group::name);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{.name = name});
    group->gradients.push_back(output.value);
  }
  if (!groups.empty()) return groups;
  return failure(ErrorCode::invalid_argument,
                 "no gradient is an output, which " + std::to_string(grid.ranks) +
                     " ranks would sum; add the optimiser for as many ranks");
}

void GraphModel::describe_tasks() {
  for (const Operation& operation : prepared_->graph().operations()) {
    const std::string layer = group_of(operation.region);
    if (std::ranges::find(layers_, layer) == layers_.end()) layers_.push_back(layer);
  }
  describe_operations();
  describe_inputs();
  describe_outputs();
  describe_sums();
  blocks_ = arena_blocks(prepared_->plan());
  before_ = blocks_before(blocks_);
}

std::uint32_t GraphModel::layer_of(std::string_view region) const {
  return static_cast<std::uint32_t>(std::ranges::find(layers_, group_of(region)) - layers_.begin());
}

std::uint32_t GraphModel::priority_of(const Operation& operation, bool may_wait) const {
  const auto count = static_cast<std::uint32_t>(layers_.size());
  const std::uint32_t layer = layer_of(operation.region);
  const bool is_backward =
      has_mark(operation.region, kBackward) || has_mark(operation.region, kRecomputed);
  if (!is_backward || has_mark(operation.region, kUpdate)) return 2 * count + layer;
  return 2 * (count - 1 - layer) + (may_wait ? 1 : 0);
}

void GraphModel::describe_operations() {
  const Graph& graph = prepared_->graph();
  const std::vector<bool> may_wait = weight_gradients(graph);
  for (const PreparedGraph::Task& task : prepared_->tasks()) {
    const Operation& operation = graph.operations()[task.operation];
    Submitted submitted{.name = words_of(operation),
                        .place = {.region = place_of(operation.region)},
                        .priority = priority_of(operation, may_wait[task.operation])};
    if (const auto micro_batch = micro_batch_of(operation.region))
      submitted.place.micro_batch = static_cast<std::uint32_t>(*micro_batch);
    // Pieces that run at the same time would need scratch memory of their own.
    if (task.kernel->units() > 1 && task.scratch == nullptr) {
      submitted.place.dimensions = {{.name = "units",
                                     .kind = DimensionKind::outer,
                                     .extent = task.kernel->units(),
                                     .slices = {}}};
    }
    tasks_.push_back(std::move(submitted));
  }
}

void GraphModel::describe_inputs() {
  const Graph& graph = prepared_->graph();
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::input) continue;
    const auto bytes = static_cast<std::size_t>(graph.type(operation.first_result).bytes());
    inputs_.push_back({.name = operation.name,
                       .value = operation.first_result,
                       .bytes = bytes,
                       .drawn = std::vector<std::byte>(bytes * kDrawnSteps)});
    loads_.push_back({.name = "load " + operation.name,
                      .place = {.region = "forward_input"},
                      .priority = priority_of(operation, false)});
  }
}

void GraphModel::describe_outputs() {
  const Graph& graph = prepared_->graph();
  for (const GraphOutput& output : graph.outputs()) {
    if (graph.type(output.value) != ValueType{NumberType::float32, {}} ||
        output.name.starts_with(updated_name("")) || output.name.starts_with(gradient_name("")))
      continue;
    kept_[output.name] = {.value = output.value,
                          .steps = std::vector<float>(static_cast<std::size_t>(options_.steps),
                                                      std::numeric_limits<float>::quiet_NaN())};
    keeps_[output.name] = {.name = "keep " + output.name,
                           .priority = 3 * static_cast<std::uint32_t>(layers_.size())};
  }
  for (const PreparedGraph::Move& move : prepared_->moves()) {
    const Operation& parameter = graph.operations()[graph.producer(move.to)];
    moves_.push_back({.name = "move " + parameter.name,
                      .place = {.region = place_of(parameter.region + std::string(kUpdate))},
                      .priority = priority_of(parameter, false)});
  }
}

void GraphModel::describe_sums() {
  const Graph& graph = prepared_->graph();
  std::map<std::size_t, std::size_t> task_of;  // by operation
  for (std::size_t i = 0; i < prepared_->tasks().size(); ++i)
    task_of[prepared_->tasks()[i].operation] = i;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::size_t last = 0;
    for (const ValueId gradient : groups_[g].gradients)
      last = std::max(last, task_of.at(graph.producer(source_of(graph, gradient))));
    tasks_[last].sums_after.push_back(g);
    sums_.push_back({.name = "gradients of " + groups_[g].name,
                     .place = {.region = place_of(groups_[g].name + std::string(kBackward))},
                     .priority = layer_of(groups_[g].name)});
  }
}

void GraphModel::attach(Submitter& submitter) {
  submitter_ = &submitter;
  add_data(submitter);
  add_accesses();
}

void GraphModel::add_data(Submitter& submitter) {
  const Graph& graph = prepared_->graph();
  const MemoryPlan& plan = prepared_->plan();
  data_.assign(graph.values(), {});
  scratch_.assign(graph.operations().size(), {});
  for (Group& group : groups_) {
    std::int64_t bytes = 0;
    for (const ValueId gradient : group.gradients) bytes += graph.type(gradient).bytes();
    group.data =
        submitter.add_data({.bytes = bytes, .is_transient = true}, group.name + ".gradients");
  }
  for (std::uint32_t i = 0; i < graph.values(); ++i) {
    if (plan.owners[i] != ValueId{i}) continue;
    const Operation& maker = graph.operations()[graph.producer({i})];
    DataPlace place{.bytes = graph.type({i}).bytes(),
                    .is_transient = maker.kind > OperationKind::parameter};
    if (const auto& grouped = plan.grouped[i]) {
      place.bytes = 0;
      place.range_of = groups_[grouped->group].data.index;
    }
    data_[i] = submitter.add_data(place, maker.name.empty() ? words_of(maker) : maker.name);
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    if (!plan.scratch[i]) continue;
    scratch_[i] = submitter.add_data({.bytes = plan.scratch[i]->bytes, .is_transient = true},
                                     "scratch of " + words_of(graph.operations()[i]));
  }
  for (auto& [name, kept] : kept_) kept.data = submitter.add_data({}, "kept " + name);
}

DataId GraphModel::data_of(ValueId value) const {
  return data_[prepared_->plan().owners[value.index].index];
}

void GraphModel::add_accesses() {
  const Graph& graph = prepared_->graph();
  const MemoryPlan& plan = prepared_->plan();
  std::map<std::size_t, std::size_t> task_of;  // by operation
  // Gradients in a group are in order among themselves, and the sum of all is in order with each.
  const auto touch_group = [&](std::vector<Access>& accesses, ValueId value) {
    if (const auto& grouped = plan.grouped[plan.owners[value.index].index])
      add(accesses, read(groups_[grouped->group].data));
  };
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const PreparedGraph::Task& task = prepared_->tasks()[i];
    const Operation& operation = graph.operations()[task.operation];
    std::vector<Access>& accesses = tasks_[i].accesses;
    accesses.clear();
    task_of[task.operation] = i;
    for (const ValueId operand : operation.operands) {
      touch_group(accesses, operand);
      add(accesses, read(data_of(operand)));
    }
    for (std::size_t r = 0; r < graph.results(operation); ++r) {
      const ValueId result = graph.result(operation, r);
      touch_group(accesses, result);
      add(accesses, write(data_of(result)));
    }
    if (plan.scratch[task.operation]) add(accesses, write(scratch_[task.operation]));
  }
  const auto data_of_block = [&](const ArenaBlock& block) {
    return block.is_scratch ? scratch_[block.index] : data_[block.index];
  };
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<Access>& accesses = tasks_[task_of.at(blocks_[i].place.first)].accesses;
    for (const std::size_t before : before_[i])
      add(accesses, write(data_of_block(blocks_[before])));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    loads_[i].accesses = {write(data_of(inputs_[i].value))};
  for (auto& [name, kept] : kept_) {
    std::vector<Access>& accesses = keeps_.find(name)->second.accesses;
    accesses = {update(kept.data)};
    add(accesses, read(data_of(kept.value)));
  }
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    const PreparedGraph::Move& move = prepared_->moves()[i];
    moves_[i].accesses = {read(data_of(move.from)), write(data_of(move.to))};
  }
}

TaskOptions GraphModel::options_of(const Submitted& task) const {
  return {.name = task.name, .priority = task.priority, .place = &task.place};
}

void GraphModel::draw(std::int64_t step) {
  HOCKET_CHECK(drawn_ < options_.steps, "there are more steps than the training has");
  for (Input& input : inputs_) {
    std::byte* const place =
        input.drawn.data() + input.bytes * static_cast<std::size_t>(drawn_ % kDrawnSteps);
    if (options_.draw) options_.draw(step, input.name, {place, input.bytes});
  }
  ++drawn_;
}

void GraphModel::load(Input& input) {
  const std::byte* const place =
      input.drawn.data() + input.bytes * static_cast<std::size_t>(input.loaded % kDrawnSteps);
  std::memcpy(prepared_->bytes_of(input.value).data(), place, input.bytes);
  ++input.loaded;
}

void GraphModel::submit(std::size_t index) {
  const Submitted& submitted = tasks_[index];
  const PreparedGraph::Task& task = prepared_->tasks()[index];
  // The executor reports what a task throws.
  const auto run = [this, &task](UnitRange units) {
    if (const auto done = prepared_->run(task, units); !done)
      throw std::runtime_error(done.error().message);
  };
  if (submitted.place.dimensions.empty()) {
    submitter_->compute(options_of(submitted), submitted.accesses, [run, &task] {
      run({0, task.kernel->units()});
    });
  } else {
    submitter_->compute_pieces(options_of(submitted), submitted.accesses,
                               [run, &task](const TaskPiece& piece) {
                                 run({piece.begin, std::min(piece.end, task.kernel->units())});
                               });
  }
}

void GraphModel::submit_tasks() {
  HOCKET_CHECK(submitter_, "the model is not attached");
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    submitter_->compute(options_of(loads_[i]), loads_[i].accesses,
                        [this, &input = inputs_[i]] { load(input); });
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    submit(i);
    for (const std::size_t g : tasks_[i].sums_after) {
      const std::span<std::byte> bytes = prepared_->group(g);
      submitter_->all_reduce(
          options_of(sums_[g]), groups_[g].data,
          {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
    }
  }
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    submitter_->compute(options_of(moves_[i]), moves_[i].accesses,
                        [this, i] { prepared_->run(prepared_->moves()[i]); });
  }
  for (auto& [name, kept] : kept_) {
    const Submitted& submitted = keeps_.find(name)->second;
    submitter_->compute(options_of(submitted), submitted.accesses, [this, &kept = kept] {
      std::memcpy(&kept.steps.at(kept.written++), prepared_->bytes_of(kept.value).data(),
                  sizeof(float));
    });
  }
}

DataId GraphModel::first_gradient() {
  const Graph& graph = prepared_->graph();
  for (const PreparedGraph::Task& task : prepared_->tasks()) {
    const Operation& operation = graph.operations()[task.operation];
    if (has_mark(operation.region, kBackward)) return data_of(operation.first_result);
  }
  HOCKET_CHECK(false, "a model that is trained has a derivative");
  return {};
}

float GraphModel::output(std::string_view name, std::int64_t step) const {
  const auto kept = kept_.find(name);
  HOCKET_CHECK(kept != kept_.end(), "an output of the graph that is a single number");
  return kept->second.steps.at(static_cast<std::size_t>(step));
}

}  // namespace hocket
