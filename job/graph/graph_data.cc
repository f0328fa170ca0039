// The data of a graph model's tasks: what the scheduler, and the placement of steps, know of its
// memory.

#include <algorithm>
#include <map>

#include "core/base/check.h"
#include "job/graph/graph_model.h"

namespace hocket {
namespace {

/// Adds an access, or makes of two one.
void add_access(std::vector<Access>& accesses, const Access& access) {
  const auto known = std::ranges::find(accesses, access.data, &Access::data);
  if (known == accesses.end())
    accesses.push_back(access);
  else if (known->mode != access.mode)
    known->mode = AccessMode::update;
}

}  // namespace

void GraphModel::find_parameter_places() {
  parameter_places_.assign(prepared_->graph().values(), std::nullopt);
  if (!groups_parameters()) return;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    std::int64_t offset = 0;
    for (const ValueId parameter : groups_[g].of.parameters) {
      parameter_places_[parameter.index] = GroupPlace{g, offset};
      offset += prepared_->graph().type(parameter).bytes();
    }
  }
}

DataPlace GraphModel::place_of(ValueId owner) const {
  const Graph& graph = prepared_->graph();
  const Operation& maker = graph.operations()[graph.producer(owner)];
  DataPlace place{.bytes = graph.type(owner).bytes(),
                  .layer = layers_[owner.index],
                  .is_transient = maker.kind > OperationKind::parameter};
  if (const auto& grouped = prepared_->plan().grouped[owner.index]) {
    place.bytes = 0;
    place.range_of = groups_[grouped->group].gradients.index;
  } else if (const auto parameter = parameter_places_[owner.index]) {
    place = {.bytes = 0, .range_of = groups_[parameter->group].parameters.index};
  } else if (maker.kind == OperationKind::input && is_placed()) {
    place.bytes = 0;  // beside the memory that steps are placed in
  } else if (maker.kind == OperationKind::parameter) {
    place.bytes = std::ssize(prepared_->bytes_of(owner));
  }
  return place;
}

void GraphModel::add_data(Submitter& submitter) {
  const Graph& graph = prepared_->graph();
  const MemoryPlan& plan = prepared_->plan();
  data_.assign(graph.values(), {});
  scratch_.assign(graph.operations().size(), {});
  for (Group& group : groups_) {
    const std::int64_t bytes = group.of.bytes(graph);
    const std::int64_t layer = layers_[group.of.parameters.front().index];
    group.gradients =
        submitter.add_data({.bytes = bytes, .is_transient = true}, group.of.name + ".gradients");
    if (groups_parameters())
      group.parameters =
          submitter.add_data({.bytes = bytes, .layer = layer}, group.of.name + ".parameters");
  }
  for (std::uint32_t i = 0; i < graph.values(); ++i) {
    if (plan.owners[i] != ValueId{i}) continue;
    const Operation& maker = graph.operations()[graph.producer({i})];
    // Numbers are those of values in the graph's text.
    const std::string name =
        maker.name.empty() ? "%" + std::to_string(i) + " of " + words_of(maker) : maker.name;
    data_[i] = submitter.add_data(place_of({i}), name);
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i) {
    if (!plan.scratch[i]) continue;
    scratch_[i] = submitter.add_data(
        {.bytes = plan.scratch[i]->bytes, .is_transient = true},
        "scratch of operation " + std::to_string(i) + ", " + words_of(graph.operations()[i]));
  }
  for (Kept& kept : kept_) kept.data = submitter.add_data({}, "kept " + kept.name);
  for (HostInput& input : host_inputs_) input.data = submitter.add_data({}, input.load.name);
}

void GraphModel::add_to_placed() {
  OffloadMemory& placed = *options_.placed;
  const auto forgotten = placed.forget();
  HOCKET_CHECK(forgotten, "the memories of placed steps work");
  const Graph& graph = prepared_->graph();
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto add = [&](DataId data, std::span<std::byte> bytes, bool is_kept) {
      placed.add(data, {.bytes = std::ssize(bytes), .host = bytes.data(), .is_kept = is_kept});
    };
    add(groups_[g].gradients, prepared_->group(g), false);
    add(groups_[g].parameters, prepared_->parameter_group(g), true);
  }
  for (std::uint32_t i = 0; i < graph.values(); ++i) {
    if (owner_of({i}) != ValueId{i}) continue;
    const DataPlace place = place_of({i});
    if (place.bytes == 0) continue;
    const bool is_kept = !place.is_transient;
    placed.add(data_[i], {.bytes = place.bytes,
                          .host = is_kept ? prepared_->bytes_of({i}).data() : nullptr,
                          .is_kept = is_kept});
  }
  for (std::size_t i = 0; i < scratch_.size(); ++i)
    if (const auto& scratch = prepared_->plan().scratch[i])
      placed.add(scratch_[i], {.bytes = scratch->bytes});
}

void GraphModel::touch(std::vector<Access>& accesses, ValueId value, AccessMode mode) const {
  const ValueId owner = owner_of(value);
  // Values in a group are in order among themselves, and what communicates all is in order with
  // each.
  if (const auto& grouped = prepared_->plan().grouped[owner.index])
    add_access(accesses, hocket::read(groups_[grouped->group].gradients));
  // Copies between a device and its host are of all parameters of a group.
  const bool changes_group = is_placed() && mode != AccessMode::read;
  if (const auto parameter = parameter_places_[owner.index]) {
    const DataId all = groups_[parameter->group].parameters;
    add_access(accesses, changes_group ? update(all) : hocket::read(all));
  }
  add_access(accesses, {data_of(value), mode});
}

