// Several ranks on one device, as processes that NCCL takes for separate hosts. Tests correctness,
// not performance. A test starts this program once per rank; the work of a rank is a test of its
// own, which is disabled otherwise.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/clock.h"
#include "core/cuda/collectives/device_groups.h"
#include "core/cuda/collectives/nccl_collective.h"
#include "core/cuda/executor/device_executor.h"
#include "core/cuda/executor/device_memory.h"
#include "core/cuda/executor/device_task.h"
#include "core/host/gloo_collective.h"
#include "core/scheduler/scheduler.h"
#include "tests/core/cuda/on_device.h"
#include "tests/core/host/collective_laws.h"
#include "tests/temporary_folder.h"
#include "tuner/trial/process.h"

namespace hocket {
namespace {

constexpr int kRanks = 4, kRanksPerHost = 2;
constexpr std::int64_t kRankLimitNs = 200'000'000'000;
// The ranks take turns on the device, a few milliseconds each.
constexpr std::int64_t kNcclLimitNs = 60'000'000'000;
/// A sum that must not end is watched for so long.
constexpr std::int64_t kWatchedNs = 5'000'000'000;
constexpr const char* kRankVariable = "HOCKET_TEST_RANK";
constexpr const char* kFolderVariable = "HOCKET_TEST_RENDEZVOUS";

/// Runs the disabled test `name` in one process per rank.
std::vector<ProcessResult> run_ranks(const std::string& name) {
  const TemporaryFolder folder;
  std::vector<ProcessResult> results(kRanks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const ProcessOptions options{
          .argv = {"/proc/self/exe", "--gtest_also_run_disabled_tests",
                   "--gtest_filter=NcclRank.DISABLED_" + name},
          .environment = {{kRankVariable, std::to_string(rank)},
                          {kFolderVariable, "file:" + folder.path().string()},
                          // NCCL refuses two ranks of one host on one device.
                          {"NCCL_HOSTID", "rank" + std::to_string(rank)},
                          {"NCCL_NET", "Socket"},
                          {"NCCL_SOCKET_IFNAME", "lo"},
                          {"NCCL_IB_DISABLE", "1"},
                          {"NCCL_P2P_DISABLE", "1"},
                          {"NCCL_SHM_DISABLE", "1"},
                          {"NCCL_MNNVL_ENABLE", "0"}},
          .working_directory = {},
          .time_limit_ns = kRankLimitNs};
      auto result = run_process(options, SteadyClock(), CancelToken());
      ASSERT_TRUE(result) << result.error().message;
      results[static_cast<std::size_t>(rank)] = std::move(*result);
    });
  }
  threads.clear();
  return results;
}

/// Runs collectives of the host interface on devices, copying the values there and back.
class GroupsOfDevices final : public Collective {
 public:
  GroupsOfDevices(DeviceGroups& groups, DeviceDriver& driver, DeviceStream stream)
      : groups_(groups), driver_(driver), stream_(stream) {}

  int rank() const override { return groups_.rank(); }
  const Mesh& mesh() const override { return groups_.mesh(); }
  Result<void> run(const CollectiveWork& work) override {
    if (work.values.empty() && work.received.empty()) return {};
    const DeviceBuffer buffer(work.values.data(), work.values.size_bytes());
    const DeviceBuffer received(work.received.data(), work.received.size_bytes());
    PartWork part;
    part.collective = work;
    part.collective.values = {buffer.data(), work.values.size(), work.values.type()};
    part.collective.received = {received.data(), work.received.size(), work.received.type()};
    if (auto ok = groups_.exchange(part, 0, stream_); !ok) return ok;
    if (auto ok = driver_.synchronize(stream_); !ok) return ok;
    buffer.get(work.values.data());
    received.get(work.received.data());
    return groups_.health();
  }
  Result<void> tell(std::string_view) override { return failure(silent()); }
  Result<std::string> hear() override { return failure(silent()); }
  std::int64_t timeout_ns() const override { return kNcclLimitNs; }
  void abort() override { groups_.abort(); }

