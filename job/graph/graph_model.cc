#include "job/graph/graph_model.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/base/check.h"
#include "core/graph/derivative.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"

namespace hocket {
namespace {

/// Returns the value of which `value` is another shape.
ValueId source_of(const Graph& graph, ValueId value) {
  while (graph.operations()[graph.producer(value)].kind == OperationKind::reshape)
    value = graph.operations()[graph.producer(value)].operands[0];
  return value;
}

/// The executor reports what a task throws.
void require(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

}  // namespace

GraphModel::~GraphModel() = default;

Result<std::unique_ptr<GraphModel>> GraphModel::create(Graph graph, const KernelTable& table,
                                                       KernelDevice device, KernelMemory& memory,
                                                       GraphModelOptions options) {
  std::unique_ptr<GraphModel> model(new GraphModel(device, memory, std::move(options)));
  HOCKET_TRY(model->prepare(std::move(graph), table));
  const GraphTasks tasks(model->prepared_->graph());
  HOCKET_TRY(model->describe_operations(tasks, table));
  HOCKET_TRY(model->describe_inputs(tasks));
  HOCKET_TRY(model->describe_outputs(tasks));
  model->describe_groups(tasks);
  return model;
}

Result<void> GraphModel::prepare(Graph graph, const KernelTable& table) {
  HOCKET_TRY(find_groups(graph));
  PrepareOptions options{.memory = {.slack_operations = options_.slack_operations,
                                    .micro_batches_kept = options_.micro_batches_kept},
                         .is_placed = is_placed(),
                         .limit_bytes = options_.memory_limit_bytes};
  std::vector<GradientGroup> groups;
  for (const Group& group : groups_) {
    groups.push_back(group.of);
    options.memory.groups.push_back(group.of.gradients);
  }
  if (groups_parameters()) HOCKET_TRY(check_updates(graph, groups));
  if (groups_parameters())
    for (const GradientGroup& group : groups) options.parameter_groups.push_back(group.parameters);
  if (options_.shards_optimiser)
    options.parts = own_parts(graph, groups, options_.grid, options_.rank);
  auto prepared =
      PreparedGraph::prepare(std::move(graph), table, device_, memory_, std::move(options));
  HOCKET_TRY(prepared);
  prepared_ = std::move(*prepared);
  find_parameter_places();
  HOCKET_CHECK(prepared_->moves().empty() || (!options_.shards_optimiser && !is_placed()),
               "updates behind all gradients are in the memory of their parameters");
  if (is_placed()) return {};
  blocks_ = arena_blocks(prepared_->plan());
  before_ = blocks_before(blocks_);
  return {};
}

Result<void> GraphModel::find_groups(const Graph& graph) {
  const bool communicates =
      options_.grid.ranks > 1 || options_.served || options_.shards_optimiser || is_placed();
  if (!communicates) return {};
  auto groups = find_gradient_groups(graph);
  HOCKET_TRY(groups);
  for (GradientGroup& group : *groups) {
    groups_.push_back({.of = std::move(group), .sum = {}, .gather = {}, .count = {}});
    if (options_.served) groups_.back().served = *options_.served;
  }
  return {};
}

Result<GraphModel::Queue> GraphModel::make_queue(KernelMemory& memory, std::int64_t bytes,
                                                 std::int64_t count) {
  auto values = memory.allocate_on_host(bytes * count);
  HOCKET_TRY(values);
  auto counter = memory.allocate(sizeof(std::int64_t));
  HOCKET_TRY(counter);
  return Queue{
      .values = {.first = values->get(), .bytes = bytes, .count = count, .counter = counter->get()},
      .memory = std::move(*values),
      .counter = std::move(*counter)};
}

Result<void> GraphModel::describe_operations(const GraphTasks& tasks, const KernelTable& table) {
  const Graph& graph = prepared_->graph();
  for (const PreparedGraph::Task& task : prepared_->tasks()) {
    const Operation& operation = graph.operations()[task.operation];
    Computed& computed = tasks_.emplace_back(Computed{.task = tasks.operation(task.operation)});
    if (!is_placed()) computed.task.place.updates_layer = kNoLayer;
    // Pieces that run at the same time would need scratch memory of their own.
    if (divides() && task.units() > 1 && !prepared_->plan().scratch[task.operation]) {
      computed.task.place.dimensions = {
          {.name = "units", .kind = DimensionKind::outer, .extent = task.units(), .slices = {}}};
    }
    // Steps that are placed are not partitioned.
    if (divides() && !is_placed() && task.kernel && task.kernel->summands() > 1) {
      computed.task.place.dimensions.push_back({.name = "summands",
                                                .kind = DimensionKind::contraction,
                                                .extent = task.kernel->summands(),
                                                .slices = {}});
    }
    if (!is_placed() || !is_update(operation) || !task.kernel) continue;
    auto kernel = table.make(prepared_->signature_of(task.operation), KernelDevice::host);
    if (!kernel) return failure(kernel.error().in(words_of(operation)));
    computed.on_host = std::move(*kernel);
  }
  layers_.assign(graph.values(), kNoLayer);
  if (!is_placed()) return {};
  for (const Operation& operation : graph.operations())
    if (operation.kind == OperationKind::parameter)
      layers_[operation.first_result.index] = tasks.layer_number(operation);
  return {};
}

Result<void> GraphModel::describe_inputs(const GraphTasks& tasks) {
  const Graph& graph = prepared_->graph();
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::input) continue;
    const ValueId value = operation.first_result;
    auto drawn = make_queue(memory_, graph.type(value).bytes(), kDrawnSteps);
    HOCKET_TRY(drawn);
    inputs_.push_back({.name = operation.name,
                       .value = value,
                       .drawn = std::move(*drawn),
                       .load = tasks.load(operation)});
  }
  return is_placed() ? describe_host_inputs(tasks) : Result<void>();
}

