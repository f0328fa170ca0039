#pragma once

// Configurations as sites share them, for tests. One thread.

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "core/sharing/shared_configs.h"
#include "core/step/schedule_config.h"

namespace hocket {

/// Keys for tests of signatures: those of the first two examples of RFC 8032, section 7.1.
inline constexpr const char* kTestPrivateKey =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
inline constexpr const char* kTestPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
inline constexpr const char* kOtherPublicKey =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

inline Topology shared_topology(int world_size = 2) {
  Topology topology;
  topology.cpu_model = "Test CPU";
  topology.cores = 4;
  topology.memory_gib = 16;
  topology.link = "tcp";
  topology.world_size = world_size;
  topology.library_versions = {{"gloo", "1"}};
  return topology;
}

/// A configuration of the scheduler that a study has found.
inline SharedConfig shared_schedule(const std::string& workload = "gpt2", int streams = 2) {
  ScheduleConfig config;
  config.streams = streams;
  return {.site = "cluster-a",
          .topology = shared_topology(),
          .workload = {workload, {{"wte", 1024}, {"h0", 64}}},
          .config = to_json(config),
          .evidence = {.kind = EvidenceKind::study,
                       .at_ns = 1'700'000'000'000'000'000,
                       .measured = SharedGain{80, 100, 0.2},
                       .interval = GainInterval{0.15, 0.25},
                       .trials = 30}};
}

/// The setting of a plain command.
inline SharedConfig shared_command(const std::string& program = "/opt/train.py") {
  return {.site = "cluster-a",
          .topology = shared_topology(),
          .workload = {.name = "train.py",
                       .program = program,
                       .parameters = {{"BUCKET_MB", "int"}, {"MODE", "choice"}}},
          .config = {{"BUCKET_MB", 25}, {"MODE", "ring"}},
          .declared = {{"BUCKET_MB", DeclaredIntegers{1, 100}},
                       {"MODE", DeclaredWords{{"ring", "tree"}}}},
          .evidence = {.kind = EvidenceKind::study, .at_ns = 5}};
}

/// Configurations with different keys.
inline std::vector<SharedConfig> random_shared_configs(std::mt19937_64& random) {
  std::vector<SharedConfig> configs;
  const auto below = [&](std::uint64_t end) { return static_cast<int>(random() % end); };
  for (int i = below(6); i >= 0; --i) {
    SharedConfig config = below(3) == 0 ? shared_command("/opt/" + std::to_string(i))
                                        : shared_schedule("job " + std::to_string(i), 1 + below(8));
    config.topology.world_size = 1 + below(4);
    config.site = below(2) == 0 ? "" : "stätte " + std::to_string(below(3));
    if (below(2) == 0) config.workload.traits = {{"optimizer", "AdamW"}, {"torch", "2.6"}};
    if (below(2) == 0) config.evidence.interval.reset();
    if (below(3) == 0) config.evidence = {.kind = EvidenceKind::live, .at_ns = below(1000)};
    if (config.evidence.measured) config.evidence.measured->gain = below(1000) / 997.0 - 0.3;
    configs.push_back(std::move(config));
  }
  return configs;
}

}  // namespace hocket