 private:
  static Error silent() { return {ErrorCode::unavailable, "devices exchange values alone"}; }

  DeviceGroups& groups_;
  DeviceDriver& driver_;
  const DeviceStream stream_;
};

/// The environment of a rank. Requires a process started by run_ranks().
class NcclRank : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const char* rank = std::getenv(kRankVariable);
    const char* rendezvous = std::getenv(kFolderVariable);
    if (!rank || !rendezvous) GTEST_SKIP() << "for a process that a test starts";
    auto messages =
        connect_gloo({.ranks = {.rank = std::atoi(rank),
                                .world_size = kRanks,
                                .rendezvous = rendezvous,
                                .local_rank = std::atoi(rank) % kRanksPerHost,
                                .ranks_per_host = kRanksPerHost},
                      .axes = {{"stage", kRanks / kRanksPerHost}, {"data", kRanksPerHost}}});
    ASSERT_TRUE(messages) << messages.error().message;
    messages_ = std::move(*messages);
    auto collective = connect_nccl(*messages_, driver(), {.timeout_ns = kNcclLimitNs});
    ASSERT_TRUE(collective) << collective.error().message;
    collective_ = std::move(*collective);
    stream_ = stream();
  }
  void TearDown() override {
    collective_.reset();
    OnDevice::TearDown();
  }

  using Call = std::function<Result<void>(DeviceCollective&, std::span<float>, DeviceStream)>;

  /// Returns the values of rank `rank` before a collective.
  static std::vector<float> values_of(int rank, std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), static_cast<float>(rank * 100));
    return values;
  }
  /// Returns this rank's values after `call`.
  std::vector<float> after(DeviceCollective& collective, std::size_t count, const Call& call) {
    std::vector<float> values = values_of(collective.rank(), count);
    const DeviceBuffer buffer(values.data(), values.size() * sizeof(float));
    const auto put = call(collective, {static_cast<float*>(buffer.data()), count}, stream_);
    EXPECT_TRUE(put) << put.error().message;
    const auto ran = driver().synchronize(stream_);
    EXPECT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(collective.health());
    buffer.get(values.data());
    return values;
  }
  static float sum_at(int ranks, std::size_t i) {
    float sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += static_cast<float>(rank * 100) + float(i);
    return sum;
  }

  /// Checks each collective on one channel.
  void check_all(DeviceCollective& collective, int channel) {
    const int ranks = collective.world_size(), own = collective.rank();
    const std::size_t piece = 1000, count = piece * static_cast<std::size_t>(ranks);
    const auto sums = after(collective, count, [&](auto& c, auto values, DeviceStream stream) {
      return c.all_reduce(values, channel, stream);
    });
    const auto scattered = after(collective, count, [&](auto& c, auto values, DeviceStream stream) {
      return c.reduce_scatter(values, channel, stream);
    });
    const auto gathered = after(collective, count, [&](auto& c, auto values, DeviceStream stream) {
      return c.all_gather(values, channel, stream);
    });
    const int root = ranks - 1;
    const auto sent = after(collective, count, [&](auto& c, auto values, DeviceStream stream) {
      return c.broadcast(values, root, channel, stream);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const auto owner = static_cast<int>(i / piece);
      ASSERT_EQ(sums[i], sum_at(ranks, i)) << i;
      if (owner == own) {
        ASSERT_EQ(scattered[i], sum_at(ranks, i)) << i;
      }
      ASSERT_EQ(gathered[i], values_of(owner, count)[i]) << i;
      ASSERT_EQ(sent[i], values_of(root, count)[i]) << i;
    }
  }

  /// Kills one rank after all have arrived; the barrier prevents the loss of messages still in
  /// transit.
  void await_all_and_lose_one() {
    std::vector<float> all_are_here(1);
    ASSERT_TRUE(messages().all_reduce(all_are_here, 0));
    if (collective().rank() == 1) std::raise(SIGKILL);
  }
  /// Expects the work that `put` enqueued on the rank's stream not to end; health() may report the
  /// reason.
  void expect_no_end(Result<void> put) {
    const DeviceEvent end = driver().create_event(EventTiming::none).value();
    const SteadyClock clock;
    const std::int64_t begin_ns = clock.now_ns();
    if (put) put = driver().record(end, rank_stream());
    while (put && clock.now_ns() - begin_ns < kWatchedNs) {
      const auto has_run = driver().has_run(end);
      ASSERT_TRUE(has_run) << has_run.error().message;
      ASSERT_FALSE(*has_run) << "a sum over all ranks without one of them";
      put = collective().health();
    }
    if (!put) {
      EXPECT_THAT(put.error().code, testing::AnyOf(ErrorCode::unavailable, ErrorCode::timed_out));
    }
    driver().destroy_event(end);
  }
  void expect_aborted(std::span<float> on_device) {
    EXPECT_TRUE(driver().synchronize(rank_stream())) << "what was under way holds up the stream";
    EXPECT_FALSE(collective().health());
    EXPECT_FALSE(collective().all_reduce(on_device, 0, rank_stream()));
  }

  std::vector<float> values_ = std::vector<float>(1 << 20);

  Collective& messages() { return *messages_; }
  DeviceCollective& collective() { return *collective_; }
  DeviceStream rank_stream() const { return stream_; }

 private:
  std::unique_ptr<Collective> messages_;
  std::unique_ptr<DeviceCollective> collective_;
  DeviceStream stream_;
};

