#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/description/step_fields.h"

namespace hocket {
namespace {

using nlohmann::json;

/// Writes the fields of one object, except those that have their default.
class Writer {
 public:
  void text(const char* name, const std::string& value, std::string_view absent) {
    if (value != absent) object_[name] = value;
  }
  template <class T>
  void integer(const char* name, T value, std::int64_t, std::int64_t) {
    object_[name] = value;
  }
  template <class T>
  void integer(const char* name, T value, std::int64_t, std::int64_t,
               std::type_identity_t<T> absent) {
    if (value != absent) object_[name] = value;
  }
  void flag(const char* name, bool value, bool absent) {
    if (value != absent) object_[name] = value;
  }
  void time(const char* name, std::int64_t value, std::int64_t, std::int64_t absent) {
    if (value != absent) object_[name] = value;
  }
  void number(const char* name, double value, double, double) { object_[name] = value; }
  void number(const char* name, double value, double, double, double absent) {
    if (value != absent) object_[name] = value;
  }
  template <class T, std::size_t N>
  void choice(const char* name, T value, const std::array<Word<T>, N>& words, T absent) {
    if (value != absent) object_[name] = std::ranges::find(words, value, &Word<T>::value)->word;
  }
  void value(const char* name, json value) { object_[name] = std::move(value); }

  json take() { return std::move(object_); }

 private:
  json object_ = json::object();
};

json link_to_json(const LinkSpec& link) {
  Writer writer;
  step::visit_link(writer, link);
  return writer.take();
}

json dimension_to_json(const std::vector<std::string>& data, const Dimension& dimension) {
  Writer writer;
  step::visit_dimension(writer, dimension);
  json slices = json::array();
  for (const DimensionSlice& slice : dimension.slices) {
    Writer fields;
    fields.value("data", data[slice.data.index]);
    step::visit_slice(fields, slice);
    slices.push_back(fields.take());
  }
  if (!slices.empty()) writer.value("slices", std::move(slices));
  return writer.take();
}

json task_to_json(const std::vector<std::string>& data, const Mesh& mesh, const StepTask& task) {
  Writer writer;
  writer.value("kind", task.collective ? to_string(*task.collective) : step::kCompute);
  step::visit_task(writer, task);
  if (task.group != CollectiveGroup::world) writer.value("group", mesh.name_of(task.group));
  if (task.peer) writer.value(task.peer->is_relative ? "peer_distance" : "peer", task.peer->index);
  for (const auto& [field, mode] : step::kAccessFields) {
    json names = json::array();
    for (const Access& access : task.accesses) {
      if (access.mode == mode) names.push_back(data[access.data.index]);
    }
    if (!names.empty()) writer.value(field, std::move(names));
  }
  json dimensions = json::array();
  for (const Dimension& dimension : task.place.dimensions)
    dimensions.push_back(dimension_to_json(data, dimension));
  if (!dimensions.empty()) writer.value("dimensions", std::move(dimensions));
  return writer.take();
}

json program_to_json(const RankProgram& program, const Mesh& mesh) {
  Writer writer;
  writer.text("name", program.name, "");
  json at = json::object(), tasks = json::array();
  for (const ProgramPlace& place : program.at) at[place.axis] = place.indices;
  for (const StepTask& task : program.tasks)
    tasks.push_back(task_to_json(program.data, mesh, task));
  if (!at.empty()) writer.value("at", std::move(at));
  writer.value("tasks", std::move(tasks));
  return writer.take();
}

/// Returns the places of the data that tasks access, unless they are the default, and of those
/// that these are ranges of.
json places_to_json(const StepDescription& step) {
  std::vector<bool> is_accessed(step.data.size()), is_whole(step.data.size());
  for (const StepTask& task : step.tasks)
    for (const Access& access : task.accesses) is_accessed[access.data.index] = true;
  for (const DataPlace& place : step.data_places)
    if (place.range_of != kNotARange) is_whole[place.range_of] = true;
  json places = json::array();
  for (std::size_t i = 0; i < step.data_places.size(); ++i) {
    const DataPlace& place = step.data_places[i];
    if (is_accessed[i] ? place == DataPlace{} : !is_whole[i]) continue;
    Writer fields;
    fields.value("name", step.data[i]);
    step::visit_data(fields, place);
    if (place.range_of != kNotARange) fields.value("range_of", step.data[place.range_of]);
    places.push_back(fields.take());
  }
  return places;
}

void write_costs(Writer& writer, const StepDescription& step) {
  step::for_each_cost(step, [&](const char* name, const PartCost& cost) {
    if (&cost == &step.collective && (step.cluster || step.servers) && cost == PartCost{}) return;
    Writer fields;
    step::visit_collective(fields, cost);
    writer.value(name, fields.take());
  });
  step::for_each_copy_cost(step, [&](const char* name, const PartCost& cost) {
    if (cost == PartCost{}) return;
    Writer fields;
    step::visit_collective(fields, cost);
    writer.value(name, fields.take());
  });
  if (step.cluster) {
    writer.value("links", {{"host", link_to_json(step.cluster->host_link)},
                           {"network", link_to_json(step.cluster->network_link)}});
    writer.choice("algorithm", step.cluster->algorithm, step::kAlgorithms,
                  CollectiveAlgorithm::automatic);
  }
  if (step.servers) {
    Writer servers;
    step::visit_servers(servers, *step.servers);
    servers.value("rank_link", link_to_json(step.servers->rank_link));
    servers.value("server_link", link_to_json(step.servers->server_link));
    writer.value("parameter_servers", servers.take());
  }
  if (step.jitter != Jitter{}) {
    Writer jitter;
    step::visit_jitter(jitter, step.jitter);
    writer.value("jitter", jitter.take());
  }
  if (step.quality != StepQuality{}) writer.value("quality", to_json(step.quality));
  if (!step.rank_compute_scale.empty()) writer.value("rank_compute_scale", step.rank_compute_scale);
}

}  // namespace

json to_json(const StepQuality& quality) {
  Writer writer;
  step::visit_quality(writer, quality);
  return writer.take();
}

json to_json(const StepDescription& step) {
  Writer writer;
  writer.value("format", step::kStepFormat);
  writer.value("version", step::kStepVersion);
  step::visit_step(writer, step);
  json axes = json::array();
  for (const MeshAxis& axis : step.mesh) {
    Writer fields;
    step::visit_axis(fields, axis);
    axes.push_back(fields.take());
  }
  if (!axes.empty()) writer.value("mesh", std::move(axes));
  write_costs(writer, step);
  json elements = json::array();
  for (const StepLayer& layer : step.layers) {
    Writer fields;
    step::visit_layer(fields, layer);
    elements.push_back(fields.take());
  }
  const Mesh mesh = mesh_of(step);
  for (const StepTask& task : step.tasks) elements.push_back(task_to_json(step.data, mesh, task));
  for (const RankProgram& program : step.programs)
    elements.push_back(program_to_json(program, mesh));
  const char* const tasks = step.programs.empty() ? "tasks" : "programs";
  writer.value(step.layers.empty() ? tasks : "layers", std::move(elements));
  if (json places = places_to_json(step); !places.empty()) writer.value("data", std::move(places));
  return writer.take();
}

}  // namespace hocket