Result<void> GraphModel::describe_host_inputs(const GraphTasks& tasks) {
  const Graph& graph = prepared_->graph();
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i].on_host) continue;
    const std::int64_t layer = tasks_[i].task.place.updates_layer;
    const Operation& update = graph.operations()[prepared_->tasks()[i].operation];
    for (const ValueId value : update.operands) {
      const Operation& maker = graph.operations()[graph.producer(value)];
      const bool is_known = std::ranges::any_of(host_inputs_, [&](const HostInput& known) {
        return known.value == value && known.layer == layer;
      });
      if (maker.kind != OperationKind::input || is_known) continue;
      const std::int64_t bytes = graph.type(value).bytes();
      auto drawn = make_queue(host_kernel_memory(), bytes, kDrawnSteps);
      HOCKET_TRY(drawn);
      auto memory = host_kernel_memory().allocate(bytes);
      HOCKET_TRY(memory);
      DescribedTask load = tasks.load(maker);
      load.name += " for layer " + std::to_string(layer);
      load.place.updates_layer = layer;
      host_inputs_.push_back({.value = value,
                              .layer = layer,
                              .drawn = std::move(*drawn),
                              .memory = std::move(*memory),
                              .load = std::move(load)});
    }
  }
  return {};
}

Result<void> GraphModel::describe_outputs(const GraphTasks& tasks) {
  const Graph& graph = prepared_->graph();
  for (const GraphOutput& output : graph.outputs()) {
    if (graph.type(output.value) != ValueType{NumberType::float32, {}} ||
        output.name.starts_with(updated_name("")) || output.name.starts_with(gradient_name("")))
      continue;
    auto steps = make_queue(memory_, sizeof(float), std::max<std::int64_t>(options_.steps, 1));
    HOCKET_TRY(steps);
    auto* const floats = reinterpret_cast<float*>(steps->values.first);
    std::fill_n(floats, steps->values.count, std::numeric_limits<float>::quiet_NaN());
    kept_.push_back({.name = output.name,
                     .value = output.value,
                     .steps = std::move(*steps),
                     .task = tasks.keep(output.name)});
  }
  for (const PreparedGraph::Move& move : prepared_->moves())
    moves_.push_back(tasks.move(graph.operations()[graph.producer(move.to)]));
  return {};
}