TEST_F(NcclRank, DISABLED_ExchangesOnEveryChannel) {
  for (const int channels : {2, 3, 1}) {
    ASSERT_TRUE(collective().open(channels));
    for (int channel = 0; channel < channels; ++channel) check_all(collective(), channel);
  }
  std::vector<float> odd(kRanks + 1);
  EXPECT_EQ(collective().all_gather(odd, 0, rank_stream()).error().code,
            ErrorCode::invalid_argument);
}

TEST_F(NcclRank, DISABLED_ExchangesInGroups) {
  // One group of the even ranks and one of the odd ranks.
  const auto group = collective().split(collective().rank() % 2);
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ((*group)->world_size(), kRanks / 2);
  EXPECT_EQ((*group)->rank(), collective().rank() / 2);
  ASSERT_TRUE((*group)->open(2));
  check_all(**group, 1);
  // The whole communicator continues to work beside its groups.
  check_all(collective(), 0);
}

TEST_F(NcclRank, DISABLED_ExchangesPartsAsDefined) {
  DeviceGroups groups(collective(), messages().mesh(), all_axis_sets(messages().mesh()));
  const auto opened = groups.open(1);
  ASSERT_TRUE(opened) << opened.error().message;
  GroupsOfDevices devices(groups, driver(), rank_stream());
  expect_laws_of_random_works(devices, 1, 60, 32);
  expect_chains_are_sums(devices, 5);
}

/// Memory of the host that the device copies to.
class PinnedCounts {
 public:
  explicit PinnedCounts(DeviceDriver& driver)
      : driver_(driver),
        memory_(static_cast<std::size_t*>(driver.allocate_host(sizeof(std::size_t) * 4).value())) {
    std::fill_n(memory_, 4, 0);
  }
  ~PinnedCounts() { driver_.free_host(memory_); }
  PinnedCounts(const PinnedCounts&) = delete;
  PinnedCounts& operator=(const PinnedCounts&) = delete;

  std::span<std::size_t> all() const { return {memory_, 4}; }

 private:
  DeviceDriver& driver_;
  std::size_t* const memory_;
};

