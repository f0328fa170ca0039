#pragma once

// Fixtures of the store's tests: a temporary folder, a settable clock, sample values. One thread.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "store/open.h"
#include "tests/temporary_folder.h"

namespace hocket {

/// Returns the value; ends the test at once if there is none.
template <class T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    throw std::runtime_error(result.error().message);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

template <class T>
ErrorCode code_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::interrupted : result.error().code;
}

/// Returns the error's message and checks that it is one line without a trailing period.
template <class T>
std::string message_of(const Result<T>& result) {
  if (result) {
    ADD_FAILURE() << "expected an error";
    return {};
  }
  const std::string& message = result.error().message;
  EXPECT_FALSE(message.empty());
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_FALSE(message.ends_with('.')) << message;
  return message;
}

inline Topology sample_topology(int world_size = 2) {
  Topology topology;
  topology.cpu_model = "Test CPU";
  topology.cores = 4;
  topology.memory_gib = 16;
  topology.link = "tcp";
  topology.world_size = world_size;
  topology.library_versions = {{"gloo", "1"}};
  return topology;
}

inline Workload sample_workload(const std::string& name = "gpt2", std::int64_t bytes = 1024) {
  return Workload{name, {{"wte", bytes}, {"h0", 64}}};
}

inline NewStudy sample_study(const std::string& name = "") {
  NewStudy study;
  study.name = name;
  study.command = {"/usr/bin/train", "--steps", "10"};
  study.definition = {
      {"seed", 7},
      {"budget", 20},
      {"space",
       {{"parameters",
         {{{"name", "X"}, {"type", "int"}, {"low", 0}, {"high", 1'000'000}},
          {{"name", "s"}, {"type", "choice"}, {"choices", {"1", std::string("\0", 1)}}}}}}}};
  study.owner = "host:1";
  return study;
}

inline TrialOutcome sample_result(double value) {
  return {.state = TrialState::complete,
          .value = value,
          .spread = value / 100,
          .metrics = {{"wall_ns", {value, value + 1, value - 1}}, {"exposed_ns", {0.5}}}};
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace hocket
