#include "core/topology.h"

#include "core/fingerprint.h"
#include "core/json.h"

namespace hocket {

std::string fingerprint(const Topology& topology) {
  return fingerprint_of(to_json(topology));
}

std::string readable_name(const Topology& topology) {
  return std::to_string(topology.world_size) + (topology.world_size == 1 ? " rank, " : " ranks, ") +
         (topology.ranks_per_host == 0 ? ""
                                       : std::to_string(topology.ranks_per_host) + " a host, ") +
         topology.link + ", " +
         (topology.accelerator.empty() ? "" : topology.accelerator + " on ") +
         std::to_string(topology.cores) + " cores " + topology.cpu_model + ", " +
         std::to_string(topology.memory_gib) + " GiB";
}

std::string emulation_note(const Topology& topology) {
  constexpr std::string_view kPrefix = "emulated";
  if (!topology.link.starts_with(kPrefix)) return {};
  std::string_view rest = std::string_view(topology.link).substr(kPrefix.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return "emulated link: " + std::string(rest);
}

std::string place_text(const Topology& topology) {
  const auto note = emulation_note(topology);
  return readable_name(topology) + (note.empty() ? "" : " (" + note + ")");
}

nlohmann::json to_json(const Topology& topology) {
  nlohmann::json document{{"cpu_model", topology.cpu_model},
                          {"sockets", topology.sockets},
                          {"numa_nodes", topology.numa_nodes},
                          {"cores", topology.cores},
                          {"hardware_threads", topology.hardware_threads},
                          {"memory_gib", topology.memory_gib},
                          {"link", topology.link},
                          {"world_size", topology.world_size},
                          {"library_versions", topology.library_versions}};
  if (!topology.accelerator.empty()) document["accelerator"] = topology.accelerator;
  if (topology.ranks_per_host != 0) document["ranks_per_host"] = topology.ranks_per_host;
  return document;
}

Result<Topology> topology_from_json(const nlohmann::json& document) {
  Topology topology;
  const auto text = [&](const char* field, std::string& target) -> Result<void> {
    auto value = read_string(document, field);
    if (!value) return failure(value.error());
    target = std::move(*value);
    return {};
  };
  const auto count = [&](const char* field, auto& target, std::int64_t low) -> Result<void> {
    const auto value = read_integer(document, field, low, 1 << 24);
    if (!value) return failure(value.error());
    target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
    return {};
  };
  for (const auto& ok :
       {text("cpu_model", topology.cpu_model), text("link", topology.link),
        count("sockets", topology.sockets, 0), count("numa_nodes", topology.numa_nodes, 0),
        count("cores", topology.cores, 0), count("hardware_threads", topology.hardware_threads, 0),
        count("memory_gib", topology.memory_gib, 0), count("world_size", topology.world_size, 1)}) {
    if (!ok) return failure(ok.error());
  }
  if (document.contains("accelerator")) {
    if (auto ok = text("accelerator", topology.accelerator); !ok) return failure(ok.error());
  }
  if (document.contains("ranks_per_host")) {
    if (auto ok = count("ranks_per_host", topology.ranks_per_host, 0); !ok)
      return failure(ok.error());
  }
  const auto versions = read_object(document, "library_versions");
  if (!versions) return failure(versions.error());
  for (const auto& [library, version] : versions->items()) {
    if (!version.is_string()) {
      return failure(ErrorCode::invalid_argument, "field \"library_versions\": the version of \"" +
                                                      library + "\" must be a string");
    }
    topology.library_versions[library] = version.get<std::string>();
  }
  return topology;
}

}  // namespace hocket
