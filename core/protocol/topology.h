#pragma once

// The hardware and software that a job runs on, as far as it changes which configuration is best. A
// plain value; core/host measures it. Jobs with the same fingerprint share tuned configurations.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/base/result.h"

namespace hocket {

class JsonReader;

struct Topology {
  std::string cpu_model;
  int sockets = 0;
  int numa_nodes = 0;
  int cores = 0;
  int hardware_threads = 0;
  /// Rounded to whole GiB, so that a kernel's reservation does not change the fingerprint.
  std::int64_t memory_gib = 0;
  /// Connection between the ranks: "local" for one rank, "tcp" for an unshaped socket, or an
  /// emulated link as requested ("emulated 500mbit,50us").
  std::string link = "local";
  /// Accelerator that computes, "NVIDIA H200"; empty: none.
  std::string accelerator;
  int world_size = 1;
  /// 0 if all ranks are on one host, or if several hosts are not known to have equally many.
  int ranks_per_host = 0;
  /// Versions by library, for libraries that affect measurements ("gloo", "openblas").
  std::map<std::string, std::string> library_versions;

  bool operator==(const Topology&) const = default;
};

/// Returns the canonical fingerprint of all fields.
std::string fingerprint(const Topology& topology);

/// Returns one readable line: "2 ranks, tcp, 2 cores AMD EPYC, 24 GiB", or "4 ranks, 2 a host, …".
/// Leaves out what is not known, or says "unknown hardware".
std::string readable_name(const Topology& topology);

/// Returns "emulated link: 500mbit,50us" for an emulated link, else an empty string.
std::string emulation_note(const Topology& topology);

/// Returns readable_name() with the note on an emulated link in brackets behind it.
std::string place_text(const Topology& topology);

nlohmann::json to_json(const Topology& topology);
void read_topology(JsonReader& reader, Topology& topology);
Result<Topology> topology_from_json(const nlohmann::json& document);

}  // namespace hocket
