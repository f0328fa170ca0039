#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/json.h"
#include "core/step/step_description.h"
#include "core/step/step_fields.h"
#include "core/step/step_reader.h"

namespace hocket {
namespace {

using nlohmann::json;
using step::Reader;

constexpr const char* kStepFormat = "hocket-step";
constexpr int kStepVersion = 1;
constexpr const char* kDocument = "step description";
/// Prefix of the data that implement `after`: written by the task of that name, read by its
/// successors.
constexpr const char* kAfter = "after:";
constexpr const char* kCompute = "compute";

struct AccessField {
  const char* name;
  AccessMode mode;
};
constexpr std::array<AccessField, 3> kAccessFields{
    {{"reads", AccessMode::read}, {"writes", AccessMode::write}, {"updates", AccessMode::update}}};

/// Reads the tasks of the general form and replaces names of data by indices.
class TaskReader {
 public:
  explicit TaskReader(StepDescription& step) : step_(step) {}

  void read(Reader& reader) {
    // A task must know whether a later one names it in `after`.
    if (const json* const tasks = reader.find("tasks"); tasks != nullptr && tasks->is_array()) {
      for (const json& task : *tasks) note_followed(task);
    }
    reader.array("tasks", [&](const json& value, const std::string& path) {
      reader.element(value, path, [&](Reader& task) { read_task(task); });
    });
  }

 private:
  void note_followed(const json& task) {
    const auto after = task.is_object() ? task.find("after") : task.end();
    if (after == task.end() || !after->is_array()) return;
    for (const json& name : *after) {
      if (name.is_string()) followed_.insert(name.get_ref<const std::string&>());
    }
  }

  void read_task(Reader& reader) {
    StepTask task;
    read_kind(reader, task);
    step::visit_task(reader, task);
    for (const auto& [field, mode] : kAccessFields) {
      for_each_text(reader, field, [&, mode = mode](const std::string& name, const std::string&) {
        access(task, name, mode);
      });
      if (mode == AccessMode::read) read_after(reader, task);
      if (mode == AccessMode::write && followed_.contains(task.name))
        access(task, kAfter + task.name, mode);
    }
    if (!task.collective) read_dimensions(reader, task);
    earlier_.insert(task.name);
    step_.tasks.push_back(std::move(task));
  }

  void read_after(Reader& reader, StepTask& task) {
    for_each_text(reader, "after", [&](const std::string& name, const std::string& path) {
      if (name.empty() || !earlier_.contains(name)) {
        reader.fail_at(path,
                       "the name of an earlier task (a task cannot wait for itself or for a later "
                       "one, which would be a cycle)",
                       name);
      }
      access(task, kAfter + name, AccessMode::read);
    });
  }

  void read_kind(Reader& reader, StepTask& task) {
    const json* const kind = reader.find("kind");
    if (kind == nullptr || *kind == kCompute) return;
    std::string expected = std::string("one of ") + kCompute;
    for (const CollectiveKind collective : kCollectiveKinds) {
      if (*kind == to_string(collective)) task.collective = collective;
      expected += ", " + std::string(to_string(collective));
    }
    if (!task.collective) reader.fail("kind", expected, *kind);
  }

  void read_dimensions(Reader& reader, StepTask& task) {
    reader.array("dimensions", [&](const json& value, const std::string& path) {
      Dimension dimension;
      reader.element(value, path, [&](Reader& fields) {
        step::visit_dimension(fields, dimension);
        fields.array("slices", [&](const json& slice, const std::string& slice_path) {
          fields.element(slice, slice_path, [&](Reader& slice_fields) {
            dimension.slices.push_back(read_slice(slice_fields, task));
          });
        });
      });
      task.place.dimensions.push_back(std::move(dimension));
    });
  }

  DimensionSlice read_slice(Reader& reader, const StepTask& task) {
    DimensionSlice slice;
    std::string name;
    reader.text("data", name);
    const auto known = data_.find(name);
    const auto accessed = [&](const Access& access) { return access.data.index == known->second; };
    if (known == data_.end() || !std::any_of(task.accesses.begin(), task.accesses.end(), accessed))
      reader.fail("data", "the name of data that the task accesses", name);
    if (known != data_.end()) slice.data = {known->second};
    step::visit_slice(reader, slice);
    return slice;
  }

  template <class Use>
  static void for_each_text(Reader& reader, const char* field, Use use) {
    reader.array(field, [&](const json& value, const std::string& path) {
      if (value.is_string()) {
        use(value.get_ref<const std::string&>(), path);
      } else {
        reader.fail_at(path, "a string", value);
      }
    });
  }

  void access(StepTask& task, const std::string& name, AccessMode mode) {
    const auto [at, is_new] =
        data_.try_emplace(name, static_cast<std::uint32_t>(step_.data.size()));
    if (is_new) step_.data.push_back(name);
    task.accesses.push_back({DataId{at->second}, mode});
  }

