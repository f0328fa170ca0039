#include "core/description/step_description.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/description/step_fields.h"
#include "core/description/step_programs.h"
#include "core/step/knob.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

std::string element(const char* array, std::size_t index) {
  return std::string(array) + "[" + std::to_string(index) + "]";
}

Result<void> wrong(std::string_view path, std::string_view expected, const nlohmann::json& found) {
  return failure(wrong_field(path, expected, found));
}

/// Keeps the first error among the fields that it visits.
class Checker {
 public:
  explicit Checker(std::string path = "") : path_(std::move(path)) {}

  void text(const char*, const std::string&, std::string_view) {}
  template <class T, std::size_t N>
  void choice(const char*, T, const std::array<Word<T>, N>&, T) {}
  template <class T>
  void integer(const char* name, T value, std::int64_t low, std::int64_t high) {
    if (std::cmp_less_equal(low, value) && std::cmp_less_equal(value, high)) return;
    note(wrong_integer(path_of(name), low, high, value));
  }
  template <class T>
  void integer(const char* name, T value, std::int64_t low, std::int64_t high,
               std::type_identity_t<T> absent) {
    if (value != absent) integer(name, value, low, high);
  }
  void flag(const char*, bool, bool) {}
  void time(const char* name, std::int64_t value, std::int64_t high, std::int64_t) {
    integer(name, value, 0, high);
  }
  void number(const char* name, double value, double low, double high) {
    if (low <= value && value <= high) return;
    note(wrong_number(path_of(name), low, high, value));
  }
  void number(const char* name, double value, double low, double high, double) {
    number(name, value, low, high);
  }

  const Result<void>& result() const { return result_; }

 private:
  std::string path_of(const char* name) const { return path_.empty() ? name : path_ + "." + name; }
  void note(Error error) {
    if (result_) result_ = failure(std::move(error));
  }

  std::string path_;
  Result<void> result_;
};

/// Sums over a step.
struct Totals {
  /// Assumes the finest division that a configuration may request.
  double compute_ns = 0;
  std::int64_t bytes = 0;
  /// Bytes on the links: the groups of one kind share a host's.
  double link_bytes = 0;
};

Totals totals_of(const StepDescription& step) {
  // Elements are in range by now, and few enough that nothing overflows.
  Totals totals;
  const Mesh mesh = mesh_of(step);
  const auto most_pieces = static_cast<double>(find_knob("compute_parts")->high);
  for (const StepLayer& layer : step.layers) {
    totals.compute_ns += static_cast<double>(layer.forward_ns + layer.backward_ns);
    totals.bytes += layer.parameter_bytes;
    totals.link_bytes += static_cast<double>(layer.parameter_bytes);
  }
  for (const StepTask& task : step.tasks) {
    totals.compute_ns += static_cast<double>(std::max(task.duration_ns, task.host_duration_ns));
    std::int64_t piece_ns = 0;
    for (const Dimension& dimension : task.place.dimensions)
      piece_ns = std::max(piece_ns, dimension.piece_ns);
    totals.compute_ns += most_pieces * static_cast<double>(piece_ns);
    totals.bytes += task.bytes;
    const std::int64_t groups =
        task.group == CollectiveGroup::world ? 1 : mesh.groups_on_host(task.group);
    totals.link_bytes += static_cast<double>(task.bytes) * static_cast<double>(groups);
  }
  return totals;
}

