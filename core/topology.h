#pragma once

// What a job runs on, as far as it changes which configuration is best. A plain value; core/host
// measures it. Two jobs with the same fingerprint share tuned configurations.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/result.h"

namespace hocket {

struct Topology {
  std::string cpu_model;
  int sockets = 0;
  int numa_nodes = 0;
  int cores = 0;
  int hardware_threads = 0;
  /// Rounded to whole GiB, so that a kernel's reservation does not change the fingerprint.
  std::int64_t memory_gib = 0;
  /// How ranks reach each other: "local" for one rank, "tcp" for an unshaped socket, or an emulated
  /// link as it was asked for ("emulated 500mbit,50us").
  std::string link = "local";
  /// What computes beside the CPU: "NVIDIA H200"; empty: nothing.
  std::string accelerator;
  int world_size = 1;
  /// 0 where all ranks are on one host, or are not known to be in equal numbers on several.
  int ranks_per_host = 0;
  /// Library name to version: what the numbers depend on ("gloo", "openblas").
  std::map<std::string, std::string> library_versions;

  bool operator==(const Topology&) const = default;
};

/// Canonical fingerprint of every field.
std::string fingerprint(const Topology& topology);

/// One readable line: "2 ranks, tcp, 2 cores AMD EPYC, 24 GiB"; "4 ranks, 2 a host, tcp, …".
std::string readable_name(const Topology& topology);

/// Returns "emulated link: 500mbit,50us" for an emulated link, else an empty string.
std::string emulation_note(const Topology& topology);

/// Returns readable_name() with the note on an emulated link in brackets behind it.
std::string place_text(const Topology& topology);

nlohmann::json to_json(const Topology& topology);
Result<Topology> topology_from_json(const nlohmann::json& document);

}  // namespace hocket