void GraphModel::describe_groups(const GraphTasks& tasks) {
  const Graph& graph = prepared_->graph();
  std::map<std::size_t, std::size_t> task_of;  // by operation
  for (std::size_t i = 0; i < prepared_->tasks().size(); ++i)
    task_of[prepared_->tasks()[i].operation] = i;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    std::size_t last_gradient = 0, last_update = 0;
    for (std::size_t i = 0; i < group.of.gradients.size(); ++i) {
      const ValueId made = source_of(graph, group.of.gradients[i]);
      last_gradient = std::max(last_gradient, task_of.at(graph.producer(made)));
      if (options_.shards_optimiser)
        last_update = std::max(last_update, task_of.at(group.of.updates[i]));
    }
    tasks_[last_gradient].sums_after.push_back(g);
    if (options_.shards_optimiser) tasks_[last_update].gathers_after.push_back(g);
    group.sum = tasks.sum(group.of);
    group.gather = tasks.gather(group.of);
    group.count = tasks.count(group.of);
  }
}

void GraphModel::attach(Submitter& submitter) {
  submitter_ = &submitter;
  add_data(submitter);
  if (is_placed()) add_to_placed();
  add_accesses();
}

void GraphModel::submit(std::size_t index) {
  const Computed& computed = tasks_[index];
  const std::int64_t units = prepared_->tasks()[index].units();
  if (computed.task.place.dimensions.empty()) {
    submitter_->compute(computed.task.options(), computed.accesses, [this, index, units] {
      run(index, {0, units});
    });
  } else {
    submitter_->compute_pieces(computed.task.options(), computed.accesses,
                               [this, index](const TaskPiece& piece) { run_piece(index, piece); });
  }
}

void GraphModel::run_piece(std::size_t index, const TaskPiece& piece) const {
  const PreparedGraph::Task& task = prepared_->tasks()[index];
  const Dimension& dimension = tasks_[index].task.place.dimensions[piece.dimension];
  const UnitRange range{piece.begin, std::min(piece.end, dimension.extent)};
  if (dimension.kind == DimensionKind::outer) return run(index, range);
  require(prepared_->run_summands(task, range));
}

void GraphModel::run(std::size_t index, UnitRange units) const {
  const PreparedGraph::Task& task = prepared_->tasks()[index];
  if (!is_placed()) return require(prepared_->run(task, units));
  if (!task.kernel) return;
  const Computed& computed = tasks_[index];
  const Operation& operation = prepared_->graph().operations()[task.operation];
  if (computed.on_host && is_on_host(operation.operands[0])) {
    const std::int64_t layer = computed.task.place.updates_layer;
    const auto place = [this, layer](ValueId owner) { return placed_on_host(owner, layer); };
    const auto run = [&](UnitRange range) {
      return prepared_->run(task, range, *computed.on_host, place, nullptr);
    };
    const std::int64_t all = computed.on_host->units();
    if (divides()) return require(run(units));
    require(options_.run_on_host ? options_.run_on_host(all, run) : run({0, all}));
    return;
  }
  void* const scratch = prepared_->plan().scratch[task.operation]
                            ? options_.placed->at(scratch_[task.operation])
                            : nullptr;
  require(prepared_->run(
      task, units, *task.kernel, [this](ValueId owner) { return placed_on_device(owner); },
      scratch));
}