/// Checks the size of all data, and the time of a copy for each access to them, of which there are
/// at least as many as a placement copies.
Result<void> check_memory(const StepDescription& step) {
  const auto& places = step.data_places;
  const auto whole_of = [&](std::size_t i) {
    return places[i].range_of == kNotARange ? i : std::size_t{places[i].range_of};
  };
  std::int64_t all_bytes = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (whole_of(i) == i) all_bytes += places[i].bytes;
    if (all_bytes > kMaxStepBytes)
      return wrong("data", "at most " + std::to_string(kMaxStepBytes) + " bytes in all", all_bytes);
  }
  if (places.empty()) return {};
  double accesses = 0, bytes = 0;
  for (const StepTask& task : step.tasks) {
    for (const Access& access : task.accesses) {
      ++accesses;
      bytes += static_cast<double>(places[whole_of(access.data.index)].bytes);
    }
  }
  Result<void> ok;
  step::for_each_copy_cost(step, [&](const char* name, const PartCost& cost) {
    const double ns = accesses * (cost.alpha_ns + cost.latency_ns) + bytes * cost.beta_ns_per_byte;
    if (!ok || ns <= static_cast<double>(kMaxStepNs)) return;
    ok = wrong(name, "at most " + std::to_string(kMaxStepNs) + " ns for a copy at each access", ns);
  });
  return ok;
}

Result<void> check_totals(const StepDescription& step) {
  const char* const where = step.layers.empty() ? "tasks" : "layers";
  const Totals totals = totals_of(step);
  if (totals.bytes > kMaxStepBytes) {
    return wrong(where, "at most " + std::to_string(kMaxStepBytes) + " bytes in all", totals.bytes);
  }
  constexpr auto most_ns = static_cast<double>(kMaxStepNs);
  const std::string at_most = "at most " + std::to_string(kMaxStepNs) + " ns in all";
  double slowest = 1;
  for (const double scale : step.rank_compute_scale) slowest = std::max(slowest, scale);
  const double compute_ns = totals.compute_ns * slowest * (1 + step.compute_slowdown);
  if (compute_ns > most_ns) return wrong(where, at_most + " on the slowest rank", compute_ns);

  const double bytes = totals.link_bytes;
  Result<void> ok;
  step::for_each_cost(step, [&](const char* name, const PartCost& cost) {
    const double ns = bytes * cost.beta_ns_per_byte;
    if (ok && ns > most_ns)
      ok = wrong(std::string(name) + ".beta_ns_per_byte", at_most + " for all bytes", ns);
  });
  if (!ok) return ok;
  if (step.servers) {
    // All ranks may share the link of one server.
    const double ns = bytes * static_cast<double>(step.ranks) * 1e9 /
                      std::min(step.servers->rank_link.bytes_per_second,
                               step.servers->server_link.bytes_per_second);
    if (ns > most_ns) return wrong("parameter_servers", at_most + " for all bytes", ns);
  }
  if (!step.cluster) return {};
  const LinkSpec& host = step.cluster->host_link;
  const LinkSpec& network = step.cluster->network_link;
  // An all-reduce sends every byte twice.
  const double sent_ns =
      2 * bytes * 1e9 / std::min(host.bytes_per_second, network.bytes_per_second);
  if (sent_ns > most_ns) return wrong("links", at_most + " for all bytes", sent_ns);
  const double latency_ns = 2 * static_cast<double>(step.ranks) *
                            static_cast<double>(std::max(host.latency_ns, network.latency_ns));
  if (latency_ns > static_cast<double>(kMaxStepTaskNs)) {
    return wrong("links",
                 "latencies of at most " + std::to_string(kMaxStepTaskNs) +
                     " ns on the way round all ranks and back",
                 latency_ns);
  }
  return {};
}

Result<void> check_ranks(const StepDescription& step) {
  const auto& scales = step.rank_compute_scale;
  if (scales.empty()) return {};
  if (scales.size() > static_cast<std::size_t>(kMaxJsonElements) ||
      scales.size() != static_cast<std::size_t>(step.ranks)) {
    return wrong("rank_compute_scale",
                 "one number for each of the " + std::to_string(step.ranks) + " ranks, at most " +
                     std::to_string(kMaxJsonElements),
                 scales.size());
  }
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0 && scales[i] <= step::kMaxRankComputeScale))
      return wrong(element("rank_compute_scale", i), "a number above 0, up to 1000", scales[i]);
  }
  return {};
}

