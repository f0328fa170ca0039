#include "core/description/step_description.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hocket {

Mesh mesh_of(const StepDescription& step) {
  const bool is_grid = step.ranks % step.ranks_per_host == 0;
  const RankGrid grid{step.ranks, is_grid ? step.ranks_per_host : 1};
  return step.mesh.empty() ? Mesh(grid) : Mesh::make(step.mesh, grid).value();
}

bool has_collective_cost(const StepDescription& step) {
  return !step.servers || step.cluster || step.collective != PartCost{};
}

bool StepTask::operator==(const StepTask& other) const {
  const auto same = [](const Access& a, const Access& b) {
    return a.data == b.data && a.mode == b.mode;
  };
  return name == other.name && collective == other.collective && duration_ns == other.duration_ns &&
         bytes == other.bytes && priority == other.priority && place == other.place &&
         group == other.group && peer == other.peer && host_duration_ns == other.host_duration_ns &&
         lane == other.lane &&
         std::equal(accesses.begin(), accesses.end(), other.accesses.begin(), other.accesses.end(),
                    same);
}

StepDescription expand(const StepDescription& step) {
  if (step.layers.empty()) return step;
  StepDescription general = step;
  general.layers.clear();
  const auto count = static_cast<std::uint32_t>(step.layers.size());
  // Data i belongs to layer i; the last data item chains the compute tasks.
  const DataId activations{count};
  const auto name_of = [&](const char* what, std::uint32_t i) {
    const std::string& name = step.layers[i].name;
    return what + std::to_string(i) + (name.empty() ? "" : " " + name);
  };
  const auto add_task = [&](const char* what, std::uint32_t i) -> StepTask& {
    StepTask& task = general.tasks.emplace_back();
    task.name = name_of(what, i);
    task.priority = i;
    task.place.region = step.layers[i].name;
    return task;
  };
  const auto add_compute = [&](const char* what, std::int64_t duration_ns, std::uint32_t i,
                               Access layer) {
    StepTask& task = add_task(what, i);
    task.duration_ns = duration_ns;
    task.accesses = {layer, update(activations)};
  };
  general.data.reserve(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) general.data.push_back(name_of("parameters ", i));
  general.data.emplace_back("activations");
  general.tasks.reserve(3 * std::size_t{count});
  for (std::uint32_t i = 0; i < count; ++i)
    add_compute("forward ", step.layers[i].forward_ns, i, read(DataId{i}));
  for (std::uint32_t i = count; i-- > 0;) {
    const StepLayer& layer = step.layers[i];
    add_compute("backward ", layer.backward_ns, i, write(DataId{i}));
    if (layer.parameter_bytes == 0) continue;
    StepTask& all_reduce = add_task("all_reduce ", i);
    all_reduce.collective = CollectiveKind::all_reduce;
    all_reduce.bytes = layer.parameter_bytes;
    all_reduce.accesses = {update(DataId{i})};
  }
  return general;
}

}  // namespace hocket