  StepDescription& step_;
  /// Names in any task's `after`, and names of the tasks read so far.
  std::unordered_set<std::string> followed_, earlier_;
  std::unordered_map<std::string, std::uint32_t> data_;
};

void read_link(Reader& reader, const char* name, std::optional<LinkSpec>& link) {
  const json* const found = reader.find(name);
  if (found == nullptr) return;
  if (found->is_string()) {
    auto parsed = parse_link(found->get_ref<const std::string&>());
    if (!parsed) parsed = failure(parsed.error().in("field \"" + reader.path_of(name) + "\""));
    link = reader.take(std::move(parsed));
    return;
  }
  link.emplace();
  reader.element(*found, reader.path_of(name),
                 [&](Reader& fields) { step::visit_link(fields, *link); });
}

void read_cluster(Reader& reader, std::optional<Cluster>& cluster) {
  reader.object("links", [&](Reader& links) {
    std::optional<LinkSpec> host, network;
    read_link(links, "host", host);
    read_link(links, "network", network);
    if (!host && !network) {
      links.fail_at("links", "\"host\", \"network\" or both", json::object());
      return;
    }
    cluster = Cluster{.host_link = host ? *host : *network,
                      .network_link = network ? *network : *host,
                      .algorithm = CollectiveAlgorithm::automatic};
  });
  if (cluster) {
    reader.choice("algorithm", cluster->algorithm, step::kAlgorithms);
  } else if (const json* const algorithm = reader.find("algorithm")) {
    reader.fail("algorithm", "nothing without the field \"links\"", *algorithm);
  }
}

void read_cost(Reader& reader, const char* name, std::optional<PartCost>& cost) {
  reader.object(name, [&](Reader& fields) { step::visit_collective(fields, cost.emplace()); });
}

void read_step(Reader& reader, StepDescription& step) {
  step::visit_step(reader, step);
  reader.object("collective", [&](Reader& cost) { step::visit_collective(cost, step.collective); });
  read_cost(reader, "collective_inside", step.collective_inside);
  read_cost(reader, "collective_between", step.collective_between);
  read_cluster(reader, step.cluster);
  reader.object("jitter", [&](Reader& jitter) { step::visit_jitter(jitter, step.jitter); });
  reader.array("rank_compute_scale", [&](const json& value, const std::string& path) {
    const auto scale = reader.take(number_of(value, path, 0, step::kMaxRankComputeScale));
    step.rank_compute_scale.push_back(scale.value_or(1));
  });
  reader.array("layers", [&](const json& value, const std::string& path) {
    reader.element(value, path,
                   [&](Reader& layer) { step::visit_layer(layer, step.layers.emplace_back()); });
  });
  TaskReader(step).read(reader);
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
  void text(const char* name, const std::string& value) {
    if (!value.empty()) object_[name] = value;
  }
  template <class T>
  void integer(const char* name, T value, std::int64_t, std::int64_t, int absent) {
    if (std::cmp_not_equal(value, absent)) object_[name] = value;
  }
  template <class T>
  void optional(const char* name, T value, std::int64_t, std::int64_t, T absent) {
    if (value != absent) object_[name] = value;
  }
  void flag(const char* name, bool value) {
    if (value) object_[name] = value;
  }
  void time(const char* name, std::int64_t value, std::int64_t) {
    if (value != 0) object_[name] = value;
  }
  void number(const char* name, double value, double, double, double absent = 0) {
    if (value != absent) object_[name] = value;
  }
  template <class T, std::size_t N>
  void choice(const char* name, T value, const std::array<step::Word<T>, N>& words) {
    for (const auto& [word, meant] : words) {
      if (meant == value && value != T{}) object_[name] = word;
    }
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

json task_to_json(const StepDescription& step, const StepTask& task) {
  Writer writer;
  writer.value("kind", task.collective ? to_string(*task.collective) : kCompute);
  step::visit_task(writer, task);
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

void write_costs(Writer& writer, const StepDescription& step) {
  step::for_each_cost(step, [&](const char* name, const PartCost& cost) {
    if (&cost == &step.collective && step.cluster && cost == PartCost{}) return;
    Writer fields;
    step::visit_collective(fields, cost);
    writer.value(name, fields.take());
  });
  if (step.cluster) {
    writer.value("links", {{"host", link_to_json(step.cluster->host_link)},
                           {"network", link_to_json(step.cluster->network_link)}});
    writer.choice("algorithm", step.cluster->algorithm, step::kAlgorithms);
  }
  if (step.jitter != Jitter{}) {
    Writer jitter;
    step::visit_jitter(jitter, step.jitter);
    writer.value("jitter", jitter.take());
  }
  if (!step.rank_compute_scale.empty()) writer.value("rank_compute_scale", step.rank_compute_scale);
}

}  // namespace

Result<StepDescription> parse_step_description(std::string_view text) {
  const auto document = parse_object(text, kDocument);
  if (!document) return failure(document.error());
  if (const auto ok = check_format(*document, kStepFormat, kStepVersion); !ok)
    return failure(ok.error().in(kDocument));

  StepDescription step;
  Reader reader(*document, "");
  reader.find("format");
  reader.find("version");
  read_step(reader, step);
  auto ok = reader.done();
  if (ok) ok = validate(step);
  if (!ok) return failure(ok.error().in(kDocument));
  if (communicates(step) && !document->contains("collective") && !step.cluster) {
    return failure(ErrorCode::invalid_argument,
                   std::string(kDocument) +
                       ": field \"collective\" is missing; what is communicated needs it or "
                       "\"links\"");
  }
  return step;
}

json to_json(const StepDescription& step) {
  Writer writer;
  writer.value("format", kStepFormat);
  writer.value("version", kStepVersion);
  step::visit_step(writer, step);
  write_costs(writer, step);
  json elements = json::array();
  for (const StepLayer& layer : step.layers) {
    Writer fields;
    step::visit_layer(fields, layer);
    elements.push_back(fields.take());
  }
  for (const StepTask& task : step.tasks) elements.push_back(task_to_json(step, task));
  writer.value(step.layers.empty() ? "tasks" : "layers", std::move(elements));
  return writer.take();
}

}  // namespace hocket