Result<void> check_layers(const StepDescription& step) {
  if (step.layers.size() > static_cast<std::size_t>(kMaxStepLayers)) {
    return wrong("layers", "at most " + std::to_string(kMaxStepLayers) + " elements",
                 step.layers.size());
  }
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    Checker checker(element("layers", i));
    step::visit_layer(checker, step.layers[i]);
    if (!checker.result()) return checker.result();
  }
  return {};
}

bool accesses(const StepTask& task, DataId data) {
  return std::any_of(task.accesses.begin(), task.accesses.end(),
                     [data](const Access& access) { return access.data == data; });
}

Result<void> check_slice(const StepDescription& step, const StepTask& task,
                         const Dimension& dimension, const DimensionSlice& slice,
                         const std::string& path) {
  Checker checker(path);
  step::visit_slice(checker, slice);
  if (!checker.result()) return checker.result();
  if (!accesses(task, slice.data)) {
    const bool exists = slice.data.index < step.data.size();
    return wrong(path + ".data", "the name of data that the task accesses",
                 exists ? step.data[slice.data.index] : std::to_string(slice.data.index));
  }
  const std::int64_t units_bytes = kMaxStepTaskBytes - slice.begin_bytes - slice.tail_bytes;
  if (units_bytes < 0 || slice.bytes_per_unit > units_bytes / dimension.extent) {
    return wrong(path,
                 "begin_bytes, the dimension's extent times bytes_per_unit, and tail_bytes to be "
                 "at most " +
                     std::to_string(kMaxStepTaskBytes) + " bytes together",
                 "more");
  }
  return {};
}

Result<void> check_dimensions(const StepDescription& step, const StepTask& task,
                              const std::string& path) {
  const auto& dimensions = task.place.dimensions;
  if (task.collective && !dimensions.empty())
    return wrong(path + ".dimensions", "none of a collective", dimensions.size());
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::string where = path + "." + element("dimensions", i);
    Checker checker(where);
    step::visit_dimension(checker, dimensions[i]);
    if (!checker.result()) return checker.result();
    const bool is_new =
        std::none_of(dimensions.begin(), dimensions.begin() + static_cast<std::ptrdiff_t>(i),
                     [&](const Dimension& earlier) { return earlier.name == dimensions[i].name; });
    if (dimensions[i].name.empty() || !is_new) {
      return wrong(where + ".name", "a name that no earlier dimension of the task has",
                   dimensions[i].name);
    }
    for (std::size_t j = 0; j < dimensions[i].slices.size(); ++j) {
      auto ok = check_slice(step, task, dimensions[i], dimensions[i].slices[j],
                            where + "." + element("slices", j));
      if (!ok) return ok;
    }
  }
  return {};
}

/// Checks that only compute tasks say what they update and how long that takes on the host.
Result<void> check_update(const StepTask& task, const std::string& path) {
  if (!task.collective) return {};
  constexpr const char* kNothing = "nothing, as it is no compute task";
  const std::int64_t layer = task.place.updates_layer;
  if (layer != kNoLayer) return wrong(path + ".updates_layer", kNothing, layer);
  const std::int64_t ns = task.host_duration_ns;
  if (ns != 0) return wrong(path + ".host_duration_ns", kNothing, ns);
  return {};
}

Result<void> check_places(const StepDescription& step) {
  const auto& places = step.data_places;
  if (!places.empty() && places.size() != step.data.size()) {
    return wrong("data", "places of all " + std::to_string(step.data.size()) + " data, or of none",
                 places.size());
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string path = element("data", i);
    Checker checker(path);
    step::visit_data(checker, places[i]);
    if (!checker.result()) return checker.result();
    const std::uint32_t whole = places[i].range_of;
    if (whole == kNotARange) continue;
    if (whole >= places.size())
      return wrong(path + ".range_of", "data below " + std::to_string(places.size()), whole);
    if (places[whole].range_of != kNotARange)
      return wrong(path + ".range_of", "data that are no range themselves", step.data[whole]);
  }
  return {};
}