/// Runs steps of two stages with two ranks each: sums in a stage, a message from the first stage to
/// the second, a broadcast, and an all-to-all in a stage, with counts that a task copies from the
/// device. A step without the all-to-all is launched as a graph.
class TwoStages {
 public:
  TwoStages(DeviceCollective& ranks, DeviceDriver& driver, Collective& messages)
      : driver_(driver),
        mesh_(messages.mesh()),
        groups_(ranks, mesh_, {AxisSet::of(1)}),
        memory_(driver),
        executor_(driver, groups_, memory_, messages, clock_) {}

  void run(bool exchanges) {
    const int rank = executor_.rank(), stage = rank / kRanksPerHost;
    const std::size_t own = static_cast<std::size_t>(rank % kRanksPerHost);
    const CollectiveGroup data = mesh_.parse_group("data").value(),
                          stages = mesh_.parse_group("stage").value();
    std::vector<float> values(5000, static_cast<float>(rank + 1)), sent(10), received(10);
    std::iota(sent.begin(), sent.end(), static_cast<float>(100 * rank));
    // Member m sends 1 + 2 m + n values to member n.
    const std::vector<std::size_t> counts{1 + 2 * own, 2 + 2 * own, 1 + own, 3 + own};
    const DeviceBuffer values_there(values.data(), values.size() * sizeof(float)),
        sent_there(sent.data(), sent.size() * sizeof(float)),
        received_there(received.data(), received.size() * sizeof(float)),
        counts_there(counts.data(), counts.size() * sizeof(std::size_t));
    const PinnedCounts read_counts(driver_);
    const auto span_of = [](const DeviceBuffer& buffer, const std::vector<float>& values) {
      return std::span(static_cast<float*>(buffer.data()), values.size());
    };
    {
      Scheduler scheduler({.partition_bytes = 4096,
                           .comm_channels = 2,
                           .order = CollectiveOrder::fifo,
                           .step_issue = StepIssue::graph},
                          executor_);
      const DataId sums = scheduler.add_data(), from = scheduler.add_data(),
                   to = scheduler.add_data();
      const auto there = span_of(values_there, values);
      scheduler.begin_capture();
      scheduler.all_reduce({.name = "sum"}, sums, there, data);
      if (stage == 0) scheduler.send({.name = "on"}, sums, there.first(100), stages, 1);
      if (stage == 1) scheduler.receive({.name = "from"}, sums, there.first(100), stages, 0);
      if (exchanges) {
        scheduler.compute({.name = "count"}, {update(from)}, [&] {
          const auto ok = driver_.copy(read_counts.all().data(), counts_there.data(),
                                       read_counts.all().size_bytes(), this_device_task().stream);
          EXPECT_TRUE(ok) << ok.error().message;
        });
        scheduler.all_to_all({.name = "experts"}, from, to,
                             {.sent = span_of(sent_there, sent),
                              .sent_counts = read_counts.all().first(2),
                              .received = span_of(received_there, received),
                              .received_counts = read_counts.all().last(2),
                              .most_values = 4},
                             data);
      }
      scheduler.broadcast({.name = "start"}, sums, there.last(10), CollectiveGroup::world, 3);
      const auto step = scheduler.end_capture();
      for (int i = 0; i < 3; ++i) {
        const auto ok = scheduler.launch(step);
        ASSERT_TRUE(ok) << ok.error().message;
      }
      const auto ok = scheduler.synchronize();
      ASSERT_TRUE(ok) << ok.error().message;
    }
    values_there.get(values.data());
    received_there.get(received.data());
    // The second stage has what the first had after its sum; a sum doubles what both ranks have.
    EXPECT_EQ(values.front(), 12);
    EXPECT_EQ(values[1000], stage == 0 ? 12 : 28);
    EXPECT_EQ(values.back(), 28);
    if (!exchanges) return;
    std::size_t next = 0;
    for (std::size_t member = 0; member < 2; ++member) {
      const std::size_t skipped = own == 0 ? 0 : 1 + 2 * member;
      for (std::size_t i = 0; i < 1 + 2 * member + own; ++i) {
        const auto sender = static_cast<std::size_t>(stage * kRanksPerHost) + member;
        ASSERT_EQ(received[next++], static_cast<float>(100 * sender + skipped + i));
      }
    }
  }

