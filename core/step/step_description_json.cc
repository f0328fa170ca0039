#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/step/step_description.h"
#include "core/step/step_fields.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kStepFormat = "hocket-step";
constexpr int kStepVersion = 1;
constexpr const char* kDocument = "step description";
/// Prefix of the data that implement `after`: written by the task of that name, read by its
/// successors.
constexpr const char* kAfter = "after:";
constexpr const char* kCompute = "compute";
constexpr auto kTaskKinds = [] {
  std::array<Word<std::optional<CollectiveKind>>, 1 + kCollectiveKinds.size()> kinds{
      {{kCompute, std::nullopt}}};
  for (std::size_t i = 0; i < kCollectiveKinds.size(); ++i)
    kinds[1 + i] = {to_string(kCollectiveKinds[i]), kCollectiveKinds[i]};
  return kinds;
}();

struct AccessField {
  const char* name;
  AccessMode mode;
};
constexpr std::array<AccessField, 3> kAccessFields{
    {{"reads", AccessMode::read}, {"writes", AccessMode::write}, {"updates", AccessMode::update}}};

/// Reads the tasks of the general form and replaces names of data by indices.
class TaskReader {
 public:
  TaskReader(StepDescription& step, const Mesh& mesh) : step_(step), mesh_(mesh) {}

  void read(JsonReader& reader) {
    read_tasks(reader);
    read_places(reader);
  }

 private:
  void read_tasks(JsonReader& reader) {
    const auto read_all = [&](const JsonValue& tasks) {
      // A task must know whether a later one names it in `after`.
      if (tasks.json().is_array()) {
        for (const json& task : tasks.json()) note_followed(task);
      }
      tasks.array([&](const JsonValue& value) {
        value.object([&](JsonReader& task) { read_task(task); });
      });
    };
    reader.value("tasks", read_all, kOptional);
  }

  void note_followed(const json& task) {
    const auto after = task.is_object() ? task.find("after") : task.end();
    if (after == task.end() || !after->is_array()) return;
    for (const json& name : *after) {
      if (name.is_string()) followed_.insert(name.get_ref<const std::string&>());
    }
  }

  void read_task(JsonReader& reader) {
    StepTask task;
    reader.choice("kind", task.collective, kTaskKinds, std::nullopt);
    step::visit_task(reader, task);
    const auto read_group = [&](const JsonValue& group) {
      group.take(mesh_.parse_group(group.text()), task.group);
    };
    if (task.collective) reader.value("group", read_group, kOptional);
    for (const auto& [field, mode] : kAccessFields) {
      const auto read_name = [&, mode = mode](const JsonValue& name) {
        access(task, name.text(), mode);
      };
      reader.array(field, read_name, kOptional);
      if (mode == AccessMode::read) read_after(reader, task);
      if (mode == AccessMode::write && followed_.contains(task.name))
        access(task, kAfter + task.name, mode);
    }
    if (!task.collective) read_dimensions(reader, task);
    earlier_.insert(task.name);
    step_.tasks.push_back(std::move(task));
  }

  void read_after(JsonReader& reader, StepTask& task) {
    const auto read_name = [&](const JsonValue& value) {
      const std::string name = value.text();
      if (name.empty() || !earlier_.contains(name)) {
        value.refuse(
            "the name of an earlier task (a task cannot wait for itself or for a later one, which "
            "would be a cycle)");
      }
      access(task, kAfter + name, AccessMode::read);
    };
    reader.array("after", read_name, kOptional);
  }

  void read_dimensions(JsonReader& reader, StepTask& task) {
    const auto read_dimension = [&](const JsonValue& value) {
      Dimension& dimension = task.place.dimensions.emplace_back();
      value.object([&](JsonReader& fields) {
        step::visit_dimension(fields, dimension);
        const auto read_one = [&](const JsonValue& slice) {
          slice.object([&](JsonReader& slice_fields) {
            dimension.slices.push_back(read_slice(slice_fields, task));
          });
        };
        fields.array("slices", read_one, kOptional);
      });
    };
    reader.array("dimensions", read_dimension, kOptional);
  }

  DimensionSlice read_slice(JsonReader& reader, const StepTask& task) {
    DimensionSlice slice;
    reader.value("data", [&](const JsonValue& name) {
      const auto known = data_.find(name.text());
      const auto accessed = [&](const Access& access) {
        return access.data.index == known->second;
      };
      if (known == data_.end() || std::ranges::none_of(task.accesses, accessed)) {
        name.refuse("the name of data that the task accesses");
      } else {
        slice.data = {known->second};
      }
    });
    step::visit_slice(reader, slice);
    return slice;
  }

  void access(StepTask& task, const std::string& name, AccessMode mode) {
    task.accesses.push_back({DataId{number_of(name)}, mode});
  }

  /// Returns the index of the data, which it adds if they are new.
  std::uint32_t number_of(const std::string& name) {
    const auto [at, is_new] =
        data_.try_emplace(name, static_cast<std::uint32_t>(step_.data.size()));
    if (is_new) step_.data.push_back(name);
    return at->second;
  }