void GraphModel::add_accesses() {
  const Graph& graph = prepared_->graph();
  std::map<std::size_t, std::size_t> task_of;  // by operation
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const PreparedGraph::Task& task = prepared_->tasks()[i];
    const Operation& operation = graph.operations()[task.operation];
    std::vector<Access>& accesses = tasks_[i].accesses;
    accesses.clear();
    task_of[task.operation] = i;
    for (const ValueId operand : operation.operands) touch(accesses, operand, AccessMode::read);
    for (std::size_t r = 0; r < graph.results(operation); ++r)
      touch(accesses, graph.result(operation, r), AccessMode::write);
    for (const HostInput& input : host_inputs_)
      if (tasks_[i].on_host && tasks_[i].task.place.updates_layer == input.layer)
        add_access(accesses, hocket::read(input.data));
    if (prepared_->plan().scratch[task.operation])
      add_access(accesses, hocket::write(scratch_[task.operation]));
    add_slices(tasks_[i], task);
  }
  const auto data_of_block = [&](const ArenaBlock& block) {
    return block.is_scratch ? scratch_[block.index] : data_[block.index];
  };
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<Access>& accesses = tasks_[task_of.at(blocks_[i].place.first)].accesses;
    for (const std::size_t before : before_[i])
      add_access(accesses, hocket::write(data_of_block(blocks_[before])));
  }
  for (Input& input : inputs_) input.accesses = {hocket::write(data_of(input.value))};
  for (Kept& kept : kept_) {
    kept.accesses = {update(kept.data)};
    touch(kept.accesses, kept.value, AccessMode::read);
  }
  move_accesses_.clear();
  for (const PreparedGraph::Move& move : prepared_->moves()) {
    std::vector<Access>& accesses = move_accesses_.emplace_back();
    touch(accesses, move.from, AccessMode::read);
    touch(accesses, move.to, AccessMode::write);
  }
}

std::optional<DimensionSlice> GraphModel::slice_of(const PreparedGraph::Task& task, ValueId value,
                                                   UnitBytes unit) const {
  const auto& grouped = prepared_->plan().grouped[owner_of(value).index];
  const auto parameter = parameter_places_[owner_of(value).index];
  if (!grouped && !parameter) return std::nullopt;
  const Group& group = groups_[grouped ? grouped->group : parameter->group];
  DimensionSlice slice{.data = grouped ? group.gradients : group.parameters,
                       .begin_bytes = grouped ? grouped->offset_bytes : parameter->offset_bytes,
                       .bytes_per_unit = unit.each,
                       .tail_bytes = unit.tail};
  if (const auto part = prepared_->part_of(task.operation)) {
    const BlockRange own =
        block_range(group.of.bytes(prepared_->graph()), options_.grid, options_.rank);
    slice.begin_bytes += part->begin * static_cast<std::int64_t>(sizeof(float)) - own.begin;
    slice.of_block = true;
  }
  return slice;
}

void GraphModel::add_slices(Computed& computed, const PreparedGraph::Task& task) const {
  std::vector<Dimension>& dimensions = computed.task.place.dimensions;
  if (dimensions.empty() || dimensions.front().kind != DimensionKind::outer) return;
  std::vector<DimensionSlice>& slices = dimensions.front().slices;
  slices.clear();
  const std::span<const UnitBytes> units = task.kernel->unit_bytes();
  if (units.empty()) return;
  const Graph& graph = prepared_->graph();
  const Operation& operation = graph.operations()[task.operation];
  std::vector<ValueId> sliced;  // owners
  for (std::size_t r = 0; r < graph.results(operation); ++r) {
    const ValueId result = graph.result(operation, r);
    if (const auto slice = slice_of(task, result, units[r])) slices.push_back(*slice);
    sliced.push_back(owner_of(result));
  }
  for (std::size_t o = 0; o < operation.operands.size(); ++o) {
    const ValueId operand = operation.operands[o];
    if (std::ranges::find(sliced, owner_of(operand)) != sliced.end()) continue;
    const auto slice = slice_of(task, operand, units[0]);
    if (!slice) continue;
    if (is_update(operation) && o == 1) {
      slices.push_back(*slice);
    } else {
      // It is read as a whole, and so is what it is a part of.
      std::erase_if(slices, [&](const DimensionSlice& each) { return each.data == slice->data; });
    }
  }
}

bool GraphModel::is_on_host(ValueId parameter) const {
  if (!submitter_) return true;  // before a step has run
  const auto place = parameter_places_[parameter.index];
  const DataId data = place ? groups_[place->group].parameters : data_[parameter.index];
  return options_.placed->home(data) == PlacementSite::host;
}

std::byte* GraphModel::placed_on_device(ValueId owner) const {
  const Graph& graph = prepared_->graph();
  if (graph.operations()[graph.producer(owner)].kind == OperationKind::input)
    return prepared_->bytes_of(owner).data();
  DataId data = data_[owner.index];
  std::int64_t offset = 0;
  if (const auto& grouped = prepared_->plan().grouped[owner.index]) {
    data = groups_[grouped->group].gradients;
    offset = grouped->offset_bytes;
  } else if (const auto parameter = parameter_places_[owner.index]) {
    data = groups_[parameter->group].parameters;
    offset = parameter->offset_bytes;
  }
  auto* const begin = static_cast<std::byte*>(options_.placed->at(data));
  HOCKET_CHECK(begin, "what a task of the device accesses is there");
  return begin + offset;
}

std::byte* GraphModel::placed_on_host(ValueId owner, std::int64_t layer) const {
  for (const HostInput& input : host_inputs_)
    if (input.value == owner && input.layer == layer) return input.memory.get();
  return prepared_->bytes_of(owner).data();
}

}  // namespace hocket
