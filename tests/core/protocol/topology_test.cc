#include "core/protocol/topology.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/protocol/workload.h"

namespace hocket {
namespace {

TEST(Topology, FingerprintsDifferInEveryFieldAndJsonRoundTrips) {
  Topology base;
  base.cpu_model = "CPU";
  base.library_versions = {{"gloo", "1"}};
  const auto changed = [&](auto change) {
    Topology other = base;
    change(other);
    return fingerprint(other);
  };
  EXPECT_EQ(fingerprint(base), changed([](Topology&) {}));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.cpu_model = "CPU2"; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.world_size = 2; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.link = "tcp"; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.memory_gib = 2; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.library_versions["gloo"] = "2"; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.accelerator = "GPU"; }));
  EXPECT_NE(fingerprint(base), changed([](Topology& t) { t.ranks_per_host = 2; }));
  EXPECT_EQ(topology_from_json(to_json(base)).value(), base);
  base.accelerator = "GPU";
  base.ranks_per_host = 2;
  EXPECT_EQ(topology_from_json(to_json(base)).value(), base);
}

TEST(Topology, NamesTheRanksOfAHostWhereThereAreSeveralHosts) {
  Topology topology;
  topology.cpu_model = "CPU";
  topology.cores = 2;
  topology.memory_gib = 24;
  topology.world_size = 4;
  EXPECT_EQ(readable_name(topology), "4 ranks, local, 2 cores CPU, 24 GiB");
  topology.ranks_per_host = 2;
  EXPECT_EQ(readable_name(topology), "4 ranks, 2 a host, local, 2 cores CPU, 24 GiB");
}

TEST(Topology, WhatIsNotKnownIsNotShownAsZero) {
  Topology topology;
  topology.link = "tcp";
  EXPECT_EQ(readable_name(topology), "1 rank, tcp, unknown hardware");
  topology.memory_gib = 24;
  EXPECT_EQ(readable_name(topology), "1 rank, tcp, 24 GiB");
  topology.accelerator = "GPU";
  EXPECT_EQ(readable_name(topology), "1 rank, tcp, GPU, 24 GiB");
  topology.cores = 2;
  EXPECT_EQ(readable_name(topology), "1 rank, tcp, GPU on 2 cores, 24 GiB");
}

TEST(Topology, RefusesANumberOfRanksPerHostThatIsNone) {
  auto document = to_json(Topology{});
  document["ranks_per_host"] = -1;
  EXPECT_NE(topology_from_json(document).error().message.find("ranks_per_host"), std::string::npos);
}

TEST(Topology, TheFingerprintOfAKnownTopologyNeverChanges) {
  // Stored configurations are found by the fingerprint: a change here invalidates every store.
  EXPECT_EQ(fingerprint(Topology{}), "344bd5a7-4b57-5024-bd4a-d62d42a90734");
  EXPECT_EQ(fingerprint(Workload{"w", {{"t", 4}}}), "3017ca7d-964f-539c-a327-ca7a698b711a");
}

TEST(Workload, OfAPlainCommandHasAProgramAndParameters) {
  const Workload named{.name = "w"};
  Workload plain = named;
  plain.program = "/a/train.py";
  Workload tuned = plain;
  tuned.parameters = {{"X", "int"}};
  Workload other = tuned;
  other.parameters[0].kind = "levels";
  const Workload all[] = {named, plain, tuned, other};
  for (const Workload& one : all) {
    EXPECT_EQ(workload_from_json(to_json(one)), one);
    for (const Workload& another : all)
      EXPECT_EQ(fingerprint(one) == fingerprint(another), one == another);
  }
  // Fields that are empty do not count, so stored workloads without them keep their fingerprint.
  EXPECT_EQ(to_json(named).size(), 2U);
}

TEST(Workload, BytesAreSummedAndNamesMatter) {
  const Workload a{"w", {{"t", 4}, {"u", 8}}};
  EXPECT_EQ(a.bytes(), 12);
  EXPECT_NE(fingerprint(a), fingerprint(Workload{"w", {{"u", 8}, {"t", 4}}}));
  EXPECT_EQ(workload_from_json(to_json(a)).value(), a);
}

TEST(Topology, SaysWhenALinkIsEmulated) {
  Topology topology;
  EXPECT_EQ(emulation_note(topology), "");
  topology.link = "tcp";
  EXPECT_EQ(emulation_note(topology), "");
  topology.link = "emulated 500mbit,50us";
  EXPECT_EQ(emulation_note(topology), "emulated link: 500mbit,50us");
  topology.link = "emulated";
  EXPECT_EQ(emulation_note(topology), "emulated link: ");
}

}  // namespace
}  // namespace hocket
