#include "archive/studies/job_similarity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kRounding = 1e-9;

Topology some_topology() {
  Topology topology;
  topology.cpu_model = "A";
  topology.sockets = topology.numa_nodes = 1;
  topology.cores = 4;
  topology.hardware_threads = 8;
  topology.memory_gib = 32;
  topology.link = "emulated 500mbit,50us";
  topology.world_size = 2;
  topology.library_versions = {{"gloo", "1"}};
  return topology;
}

Workload some_workload() {
  return {"gpt2", {{"a", 1 << 20}, {"b", 1 << 22}, {"c", 1 << 16}}};
}

Topology random_topology(Random& random) {
  Topology topology;
  topology.cpu_model = numbered("cpu", pick(random, 0, 2));
  topology.sockets = static_cast<int>(pick(random, 0, 4));
  topology.numa_nodes = static_cast<int>(pick(random, 0, 4));
  topology.cores = static_cast<int>(pick(random, 0, 64));
  topology.hardware_threads = static_cast<int>(pick(random, 0, 128));
  topology.memory_gib = pick(random, 0, 512);
  const char* links[] = {"local",
                         "tcp",
                         "emulated 500mbit,50us",
                         "emulated 1gbit",
                         "emulated 10gbit,1ms",
                         "emulated 1kbit,10s",
                         "rdma 10gbit",
                         "emulated nonsense"};
  topology.link = links[pick(random, 0, 7)];
  topology.world_size = static_cast<int>(pick(random, 1, 64));
  for (const char* library : {"gloo", "openblas"}) {
    if (pick(random, 0, 2) > 0)
      topology.library_versions[library] = numbered("", pick(random, 0, 2));
  }
  return topology;
}

/// Returns a workload that lists its tensors.
Workload random_workload(Random& random) {
  Workload workload{numbered("w", pick(random, 0, 2)), {{"first", pick(random, 1, 99)}}};
  for (auto count = pick(random, 0, 12); count > 0; --count)
    workload.tensors.push_back({"t", pick(random, 0, 1) << pick(random, 0, 30)});
  for (auto count = pick(random, 0, 2); count > 0; --count)
    workload.traits[numbered("t", pick(random, 0, 2))] = numbered("v", pick(random, 0, 2));
  return workload;
}

template <class Thing>
void expect_metric(const std::function<Thing(Random&)>& random_thing) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const Thing a = random_thing(random), b = random_thing(random), c = random_thing(random);
    ASSERT_EQ(job_distance(a, a), 0);
    ASSERT_GE(job_distance(a, b), 0);
    ASSERT_EQ(job_distance(a, b), job_distance(b, a));
    ASSERT_LE(job_distance(a, c), job_distance(a, b) + job_distance(b, c) + kRounding);
  }
}

TEST(Similarity, IsAMetricOfTopologies) {
  expect_metric<Topology>(random_topology);
}

TEST(Similarity, IsAMetricOfWorkloadsThatSayWhatTheirTensorsAre) {
  expect_metric<Workload>(random_workload);
}

TEST(Similarity, GrowsWithEveryCount) {
  const std::vector<std::function<void(Topology&)>> doublings = {
      [](Topology& t) { t.world_size *= 2; }, [](Topology& t) { t.cores *= 2; },
      [](Topology& t) { t.sockets *= 2; },    [](Topology& t) { t.numa_nodes *= 2; },
      [](Topology& t) { t.memory_gib *= 2; }, [](Topology& t) { t.hardware_threads *= 2; },
  };
  for (std::size_t i = 0; i < doublings.size(); ++i) {
    SCOPED_TRACE(i);
    Topology changed = some_topology();
    double last = 0;
    for (int times = 0; times < 8; ++times) {
      doublings[i](changed);
      ASSERT_GT(job_distance(some_topology(), changed), last + 0.2);
      last = job_distance(some_topology(), changed);
    }
  }
}

TEST(Similarity, GrowsWithTheLinksRateAndLatencyUntilItIsAnother) {
  const auto from = [](const char* link) {
    Topology changed = some_topology();
    changed.link = link;
    return job_distance(some_topology(), changed);
  };
  EXPECT_DOUBLE_EQ(from("emulated 1gbit,50us"), 1);
  EXPECT_DOUBLE_EQ(from("emulated 250mbit,50us"), 1);
  EXPECT_DOUBLE_EQ(from("emulated 500mbit,100us"), 0.5);
  EXPECT_DOUBLE_EQ(from("emulated 2gbit,50us"), 2);
  EXPECT_DOUBLE_EQ(from("tcp"), 4);
  EXPECT_DOUBLE_EQ(from("rdma 500mbit,50us"), 4);
  EXPECT_DOUBLE_EQ(from("emulated 10000gbit,50us"), 8);
}

