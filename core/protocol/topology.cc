#include "core/protocol/topology.h"

#include <nlohmann/json.hpp>

#include "core/base/fingerprint.h"
#include "core/base/json_reader.h"

namespace hocket {

std::string fingerprint(const Topology& topology) {
  return fingerprint_of(to_json(topology));
}

std::string readable_name(const Topology& topology) {
  std::string cpu = topology.cpu_model;
  if (topology.cores > 0) {
    cpu = std::to_string(topology.cores) + " cores" + (cpu.empty() ? "" : " " + cpu);
  }
  std::string hardware = topology.accelerator;
  const auto add = [&](const char* between, const std::string& text) {
    if (!text.empty()) hardware += (hardware.empty() ? "" : between) + text;
  };
  add(" on ", cpu);
  if (topology.memory_gib > 0) add(", ", std::to_string(topology.memory_gib) + " GiB");
  return std::to_string(topology.world_size) + (topology.world_size == 1 ? " rank, " : " ranks, ") +
         (topology.ranks_per_host == 0 ? ""
                                       : std::to_string(topology.ranks_per_host) + " a host, ") +
         topology.link + ", " + (hardware.empty() ? "unknown hardware" : hardware);
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

void read_topology(JsonReader& reader, Topology& topology) {
  constexpr std::int64_t kMost = 1 << 24;
  reader.text("cpu_model", topology.cpu_model);
  reader.text("link", topology.link);
  reader.integer("sockets", topology.sockets, 0, kMost);
  reader.integer("numa_nodes", topology.numa_nodes, 0, kMost);
  reader.integer("cores", topology.cores, 0, kMost);
  reader.integer("hardware_threads", topology.hardware_threads, 0, kMost);
  reader.integer("memory_gib", topology.memory_gib, 0, kMost);
  reader.integer("world_size", topology.world_size, 1, kMost);
  reader.text("accelerator", topology.accelerator, "");
  reader.integer("ranks_per_host", topology.ranks_per_host, 0, kMost, 0);
  reader.object("library_versions", [&](JsonReader& versions) {
    versions.members([&](const std::string& library, const JsonValue& version) {
      topology.library_versions[library] = version.text();
    });
  });
}

Result<Topology> topology_from_json(const nlohmann::json& document) {
  return read_json(document, read_topology);
}

}  // namespace hocket