 private:
  DeviceDriver& driver_;
  const Mesh mesh_;
  const SteadyClock clock_;
  DeviceGroups groups_;
  DeviceMemory memory_;
  DeviceExecutor executor_;
};

TEST_F(NcclRank, DISABLED_RunsTwoStages) {
  TwoStages stages(collective(), driver(), messages());
  for (const bool exchanges : {false, true}) stages.run(exchanges);
}

// Sums are in flight on two channels, one behind the other.
TEST_F(NcclRank, DISABLED_OutlivesARankThatIsKilled) {
  ASSERT_TRUE(collective().open(2));
  check_all(collective(), 0);
  check_all(collective(), 1);
  await_all_and_lose_one();
  const DeviceBuffer buffer(values_.data(), values_.size() * sizeof(float));
  const std::span<float> on_device(static_cast<float*>(buffer.data()), values_.size());
  // Enqueueing may already fail. If not, health() fails, or the work does not end.
  auto ok = collective().all_reduce(on_device, 0, rank_stream());
  if (ok) ok = collective().all_reduce(on_device, 1, rank_stream());
  expect_no_end(ok);
  collective().abort();
  expect_aborted(on_device);
}

TEST_F(NcclRank, DISABLED_OutlivesARankThatIsKilledWithAGraph) {
  const DeviceBuffer buffer(values_.data(), values_.size() * sizeof(float));
  const std::span<float> on_device(static_cast<float*>(buffer.data()), values_.size());
  ASSERT_TRUE(collective().all_reduce(on_device, 0, rank_stream()));
  ASSERT_TRUE(driver().begin_capture(rank_stream()));
  ASSERT_TRUE(collective().all_reduce(on_device, 0, rank_stream()));
  const auto graph = driver().end_capture(rank_stream());
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_TRUE(driver().launch(*graph, rank_stream()));
  ASSERT_TRUE(driver().synchronize(rank_stream()));
  await_all_and_lose_one();
  expect_no_end(driver().launch(*graph, rank_stream()));
  // Destroys the graph while it runs; otherwise the abort would wait for it.
  driver().destroy_graph(*graph);
  collective().abort();
  expect_aborted(on_device);
}

class NcclRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto found = probe_cuda(); !found) GTEST_SKIP() << found.error().message;
  }
  static void expect_success(const ProcessResult& result) {
    EXPECT_TRUE(result.succeeded()) << describe_end(result) << "\n"
                                    << result.stdout_text << result.stderr_text;
    EXPECT_THAT(result.stdout_text, testing::HasSubstr("[  PASSED  ] 1 test."));
  }
};

TEST_F(NcclRanks, ExchangeOnEveryChannel) {
  for (const ProcessResult& result : run_ranks("ExchangesOnEveryChannel")) expect_success(result);
}

TEST_F(NcclRanks, ExchangeInGroups) {
  for (const ProcessResult& result : run_ranks("ExchangesInGroups")) expect_success(result);
}

TEST_F(NcclRanks, ExchangePartsAsDefined) {
  for (const ProcessResult& result : run_ranks("ExchangesPartsAsDefined")) expect_success(result);
}

TEST_F(NcclRanks, RunTwoStages) {
  for (const ProcessResult& result : run_ranks("RunsTwoStages")) expect_success(result);
}

TEST_F(NcclRanks, OutliveOneThatIsKilled) {
  for (const std::string name :
       {"OutlivesARankThatIsKilled", "OutlivesARankThatIsKilledWithAGraph"}) {
    SCOPED_TRACE(name);
    const auto results = run_ranks(name);
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      if (rank == 1) {
        EXPECT_EQ(results[rank].signal, SIGKILL);
      } else {
        expect_success(results[rank]);
      }
    }
  }
}

}  // namespace
}  // namespace hocket