  /// Reads the places of the data that tasks access, and of those that these are ranges of.
  void read_places(JsonReader& reader) {
    const auto read_all = [&](const JsonValue& list) {
      if (list.json().is_array()) add_wholes(list.json());
      step_.data_places.resize(step_.data.size());
      list.array([&](const JsonValue& item) {
        item.object([&](JsonReader& fields) { read_place(fields); });
      });
    };
    reader.value("data", read_all, kOptional);
    const auto is_default = [](const DataPlace& place) { return place == DataPlace{}; };
    if (std::ranges::all_of(step_.data_places, is_default)) step_.data_places.clear();
  }

  /// Adds the listed data that no task accesses but that others are ranges of.
  void add_wholes(const json& list) {
    const auto text_of = [](const json& item, const char* field) -> const std::string* {
      const auto found = item.is_object() ? item.find(field) : item.end();
      return found == item.end() ? nullptr : found->get_ptr<const std::string*>();
    };
    std::unordered_set<std::string_view> wholes;
    for (const json& item : list) {
      const std::string* const whole = text_of(item, "range_of");
      if (!whole) continue;
      wholes.insert(*whole);
      if (const std::string* const range = text_of(item, "name")) ranges_.insert(*range);
    }
    for (const json& item : list) {
      const std::string* const name = text_of(item, "name");
      if (name && wholes.contains(*name)) number_of(*name);
    }
  }

  void read_place(JsonReader& reader) {
    DataPlace place;
    std::optional<std::uint32_t> number;
    reader.value("name", [&](const JsonValue& name) {
      const auto known = data_.find(name.text());
      if (known == data_.end()) {
        name.refuse("the name of data that a task accesses, or of which such data are a range");
      } else if (!listed_.insert(known->second).second) {
        name.refuse("data that are not listed before");
      } else {
        number = known->second;
      }
    });
    step::visit_data(reader, place);
    const auto read_whole = [&](const JsonValue& name) {
      const auto known = data_.find(name.text());
      if (known == data_.end() || ranges_.contains(known->first)) {
        name.refuse("the name of data that a task accesses or that are listed, and no range");
      } else {
        place.range_of = known->second;
      }
    };
    reader.value("range_of", read_whole, kOptional);
    if (number) step_.data_places[*number] = place;
  }

  StepDescription& step_;
  const Mesh& mesh_;
  /// Names in any task's `after`, and names of the tasks read so far.
  std::unordered_set<std::string> followed_, earlier_;
  std::unordered_map<std::string, std::uint32_t> data_;
  /// Names of data that are ranges of others, and the data listed so far.
  std::unordered_set<std::string> ranges_;
  std::unordered_set<std::uint32_t> listed_;
};

void read_link(const JsonValue& value, std::optional<LinkSpec>& link) {
  if (value.json().is_string()) return value.take(parse_link(value.text()), link);
  value.object([&](JsonReader& fields) { step::visit_link(fields, link.emplace()); });
}

void read_cluster(JsonReader& reader, std::optional<Cluster>& cluster) {
  const auto read_links = [&](JsonReader& links) {
    std::optional<LinkSpec> host, network;
    links.value(
        "host", [&](const JsonValue& value) { read_link(value, host); }, kOptional);
    links.value(
        "network", [&](const JsonValue& value) { read_link(value, network); }, kOptional);
    if (!host && !network) return links.self().refuse("\"host\", \"network\" or both");
    cluster = Cluster{.host_link = host ? *host : *network,
                      .network_link = network ? *network : *host,
                      .algorithm = CollectiveAlgorithm::automatic};
  };
  reader.object("links", read_links, kOptional);
  if (cluster) {
    reader.choice("algorithm", cluster->algorithm, step::kAlgorithms,
                  CollectiveAlgorithm::automatic);
  } else {
    const auto refuse = [](const JsonValue& algorithm) {
      algorithm.refuse("nothing without the field \"links\"");
    };
    reader.value("algorithm", refuse, kOptional);
  }
}

void read_servers(JsonReader& fields, StepServers& servers) {
  step::visit_servers(fields, servers);
  std::optional<LinkSpec> rank_link, server_link;
  fields.value("rank_link", [&](const JsonValue& value) { read_link(value, rank_link); });
  fields.value(
      "server_link", [&](const JsonValue& value) { read_link(value, server_link); }, kOptional);
  if (!rank_link) return;
  servers.rank_link = *rank_link;
  servers.server_link = server_link.value_or(*rank_link);
}

void read_cost(JsonReader& fields, PartCost& cost) {
  step::visit_collective(fields, cost);
}

void read_layer(JsonReader& fields, StepLayer& layer) {
  step::visit_layer(fields, layer);
}

void read_axis(JsonReader& fields, MeshAxis& axis) {
  step::visit_axis(fields, axis);
}