void GraphModel::submit_sum(std::size_t index) {
  Group& group = groups_[index];
  const std::span<std::byte> bytes = prepared_->group(index);
  const std::span values(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
  if (options_.served) {
    submitter_->optimizer_step(group.sum.options(), group.gradients, values, group.served);
    const Access counted = update(group.gradients);
    submitter_->compute(group.count.options(), {&counted, 1}, [&group] { ++group.served.update; });
  } else if (options_.shards_optimiser) {
    submitter_->reduce_scatter(group.sum.options(), group.gradients, values);
  } else {
    submitter_->all_reduce(group.sum.options(), group.gradients, values);
  }
}

void GraphModel::submit_gather(std::size_t index) {
  const std::span<std::byte> bytes = prepared_->parameter_group(index);
  submitter_->all_gather(groups_[index].gather.options(), groups_[index].parameters,
                         {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
}

void GraphModel::submit_tasks() {
  HOCKET_CHECK(submitter_, "the model is not attached");
  for (Input& input : inputs_) {
    submitter_->compute(input.load.options(), input.accesses, [this, &input] {
      require(memory_.take(input.drawn.values, prepared_->bytes_of(input.value).data()));
    });
  }
  for (const HostInput& input : host_inputs_) {
    const Access written = hocket::write(input.data);
    submitter_->compute(input.load.options(), {&written, 1}, [&input] {
      require(host_kernel_memory().take(input.drawn.values, input.memory.get()));
    });
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    submit(i);
    for (const std::size_t group : tasks_[i].sums_after) submit_sum(group);
    for (const std::size_t group : tasks_[i].gathers_after) submit_gather(group);
  }
  for (std::size_t i = 0; i < moves_.size(); ++i) {
    submitter_->compute(moves_[i].options(), move_accesses_[i],
                        [this, i] { require(prepared_->run(prepared_->moves()[i])); });
  }
  for (const Kept& kept : kept_) {
    submitter_->compute(kept.task.options(), kept.accesses, [this, &kept] {
      const std::byte* const value = is_placed() ? placed_on_device(owner_of(kept.value))
                                                 : prepared_->bytes_of(kept.value).data();
      require(memory_.keep(value, kept.steps.values));
    });
  }
}

void GraphModel::draw(std::int64_t step) {
  HOCKET_CHECK(drawn_ < options_.steps, "there are more steps than the training has");
  for (Input& input : inputs_) {
    const StepValues& values = input.drawn.values;
    const std::int64_t offset = drawn_ % values.count * values.bytes;
    const std::span place(values.first + offset, static_cast<std::size_t>(values.bytes));
    if (options_.draw) options_.draw(step, input.name, place);
    for (const HostInput& copy : host_inputs_)
      if (copy.value == input.value) std::ranges::copy(place, copy.drawn.values.first + offset);
  }
  ++drawn_;
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

MicroBatchMemory GraphModel::micro_batch_memory() const {
  const std::int64_t each = prepared_->plan().micro_batch_bytes;
  const auto limit = prepared_->limit_bytes();
  if (is_placed() || each == 0 || !limit) return {};
  // The memory that is allocated is no longer available, and is part of a limit that was given.
  const std::int64_t kept = options_.micro_batches_kept * each;
  const std::int64_t others = prepared_->allocated_bytes() - kept;
  return {.bytes_each = each,
          .limit_bytes = options_.memory_limit_bytes > 0 ? options_.memory_limit_bytes - others
                                                         : *limit + kept};
}

Result<void> GraphModel::write(std::string_view parameter, std::span<const std::byte> bytes) {
  const auto value = prepared_->graph().leaf(parameter);
  HOCKET_CHECK(value, "a parameter of the graph");
  const std::span<std::byte> to = prepared_->bytes_of(*value);
  HOCKET_CHECK(bytes.size() == to.size(), "as many bytes as the parameter has");
  if (!is_placed()) return memory_.write(to.data(), bytes);
  if (!is_on_host(*value)) return memory_.write(placed_on_device(*value), bytes);
  std::ranges::copy(bytes, to.begin());
  return {};
}

Result<std::vector<std::byte>> GraphModel::read(std::string_view parameter) const {
  const auto value = prepared_->graph().leaf(parameter);
  HOCKET_CHECK(value, "a parameter of the graph");
  const std::span<std::byte> from = prepared_->bytes_of(*value);
  std::vector<std::byte> bytes(from.size());
  if (is_placed() && is_on_host(*value)) {
    std::ranges::copy(from, bytes.begin());
    return bytes;
  }
  HOCKET_TRY(memory_.read(bytes, is_placed() ? placed_on_device(*value) : from.data()));
  return bytes;
}

float GraphModel::output(std::string_view name, std::int64_t step) const {
  const auto kept = std::ranges::find(kept_, name, &Kept::name);
  HOCKET_CHECK(kept != kept_.end(), "an output of the graph that is a single number");
  HOCKET_CHECK(step >= 0 && step < kept->steps.values.count, "a step of the training");
  return reinterpret_cast<const float*>(kept->steps.values.first)[step];
}

std::int64_t GraphModel::optimiser_bytes() const {
  std::int64_t bytes = 0;
  for (const Operation& operation : prepared_->graph().operations())
    if (operation.kind == OperationKind::parameter && is_optimiser_state(operation.name))
      bytes += std::ssize(prepared_->bytes_of(operation.first_result));
  return bytes;
}

}  // namespace hocket
