#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/description/step_description.h"
#include "core/description/step_fields.h"

namespace hocket {
namespace {

using nlohmann::json;

constexpr const char* kDocument = "step description";
/// Prefix of the data that implement `after`: written by the task of that name, read by its
/// successors.
constexpr const char* kAfter = "after:";

/// Reads the tasks of the general form and replaces names of data by indices.
class TaskReader {
 public:
  TaskReader(StepDescription& step, const Mesh& mesh) : step_(step), mesh_(mesh) {}

  void read(JsonReader& reader) {
    read_tasks(reader);
    read_places(reader);
  }

  /// Reads the tasks alone.
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

 private:
  void note_followed(const json& task) {
    const auto after = task.is_object() ? task.find("after") : task.end();
    if (after == task.end() || !after->is_array()) return;
    for (const json& name : *after) {
      if (name.is_string()) followed_.insert(name.get_ref<const std::string&>());
    }
  }

  void read_task(JsonReader& reader) {
    StepTask task;
    reader.choice("kind", task.collective, step::kTaskKinds, std::nullopt);
    step::visit_task(reader, task);
    const auto read_group = [&](const JsonValue& group) {
      group.take(mesh_.parse_group(group.text()), task.group);
    };
    if (task.collective) reader.value("group", read_group, kOptional);
    const bool has_peer = task.collective == CollectiveKind::shift ||
                          (task.collective && is_message(*task.collective));
    if (has_peer) read_peer(reader, task);
    for (const auto& [field, mode] : step::kAccessFields) {
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

  void read_peer(JsonReader& reader, StepTask& task) {
    const auto read_index = [&](const char* field, bool is_relative) {
      const auto read_one = [&](const JsonValue& value) {
        if (task.peer) value.refuse("nothing beside the field \"peer\"");
        task.peer = {.index = value.integer(-kMaxStepRanks, kMaxStepRanks),
                     .is_relative = is_relative};
      };
      reader.value(field, read_one, kOptional);
    };
    read_index("peer", false);
    read_index("peer_distance", true);
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

void read_places_of_program(JsonReader& reader, RankProgram& program) {
  const auto read_at = [&](const std::string& axis, const JsonValue& value) {
    ProgramPlace& place = program.at.emplace_back(ProgramPlace{axis, {}});
    const auto read_index = [&](const JsonValue& index) {
      place.indices.push_back(index.integer(0, kMaxStepRanks - 1));
    };
    value.json().is_array() ? value.array(read_index, kMaxProgramRanks) : read_index(value);
  };
  reader.object(
      "at", [&](JsonReader& at) { at.members(read_at); }, kOptional);
}

void read_programs(JsonReader& reader, const Mesh& mesh, StepDescription& step) {
  const auto read_one = [&](JsonReader& fields) {
    RankProgram& program = step.programs.emplace_back();
    fields.text("name", program.name, "");
    read_places_of_program(fields, program);
    StepDescription tasks;
    TaskReader(tasks, mesh).read_tasks(fields);
    program.data = std::move(tasks.data);
    program.tasks = std::move(tasks.tasks);
  };
  reader.array(
      "programs", [&](const JsonValue& program) { program.object(read_one); }, kOptional,
      kMaxStepPrograms);
}

void read_step(JsonReader& reader, StepDescription& step) {
  step::visit_step(reader, step);
  const Mesh mesh = read_mesh(reader, step);
  reader.object(
      "collective", [&](JsonReader& cost) { read_cost(cost, step.collective); }, kOptional);
  reader.part("collective_inside", step.collective_inside, read_cost);
  reader.part("collective_between", step.collective_between, read_cost);
  reader.part("message", step.message, read_cost);
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
  read_programs(reader, mesh, step);
}

bool communicates(const StepDescription& step) {
  const auto has_collective = [](const auto& from) {
    return std::ranges::any_of(from.tasks,
                               [](const StepTask& task) { return task.collective && !task.peer; });
  };
  return has_collective(step) || std::ranges::any_of(step.programs, has_collective) ||
         std::ranges::any_of(step.layers,
                             [](const StepLayer& layer) { return layer.parameter_bytes > 0; });
}

}  // namespace

Result<StepDescription> parse_step_description(std::string_view text) {
  const auto document = parse_object(text, kDocument);
  HOCKET_TRY(document);
  return read_json(*document, read_step_description, kDocument);
}

void read_step_description(JsonReader& reader, StepDescription& step) {
  reader.refuse_others();
  reader.format(step::kStepFormat, step::kStepVersion);
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

StepQuality step_quality_from_json(const json& document) {
  const auto read = [](JsonReader& reader, StepQuality& quality) {
    step::visit_quality(reader, quality);
  };
  return read_json<StepQuality>(document, read, "quality").value_or(StepQuality{});
}

}  // namespace hocket