TEST(Similarity, GrowsWithBytesTensorsAndProportions) {
  const Workload even{"w", {{"a", 64}, {"b", 64}, {"c", 64}, {"d", 64}}};
  const auto from = [&](std::vector<std::int64_t> sizes) {
    Workload changed{"w", {}};
    for (const auto size : sizes) changed.tensors.push_back({"t", size});
    return job_distance(even, changed);
  };
  EXPECT_DOUBLE_EQ(from({64, 64, 64, 64}), 0);
  EXPECT_DOUBLE_EQ(from({128, 128, 128, 128}), 1);
  EXPECT_DOUBLE_EQ(from({128, 128}), 1);
  EXPECT_DOUBLE_EQ(from({32, 32, 32, 32, 32, 32, 32, 32}), 1);
  EXPECT_GT(from({96, 96, 32, 32}), 0.4);
  EXPECT_GT(from({128, 126, 1, 1}), from({96, 96, 32, 32}));
  // Names alone carry the weight of a name if the tensors are known.
  Workload renamed = even;
  renamed.name = "v";
  EXPECT_DOUBLE_EQ(job_distance(even, renamed), 1);
}

TEST(Similarity, TraitsCountEach) {
  Workload own = some_workload(), other = own;
  own.traits = {{"optimizer", "AdamW"}, {"gradients", "float32"}};
  other.traits = {{"optimizer", "SGD"}, {"gradients", "float32"}};
  EXPECT_DOUBLE_EQ(job_distance(own, other), 0.5);
  other.traits["compiled"] = "yes";
  EXPECT_DOUBLE_EQ(job_distance(own, other), 1);
  EXPECT_THAT(readable(job_differences({{}, other}, {{}, own})),
              ::testing::HasSubstr("optimizer SGD instead of AdamW"));
}

TEST(Similarity, UnknownWorkloadsAreNearOnlyByName) {
  EXPECT_EQ(job_distance(Workload{"sh", {}}, Workload{"sh", {}}), 0);
  EXPECT_GT(job_distance(Workload{"sh", {}}, Workload{"job", {}}), kFarthestDonor);
  EXPECT_GT(job_distance(Workload{"sh", {}}, some_workload()), kFarthestDonor);
  EXPECT_GT(job_distance(Workload{"gpt2", {}}, some_workload()), kFarthestDonor);
}

TEST(Similarity, TheDistanceIsThatOfItsDifferences) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const TunedJob a{random_topology(random), random_workload(random)};
    const TunedJob b{random_topology(random), random_workload(random)};
    double sum = 0;
    for (const auto& difference : job_differences(a, b)) {
      ASSERT_GT(difference.doublings, 0);
      ASSERT_FALSE(difference.what.empty());
      sum += difference.doublings;
    }
    ASSERT_NEAR(sum, job_distance(a.topology, b.topology) + job_distance(a.workload, b.workload),
                kRounding);
    ASSERT_NEAR(sum, job_distance(a, b), kRounding);
  }
}

TEST(Similarity, IsReadTheLargestDifferenceFirst) {
  const TunedJob own{some_topology(), some_workload()};
  EXPECT_EQ(readable(job_differences(own, own)), "the same topology and workload");
  TunedJob other = own;
  other.topology.library_versions["gloo"] = "2";
  other.topology.world_size = 8;
  EXPECT_EQ(readable(job_differences(other, own)), "8 ranks instead of 2, gloo 2 instead of 1");
  other.topology.link = "tcp";
  EXPECT_THAT(readable(job_differences(other, own)),
              ::testing::StartsWith("link tcp instead of emulated 500mbit,50us, "));
}

TEST(Similarity, TheNearestComesFirstAndOfEqualsTheLast) {
  const TunedJob own{some_topology(), some_workload()};
  std::vector<TunedJob> others(4, own);
  others[0].topology.world_size = 4;
  others[1].topology.world_size = 32;
  others[3].topology.world_size = 4;
  EXPECT_THAT(nearest_first(own, others), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(nearest_first(own, {}), ElementsAre());
}

TEST(Similarity, IsFiniteForOddDescriptions) {
  Topology odd;
  odd.cores = std::numeric_limits<int>::max();
  odd.sockets = -3;
  odd.link = "emulated ";
  odd.world_size = 0;
  EXPECT_LT(job_distance(odd, some_topology()), 100);
  EXPECT_EQ(job_distance(odd, odd), 0);
  const Workload empty{"w", {{"a", 0}, {"b", 0}}};
  EXPECT_EQ(job_distance(empty, empty), 0);
  EXPECT_GT(job_distance(empty, some_workload()), kFarthestDonor);
}

}  // namespace
}  // namespace hocket
