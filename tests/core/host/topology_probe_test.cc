#include "core/host/topology_probe.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(TopologyProbe, FindsAtLeastOneOfEverythingAndTheSameTwice) {
  const auto topology = probe_topology();
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_GE(topology->cores, 1);
  EXPECT_GE(topology->hardware_threads, topology->cores);
  EXPECT_GE(topology->memory_gib, 1);
  EXPECT_FALSE(topology->cpu_model.empty());
  EXPECT_EQ(topology->library_versions.count("gloo"), 1u);
  EXPECT_EQ(probe_topology().value(), *topology);
}

}  // namespace
}  // namespace hocket
