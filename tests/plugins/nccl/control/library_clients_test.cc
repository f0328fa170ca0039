#include "plugins/nccl/control/library_clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/protocol/topology.h"
#include "tests/scoped_environment.h"

namespace hocket::nccl {
namespace {

TEST(LibraryClients, WithoutTheLibraryNcclIsLeftAloneAndThatIsSaid) {
  const ScopedEnvironment library("HOCKET_CLIENT_LIBRARY", "/nowhere/libhocket_client.so.1");
  std::vector<std::string> said;
  LibraryClients clients({.say = [&](const std::string& line) { said.push_back(line); }});
  EXPECT_EQ(clients.open({.of = class_of(abi::kAllReduce, 1024)}), nullptr);
  EXPECT_EQ(clients.open({.of = class_of(abi::kAllReduce, 2048)}), nullptr);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], ::testing::HasSubstr("/nowhere/libhocket_client.so.1"));
  EXPECT_THAT(said[0], ::testing::HasSubstr("HOCKET_CLIENT_LIBRARY"));
}

TEST(LibraryClients, TheTopologyIsWhatChangesNcclsTimes) {
  const ClassJob job{.of = class_of(abi::kAllReduce, 1024), .ranks = 16, .nodes = 2};
  const auto topology = topology_from_json(nlohmann::json::parse(
      topology_json(job, {.nccl_version = "2.28.9", .accelerator = "NVIDIA \"H100\"\n"},
                    R"({"cores":16,"cpu_model":"AMD","hardware_threads":32,"memory_gib":128,)"
                    R"("numa_nodes":2,"sockets":1})")));
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->world_size, 16);
  EXPECT_EQ(topology->ranks_per_host, 8);
  EXPECT_EQ(topology->accelerator, "NVIDIA \"H100\"");
  EXPECT_EQ(topology->library_versions.at("nccl"), "2.28.9");
  EXPECT_EQ(topology->link, "nccl");
  EXPECT_EQ(topology->cores, 16);
  EXPECT_EQ(topology->cpu_model, "AMD");
  EXPECT_EQ(topology->hardware_threads, 32);
  EXPECT_EQ(topology->memory_gib, 128);
  EXPECT_EQ(topology->numa_nodes, 2);
  EXPECT_EQ(topology->sockets, 1);
}

TEST(LibraryClients, ALibraryThatCannotSayTheHostLeavesItUnknown) {
  const ClassJob job{.of = class_of(abi::kAllReduce, 1024), .ranks = 2, .nodes = 1};
  const auto topology = topology_from_json(nlohmann::json::parse(topology_json(job, {}, "")));
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(readable_name(*topology), "2 ranks, nccl, unknown hardware");
  Topology expected;
  expected.link = "nccl";
  expected.world_size = 2;
  EXPECT_EQ(*topology, expected);
}

TEST(LibraryClients, AClassHasAJobOfItsName) {
  EXPECT_EQ(workload_name(class_of(abi::kAllGather, 3 << 20)), "nccl all_gather 4MiB");
}

}  // namespace
}  // namespace hocket::nccl