/// Reads the mesh; without axes if these fit no ranks.
Mesh read_mesh(JsonReader& reader, StepDescription& step) {
  Mesh mesh;
  reader.parts("mesh", step.mesh, read_axis, kMostAxes, kOptional);
  if (!step.mesh.empty())
    reader.self().take(Mesh::make(step.mesh, {step.ranks, step.ranks_per_host}), mesh);
  return mesh;
}

void read_step(JsonReader& reader, StepDescription& step) {
  step::visit_step(reader, step);
  const Mesh mesh = read_mesh(reader, step);
  reader.object(
      "collective", [&](JsonReader& cost) { read_cost(cost, step.collective); }, kOptional);
  reader.part("collective_inside", step.collective_inside, read_cost);
  reader.part("collective_between", step.collective_between, read_cost);
  step::for_each_copy_cost(step, [&](const char* name, PartCost& cost) {
    reader.object(
        name, [&](JsonReader& fields) { read_cost(fields, cost); }, kOptional);
  });
  read_cluster(reader, step.cluster);
  reader.part("parameter_servers", step.servers, read_servers);
  reader.object(
      "jitter", [&](JsonReader& jitter) { step::visit_jitter(jitter, step.jitter); }, kOptional);
  reader.object(
      "quality", [&](JsonReader& quality) { step::visit_quality(quality, step.quality); },
      kOptional);
  const auto read_scale = [&](const JsonValue& scale) {
    step.rank_compute_scale.push_back(scale.number(0, step::kMaxRankComputeScale));
  };
  reader.array("rank_compute_scale", read_scale, kOptional);
  reader.parts("layers", step.layers, read_layer, kAnySize, kOptional);
  TaskReader(step, mesh).read(reader);
}

bool communicates(const StepDescription& step) {
  return std::any_of(step.layers.begin(), step.layers.end(),
                     [](const StepLayer& layer) { return layer.parameter_bytes > 0; }) ||
         std::any_of(step.tasks.begin(), step.tasks.end(),
                     [](const StepTask& task) { return task.collective.has_value(); });
}

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

json dimension_to_json(const StepDescription& step, const Dimension& dimension) {
  Writer writer;
  step::visit_dimension(writer, dimension);
  json slices = json::array();
  for (const DimensionSlice& slice : dimension.slices) {
    Writer fields;
    fields.value("data", step.data[slice.data.index]);
    step::visit_slice(fields, slice);
    slices.push_back(fields.take());
  }
  if (!slices.empty()) writer.value("slices", std::move(slices));
  return writer.take();
}

json task_to_json(const StepDescription& step, const Mesh& mesh, const StepTask& task) {
  Writer writer;
  writer.value("kind", task.collective ? to_string(*task.collective) : kCompute);
  step::visit_task(writer, task);
  if (task.group != CollectiveGroup::world) writer.value("group", mesh.name_of(task.group));
  for (const auto& [field, mode] : kAccessFields) {
    json names = json::array();
    for (const Access& access : task.accesses) {
      if (access.mode == mode) names.push_back(step.data[access.data.index]);
    }
    if (!names.empty()) writer.value(field, std::move(names));
  }
  json dimensions = json::array();
  for (const Dimension& dimension : task.place.dimensions)
    dimensions.push_back(dimension_to_json(step, dimension));
  if (!dimensions.empty()) writer.value("dimensions", std::move(dimensions));
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

Result<StepDescription> parse_step_description(std::string_view text) {
  const auto document = parse_object(text, kDocument);
  HOCKET_TRY(document);
  return read_json(*document, read_step_description, kDocument);
}

void read_step_description(JsonReader& reader, StepDescription& step) {
  reader.refuse_others();
  reader.format(kStepFormat, kStepVersion);
  read_step(reader, step);
  const bool has_cost = reader.has("collective") || step.cluster || step.servers;
  if (!reader.finish()) return;
  if (const auto ok = validate(step); !ok) return reader.self().fail(ok.error());
  if (communicates(step) && !has_cost) {
    reader.self().fail({ErrorCode::invalid_argument,
                        "field \"collective\" is missing; what is communicated needs it, "
                        "\"links\" or \"parameter_servers\""});
  }
}

json to_json(const StepQuality& quality) {
  Writer writer;
  step::visit_quality(writer, quality);
  return writer.take();
}

StepQuality step_quality_from_json(const json& document) {
  const auto read = [](JsonReader& reader, StepQuality& quality) {
    step::visit_quality(reader, quality);
  };
  return read_json<StepQuality>(document, read, "quality").value_or(StepQuality{});
}

json to_json(const StepDescription& step) {
  Writer writer;
  writer.value("format", kStepFormat);
  writer.value("version", kStepVersion);
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
  for (const StepTask& task : step.tasks) elements.push_back(task_to_json(step, mesh, task));
  writer.value(step.layers.empty() ? "tasks" : "layers", std::move(elements));
  if (json places = places_to_json(step); !places.empty()) writer.value("data", std::move(places));
  return writer.take();
}

}  // namespace hocket