/// Checks that messages and shifts, and no other tasks, have a peer in their group, and a known
/// cost.
Result<void> check_peer(const StepDescription& step, const StepTask& task,
                        const std::string& path) {
  const bool is_shift = task.collective == CollectiveKind::shift;
  const bool has_peer = is_shift || (task.collective && is_message(*task.collective));
  const char* const field = task.peer && task.peer->is_relative ? ".peer_distance" : ".peer";
  if (!has_peer) {
    if (!task.peer) return {};
    return wrong(path + field, "nothing, as it is no message and no shift", task.peer->index);
  }
  const std::int64_t size =
      task.group == CollectiveGroup::world ? step.ranks : mesh_of(step).size_of(task.group);
  if (is_shift && step.ranks % step.ranks_per_host != 0) {
    return wrong(path + ".kind",
                 "no shift where ranks_per_host (" + std::to_string(step.ranks_per_host) +
                     ") does not divide ranks (" + std::to_string(step.ranks) + ")",
                 to_string(*task.collective));
  }
  if (is_shift && !(task.peer && task.peer->is_relative))
    return wrong(path, "a \"peer_distance\", since each rank has a peer of its own", "none");
  if (!task.peer) return wrong(path, "a \"peer\" or a \"peer_distance\"", "neither");
  const std::int64_t low = task.peer->is_relative ? 1 - size : 0;
  if (task.peer->index < low || task.peer->index >= size)
    return failure(wrong_integer(path + field, low, size - 1, task.peer->index));
  if (step.cluster || step.message) return {};
  return wrong(path + ".kind",
               "no message or shift where neither \"links\" nor \"message\" says what it costs",
               to_string(*task.collective));
}

/// Checks that only collectives and messages have a group, that all hosts have equally many ranks,
/// and that what the links cost is known for groups of some axes alone.
Result<void> check_group(const StepDescription& step, const StepTask& task,
                         const std::string& path) {
  const CollectiveGroup group = task.group;
  if (group == CollectiveGroup::world) return {};
  const std::string found = group.axes.is_all() ? std::string(to_string(group.tier)) : "axes";
  if (!task.collective) return wrong(path + ".group", "nothing, as it is no collective", found);
  if (step.ranks % step.ranks_per_host != 0) {
    return wrong(path + ".group",
                 "\"world\" where ranks_per_host (" + std::to_string(step.ranks_per_host) +
                     ") does not divide ranks (" + std::to_string(step.ranks) + ")",
                 found);
  }
  if (group.axes.is_all()) return {};
  const unsigned known = (1U << step.mesh.size()) - 1;
  if (group.axes == AxisSet::none() || (group.axes.bits() & ~known) != 0)
    return wrong(path + ".group", "axes of the mesh", found);
  if (step.cluster || task.peer) return {};
  return wrong(path + ".group",
               "\"world\", \"inside\" or \"between\" where \"links\" are not known: the cost of a "
               "part among all ranks does not tell that among some",
               mesh_of(step).name_of(group));
}

Result<void> check_mesh(const StepDescription& step) {
  if (step.mesh.empty()) return {};
  const auto mesh = Mesh::make(step.mesh, {step.ranks, step.ranks_per_host});
  HOCKET_TRY(mesh);
  return {};
}

Result<void> check_tasks(const StepDescription& step) {
  if (step.tasks.size() > static_cast<std::size_t>(kMaxStepTasks)) {
    return wrong("tasks", "at most " + std::to_string(kMaxStepTasks) + " elements",
                 step.tasks.size());
  }
  std::unordered_set<std::string_view> names;
  std::vector<std::size_t> accessed_by(step.data.size(), step.tasks.size());
  for (std::size_t i = 0; i < step.tasks.size(); ++i) {
    const StepTask& task = step.tasks[i];
    const std::string path = element("tasks", i);
    Checker checker(path);
    step::visit_task(checker, task);
    if (!checker.result()) return checker.result();
    if (task.collective ? task.duration_ns != 0 : task.bytes != 0)
      return wrong(path, "a duration or bytes, as its kind says", "both");
    if (!task.name.empty() && !names.insert(task.name).second)
      return wrong(path + ".name", "a name that no earlier task has", task.name);
    for (const Access& access : task.accesses) {
      if (access.data.index >= step.data.size())
        return wrong(path, "data below " + std::to_string(step.data.size()), access.data.index);
      if (accessed_by[access.data.index] == i) {
        return wrong(path, "each of its data once (to read and write is to update)",
                     step.data[access.data.index]);
      }
      accessed_by[access.data.index] = i;
    }
    if (auto ok = check_group(step, task, path); !ok) return ok;
    if (auto ok = check_peer(step, task, path); !ok) return ok;
    if (auto ok = check_dimensions(step, task, path); !ok) return ok;
    if (auto ok = check_update(task, path); !ok) return ok;
  }
  return {};
}

