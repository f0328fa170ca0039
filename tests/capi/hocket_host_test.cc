#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capi/hocket_client.h"
#include "core/host/topology_probe.h"
#include "core/protocol/topology.h"

namespace hocket {
namespace {

TEST(HocketClientAbi, TheHostIsTheHostOfATopology) {
  const auto expected = probe_topology();
  ASSERT_TRUE(expected) << expected.error().message;
  const nlohmann::json host = nlohmann::json::parse(hocket_client_host());
  EXPECT_EQ(host.size(), 6u);
  nlohmann::json topology = to_json(*expected);
  for (const auto& [name, value] : host.items()) EXPECT_EQ(value, topology.at(name)) << name;
  topology.update(host);
  EXPECT_TRUE(topology_from_json(topology));
}

}  // namespace
}  // namespace hocket
