#pragma once

// Runs the ranks of a test job as threads that meet in a folder and communicate by Gloo.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/host/gloo_collective.h"

namespace hocket {

/// A folder in which ranks meet.
class MeetingFolder {
 public:
  MeetingFolder() {
    std::string name = testing::TempDir() + "/gloo_test_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~MeetingFolder() { std::filesystem::remove_all(path_); }
  std::string rendezvous() const { return "file:" + path_; }

 private:
  std::string path_;
};

inline GlooOptions gloo_options(
    int rank, int world_size, const std::string& rendezvous,
    std::chrono::milliseconds timeout = std::chrono::milliseconds(20'000), int ranks_per_host = 1) {
  return {.ranks = {rank, world_size, rendezvous, rank % ranks_per_host, ranks_per_host},
          .timeout = timeout};
}

/// Runs each rank on its own thread, which Gloo permits.
inline void run_gloo_ranks(int world_size, const std::string& rendezvous,
                           const std::function<void(Collective&)>& body, int ranks_per_host = 1) {
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      auto collective = connect_gloo(gloo_options(
          rank, world_size, rendezvous, std::chrono::milliseconds(20'000), ranks_per_host));
      ASSERT_TRUE(collective) << collective.error().message;
      body(**collective);
    });
  }
}

/// The same with axes.
inline void run_gloo_mesh(const Mesh& mesh, const std::string& rendezvous,
                          const std::function<void(Collective&)>& body) {
  const auto world_size = static_cast<int>(mesh.grid().ranks);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      GlooOptions given =
          gloo_options(rank, world_size, rendezvous, std::chrono::milliseconds(20'000),
                       static_cast<int>(mesh.grid().ranks_per_host));
      given.axes.assign(mesh.axes().begin(), mesh.axes().end());
      auto collective = connect_gloo(given);
      ASSERT_TRUE(collective) << collective.error().message;
      EXPECT_EQ((*collective)->mesh(), mesh);
      body(**collective);
    });
  }
}

}  // namespace hocket