Result<void> check_costs(const StepDescription& step) {
  Result<void> ok;
  const auto check = [&](const char* path, const auto& visit) {
    Checker checker(path);
    visit(checker);
    if (ok) ok = checker.result();
  };
  check("", [&](Checker& checker) { step::visit_step(checker, step); });
  step::for_each_cost(step, [&](const char* name, const PartCost& cost) {
    check(name, [&](Checker& checker) { step::visit_collective(checker, cost); });
  });
  step::for_each_copy_cost(step, [&](const char* name, const PartCost& cost) {
    check(name, [&](Checker& checker) { step::visit_collective(checker, cost); });
  });
  if (step.cluster) {
    check("links.host",
          [&](Checker& checker) { step::visit_link(checker, step.cluster->host_link); });
    check("links.network",
          [&](Checker& checker) { step::visit_link(checker, step.cluster->network_link); });
  }
  if (step.servers) {
    check("parameter_servers",
          [&](Checker& checker) { step::visit_servers(checker, *step.servers); });
    check("parameter_servers.rank_link",
          [&](Checker& checker) { step::visit_link(checker, step.servers->rank_link); });
    check("parameter_servers.server_link",
          [&](Checker& checker) { step::visit_link(checker, step.servers->server_link); });
  }
  check("jitter", [&](Checker& checker) { step::visit_jitter(checker, step.jitter); });
  check("quality", [&](Checker& checker) { step::visit_quality(checker, step.quality); });
  return ok;
}

/// Checks the tasks of each program as those of a step.
Result<void> check_programs(const StepDescription& step) {
  if (step.programs.empty()) return {};
  if (step.programs.size() > kMaxStepPrograms) {
    return wrong("programs", "at most " + std::to_string(kMaxStepPrograms) + " elements",
                 step.programs.size());
  }
  if (step.device_memory_bytes > 0)
    return wrong("device_memory_bytes", "0 where there are programs", step.device_memory_bytes);
  if (step.servers)
    return wrong("parameter_servers", "none where there are programs", step.servers->servers);
  if (!step.data.empty() || !step.data_places.empty())
    return wrong("data", "none where there are programs", step.data.size());
  const std::vector<StepDescription> steps = program_steps(step);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto ok = steps[i].tasks.empty() ? wrong("tasks", "at least one element", "none")
                                           : validate(steps[i]);
    if (!ok) return failure(ok.error().code, element("programs", i) + ": " + ok.error().message);
  }
  const auto programs = programs_of_ranks(step);
  HOCKET_TRY(programs);
  return {};
}

}  // namespace

Result<void> validate(const StepDescription& step) {
  const int forms =
      int{!step.layers.empty()} + int{!step.tasks.empty()} + int{!step.programs.empty()};
  if (forms != 1) {
    return failure(
        ErrorCode::invalid_argument,
        "expected one of the fields \"layers\", \"tasks\" and \"programs\" with at least "
        "one element, found " +
            std::string(forms == 0 ? "none" : "more than one"));
  }
  for (const auto check : {check_costs, check_ranks, check_mesh, check_layers, check_tasks,
                           check_places, check_totals, check_memory, check_programs}) {
    if (auto ok = check(step); !ok) return ok;
  }
  return {};
}

}  // namespace hocket
