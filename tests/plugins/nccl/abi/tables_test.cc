// The tables of all versions, called as NCCL does. HOCKET_NCCL_…_CHAIN is "none".

#include "plugins/nccl/abi/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/plugins/nccl/abi/fake_communicator.h"

namespace hocket::nccl::abi {
namespace {

constexpr std::uint64_t kNow_ns = 1'790'000'000'000'000'000;
constexpr int kOwn = 2 | 64;

using Table = std::array<std::array<float, kProtocols>, kAlgorithms>;

/// The tuner's and the profiler's table of one version of NCCL.
struct Versions {
  int tuner = 5, profiler = 5;
};

std::string name_of(const ::testing::TestParamInfo<Versions>& info) {
  return "Tuner" + std::to_string(info.param.tuner) + "Profiler" +
         std::to_string(info.param.profiler);
}

class TablesTest : public ::testing::TestWithParam<Versions> {
 protected:
  void SetUp() override {
    setenv("HOCKET_NCCL_TUNER_CHAIN", "none", 1);
    setenv("HOCKET_NCCL_PROFILER_CHAIN", "none", 1);
    forget_communicators();
    table.fill({1.0F, 2.0F, 3.0F});
  }
  void TearDown() override {
    leave_communicators_alone(false);
    EXPECT_EQ(mask, 0) << "a window was left open";
  }

  void* open_tuner(std::size_t ranks = 8, std::uint64_t comm_id = 77) {
    void* context = nullptr;
    NvLinkInfo nv_link = {};
    TunerConstants constants = {};
    int result = -1;
    switch (GetParam().tuner) {
      case 4:
        result = ncclTunerPlugin_v4.init(ranks, 2, nullptr, &context);
        break;
      case 5:
        result =
            ncclTunerPlugin_v5.init(&context, comm_id, ranks, 2, nullptr, &nv_link, &constants);
        break;
      default:
        result =
            ncclTunerPlugin_v6.init(&context, comm_id, ranks, 2, nullptr, &nv_link, &constants);
    }
    EXPECT_EQ(result, kSuccess);
    return context;
  }

  void close_tuner(void* context) {
    const auto finalize = GetParam().tuner == 4   ? ncclTunerPlugin_v4.destroy
                          : GetParam().tuner == 5 ? ncclTunerPlugin_v5.finalize
                                                  : ncclTunerPlugin_v6.finalize;
    EXPECT_EQ(finalize(context), kSuccess);
  }

  void collective_info(void* context, Table* costs, int* its_channels, std::size_t bytes = 4096) {
    const GetCollInfo call = GetParam().tuner == 4   ? ncclTunerPlugin_v4.get_coll_info
                             : GetParam().tuner == 5 ? ncclTunerPlugin_v5.get_coll_info
                                                     : ncclTunerPlugin_v6.get_coll_info;
    EXPECT_EQ(call(context, kAllReduce, bytes, 3, reinterpret_cast<float**>(costs), kAlgorithms,
                   kProtocols, 1, its_channels),
              kSuccess);
  }

  void* open_profiler(int rank = 3, int ranks = 8, std::uint64_t comm_id = 77,
                      const char* name = "world") {
    void* context = nullptr;
    const int result =
        GetParam().profiler == 4
            ? ncclProfiler_v4.init(&context, &mask, name, comm_id, 2, ranks, rank, nullptr)
            : newer().init(&context, comm_id, &mask, name, 2, ranks, rank, nullptr);
    EXPECT_EQ(result, kSuccess);
    return context;
  }

  void close_profiler(void* context) {
    EXPECT_EQ((GetParam().profiler == 4 ? ncclProfiler_v4.finalize : newer().finalize)(context),
              kSuccess);
  }

  /// Starts an event from a descriptor of version 5, whose fields begin like those of version 4.
  /// The profiler's table, if it is not that of version 4.
  static const ProfilerV5& newer() {
    return GetParam().profiler == 5 ? ncclProfiler_v5 : ncclProfiler_v6;
  }

  void* start(void* context, const EventDescriptorV5& descriptor) {
    void* handle = &handle;  // NCCL does not clear it
    int result = -1;
    if (GetParam().profiler == 4) {
      EventDescriptorV4 old = {};
      std::memcpy(&old, &descriptor, sizeof(old));
      old.type = static_cast<std::uint8_t>(descriptor.type);
      result = ncclProfiler_v4.start_event(context, &handle, &old);
    } else {
      EventDescriptorV5 copy = descriptor;
      result = newer().start_event(context, &handle, &copy);
    }
    EXPECT_EQ(result, kSuccess);
    return handle;
  }
  void* start_collective(void* context, std::uint64_t sequence, std::uint8_t its_channels) {
    EventDescriptorV5 descriptor = {};
    descriptor.type = kCollectiveEvent;
    descriptor.collective.sequence_number = sequence;
    descriptor.collective.function = "AllGather";
    descriptor.collective.count = 256;
    descriptor.collective.datatype = "ncclFloat32";
    descriptor.collective.channels = its_channels;
    descriptor.collective.algorithm = "RING";
    descriptor.collective.protocol = "LL128";
    return start(context, descriptor);
  }
  void* start_channel(void* context, void* parent, std::uint8_t channel, std::uint64_t start_ns) {
    EventDescriptorV5 descriptor = {};
    descriptor.type = kKernelChannelEvent;
    descriptor.parent = parent;
    descriptor.kernel_channel = {channel, start_ns};
    return start(context, descriptor);
  }
  void record_state(void* handle, int state, EventStateArguments* arguments) {
    EXPECT_EQ((GetParam().profiler == 4 ? ncclProfiler_v4.record_event_state
                                        : newer().record_event_state)(handle, state, arguments),
              kSuccess);
  }
  void stop(void* handle) {
    EXPECT_EQ((GetParam().profiler == 4 ? ncclProfiler_v4.stop_event : newer().stop_event)(handle),
              kSuccess);
  }
  void stop_channel(void* handle, std::uint64_t stop_ns) {
    EventStateArguments arguments = {stop_ns};
    record_state(handle, kKernelChannelStop, &arguments);
    stop(handle);
  }

  int mask = 0;
  Table table;
  int channels = 0;
};

INSTANTIATE_TEST_SUITE_P(Versions, TablesTest,
                         ::testing::Values(Versions{4, 4}, Versions{5, 5}, Versions{5, 4},
                                           Versions{6, 5}, Versions{6, 6}),
                         name_of);

TEST(Tables, HaveANameAndNoChunkSize) {
  for (const char* name :
       {ncclTunerPlugin_v4.name, ncclTunerPlugin_v5.name, ncclTunerPlugin_v6.name,
        ncclProfiler_v4.name, ncclProfiler_v5.name, ncclProfiler_v6.name}) {
    EXPECT_STREQ(name, "hocket");
  }
  EXPECT_EQ(ncclTunerPlugin_v6.get_chunk_size, nullptr);
}

TEST_P(TablesTest, OneCommunicatorServesProfilerAndTuner) {
  void* profiler = open_profiler();
  ASSERT_EQ(opened_communicators().size(), 1U);
  const int tuners = hocket_nccl_tuners();
  void* tuner = open_tuner();
  ASSERT_EQ(opened_communicators().size(), 1U) << "the tuner joins the profiler";
  EXPECT_EQ(hocket_nccl_tuners(), tuners + 1);
  const auto communicator = opened_communicators().front();
  EXPECT_EQ(communicator->identity.comm_id, 77U);
  EXPECT_EQ(communicator->identity.rank, 3);
  EXPECT_EQ(communicator->identity.ranks, 8);
  EXPECT_EQ(communicator->identity.nodes, 2);
  EXPECT_STREQ(communicator->identity.name, "world");
  communicator->on_decide = [](CostTable costs, int* its_channels) {
    EXPECT_EQ(costs.algorithms, kAlgorithms);
    EXPECT_EQ(costs.protocols, kProtocols);
    costs.at(kNvlsTree, kSimple) = 0;
    *its_channels = 12;
  };
  collective_info(tuner, &table, &channels);
  ASSERT_EQ(communicator->calls.size(), 1U);
  EXPECT_EQ(communicator->calls[0].function, kAllReduce);
  EXPECT_EQ(communicator->calls[0].bytes, 4096U);
  EXPECT_EQ(communicator->calls[0].operations, 3);
  EXPECT_TRUE(communicator->calls[0].is_registered);
  EXPECT_EQ(table[kNvlsTree][kSimple], 0.0F);
  EXPECT_EQ(table[kNvlsTree][kLl128], 2.0F);
  EXPECT_EQ(channels, 12);
  close_tuner(tuner);
  EXPECT_EQ(communicator->times_closed, 0);
  close_profiler(profiler);
  EXPECT_EQ(communicator->times_closed, 1);
}

TEST_P(TablesTest, IsClosedOnceInEitherOrder) {
  for (const bool tuner_first : {true, false}) {
    forget_communicators();
    void* profiler = open_profiler();
    void* tuner = open_tuner();
    const auto communicator = opened_communicators().front();
    if (tuner_first) {
      close_tuner(tuner);
      close_tuner(tuner);
      collective_info(tuner, &table, &channels);
    } else {
      close_profiler(profiler);
      close_profiler(profiler);
      collective_info(tuner, &table, &channels);
    }
    EXPECT_EQ(communicator->calls.size(), tuner_first ? 0U : 1U);
    EXPECT_EQ(communicator->times_closed, 0);
    if (tuner_first) {
      close_profiler(profiler);
    } else {
      close_tuner(tuner);
    }
    EXPECT_EQ(communicator->times_closed, 1);
    close_tuner(tuner);
    close_profiler(profiler);
    EXPECT_EQ(communicator->times_closed, 1);
  }
}

TEST_P(TablesTest, AStaleContextDoesNotReachTheNextCommunicator) {
  void* old_profiler = open_profiler();
  void* old_tuner = open_tuner();
  close_profiler(old_profiler);
  close_tuner(old_tuner);
  forget_communicators();
  void* profiler = open_profiler();
  void* tuner = open_tuner();
  ASSERT_EQ(opened_communicators().size(), 1U);
  const auto communicator = opened_communicators().front();
  time_collectives(communicator->meter);
  collective_info(old_tuner, &table, &channels);
  EXPECT_EQ(start_collective(old_profiler, 1, 1), nullptr);
  close_tuner(old_tuner);
  close_profiler(old_profiler);
  EXPECT_TRUE(communicator->calls.empty());
  EXPECT_EQ(communicator->times_closed, 0);
  EXPECT_NE(start_collective(profiler, 1, 1), nullptr);
  close_profiler(profiler);
  close_tuner(tuner);
}

TEST_P(TablesTest, TheTunerAloneOnlyPassesThrough) {
  void* tuner = open_tuner();
  ASSERT_EQ(opened_communicators().size(), 1U);
  const auto communicator = opened_communicators().front();
  EXPECT_EQ(communicator->identity.rank, -1);
  EXPECT_EQ(communicator->identity.ranks, 8);
  EXPECT_EQ(communicator->identity.nodes, 2);
  EXPECT_EQ(communicator->identity.comm_id, GetParam().tuner == 4 ? 0U : 77U);
  const Table before = table;
  collective_info(tuner, &table, &channels);
  EXPECT_EQ(table, before);
  EXPECT_EQ(channels, 0);
  EXPECT_TRUE(communicator->calls.empty());
  EXPECT_FALSE(communicator->meter->has_profiler());
  time_collectives(communicator->meter);
  EXPECT_EQ(mask, 0);
  close_tuner(tuner);
  EXPECT_EQ(communicator->times_closed, 1);
}

TEST_P(TablesTest, TheProfilerAloneMeasures) {
  void* profiler = open_profiler();
  const auto communicator = opened_communicators().front();
  EXPECT_TRUE(communicator->meter->has_profiler());
  time_collectives(communicator->meter);
  EXPECT_EQ(mask, kOwn);
  void* collective = start_collective(profiler, 9, 1);
  stop(collective);
  stop_channel(start_channel(profiler, collective, 0, kNow_ns), kNow_ns + 5);
  measure::MeasuredCollective out;
  EXPECT_TRUE(communicator->meter->pop(out));
  close_profiler(profiler);
  EXPECT_EQ(communicator->times_closed, 1);
}

TEST_P(TablesTest, JoinsEachTunerToTheProfilerOfItsThread) {
  constexpr int kThreads = 3, kEach = 20;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::vector<std::pair<void*, void*>> contexts;
      for (int i = 0; i < kEach; ++i) {
        const int rank = t * kEach + i;
        void* profiler = open_profiler(rank, 100, 1000 + static_cast<std::uint64_t>(rank));
        contexts.emplace_back(profiler, open_tuner(100, 1000 + static_cast<std::uint64_t>(rank)));
      }
      for (int i = 0; i < kEach; ++i) {
        Table costs = {};
        int its_channels = 0;
        collective_info(contexts[static_cast<std::size_t>(i)].second, &costs, &its_channels,
                        static_cast<std::size_t>(t * kEach + i));
      }
      for (const auto& [profiler, tuner] : contexts) {
        close_profiler(profiler);
        close_tuner(tuner);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto all = opened_communicators();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(kThreads * kEach));
  for (const auto& communicator : all) {
    ASSERT_EQ(communicator->calls.size(), 1U);
    EXPECT_EQ(communicator->calls[0].bytes, static_cast<unsigned>(communicator->identity.rank));
    EXPECT_EQ(communicator->times_closed, 1);
  }
}

TEST_P(TablesTest, DoesNotJoinWhatDoesNotBelongTogether) {
  const auto is_joined = [&](std::size_t tuner_ranks, std::uint64_t tuner_id) {
    forget_communicators();
    void* profiler = open_profiler();
    void* tuner = open_tuner(tuner_ranks, tuner_id);
    const bool its = opened_communicators().size() == 1;
    close_tuner(tuner);
    close_profiler(profiler);
    for (const auto& communicator : opened_communicators()) {
      EXPECT_EQ(communicator->times_closed, 1);
    }
    return its;
  };
  EXPECT_TRUE(is_joined(8, 77));
  EXPECT_FALSE(is_joined(9, 77));
  EXPECT_EQ(is_joined(8, 78), GetParam().tuner == 4) << "version 4 has no id to compare";
}

TEST_P(TablesTest, AProfilerIsJoinedOnlyOnceAndOnlyWhileItIsOpen) {
  void* profiler = open_profiler();
  close_profiler(profiler);
  void* tuner = open_tuner();
  ASSERT_EQ(opened_communicators().size(), 2U);
  EXPECT_EQ(opened_communicators()[1]->identity.rank, -1);
  close_tuner(tuner);
  forget_communicators();
  profiler = open_profiler();
  void* first = open_tuner();
  void* second = open_tuner();
  ASSERT_EQ(opened_communicators().size(), 2U);
  EXPECT_EQ(opened_communicators()[1]->identity.rank, -1);
  close_tuner(second);
  close_tuner(first);
  close_profiler(profiler);
  // In another thread it is not the next.
  forget_communicators();
  profiler = open_profiler();
  std::thread([this] { close_tuner(open_tuner()); }).join();
  EXPECT_EQ(opened_communicators().size(), 2U);
  close_profiler(profiler);
}

TEST_P(TablesTest, MeasuresWhatRanBetweenStartAndLastStop) {
  void* profiler = open_profiler();
  void* tuner = open_tuner();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  EXPECT_EQ(start_collective(profiler, 1, 2), nullptr) << "outside of a window";
  time_collectives(meter);
  void* collective = start_collective(profiler, 2, 2);
  ASSERT_NE(collective, nullptr);
  stop(collective);
  // NCCL's proxy thread goes on alone, and the window may close meanwhile.
  meter->ask_for(Events::counted);
  measure::MeasuredCollective out;
  std::thread([&] {
    void* first = start_channel(profiler, collective, 0, kNow_ns + 100);
    void* second = start_channel(profiler, collective, 5, kNow_ns);
    record_state(first, 21, nullptr);
    EventStateArguments other = {kNow_ns + 9000};
    record_state(first, 21, &other);
    record_state(first, kKernelChannelStop, nullptr);
    stop_channel(first, kNow_ns + 5000);
    EXPECT_FALSE(meter->pop(out));
    stop_channel(second, kNow_ns + 4000);
  }).join();
  ASSERT_TRUE(meter->pop(out));
  EXPECT_EQ(out.sequence, kFirstNumber);
  EXPECT_EQ(out.function, kAllGather);
  EXPECT_EQ(out.bytes, 256U * 4 * 8) << "as the tuner is told";
  EXPECT_EQ(out.algorithm, kRing);
  EXPECT_EQ(out.protocol, kLl128);
  EXPECT_EQ(out.channels, 2);
  EXPECT_EQ(out.timed_channels, 2);
  EXPECT_EQ(out.time_ns, 5000);
  EXPECT_FALSE(meter->pop(out));
  close_tuner(tuner);
  close_profiler(profiler);
}

TEST_P(TablesTest, SlotsAreUsedAgain) {
  void* profiler = open_profiler();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  time_collectives(meter);
  for (std::uint64_t i = 0; i < 3 * measure::kSlots; ++i) {
    void* collective = start_collective(profiler, i, 1);
    void* channel = start_channel(profiler, collective, 0, kNow_ns);
    stop(collective);
    stop_channel(channel, kNow_ns + i);
    measure::MeasuredCollective out;
    ASSERT_TRUE(meter->pop(out)) << i;
    EXPECT_EQ(out.time_ns, static_cast<std::int64_t>(i));
  }
  EXPECT_EQ(meter->losses().without_slot, 0U);
  close_profiler(profiler);
}

TEST_P(TablesTest, LaunchesAreCountedWhenTheyAreAskedFor) {
  void* profiler = open_profiler();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  meter->called();
  EXPECT_EQ(mask, 0);
  EXPECT_EQ(start_collective(profiler, 1, 1), nullptr);
  EXPECT_EQ(meter->launches(), 0u);
  meter->ask_for(Events::counted);
  EXPECT_EQ(mask, kCollectiveEvent);
  EXPECT_EQ(start_collective(profiler, 2, 1), nullptr);
  EXPECT_EQ(meter->launches(), 3u);
  close_profiler(profiler);
}

TEST_P(TablesTest, OnlyTheWindowsOwnerIsMeasured) {
  void* a = open_profiler(0);
  void* b = open_profiler(1);
  const auto all = opened_communicators();
  time_collectives(all[0]->meter);
  all[1]->meter->ask_for(Events::counted);
  EXPECT_NE(start_collective(a, 1, 1), nullptr);
  EXPECT_EQ(start_collective(b, 1, 1), nullptr);
  close_profiler(a);
  EXPECT_EQ(mask, 2) << "b's collectives are counted";
  close_profiler(b);
}

TEST_P(TablesTest, EventsThatNobodyAskedForGetNoHandle) {
  void* profiler = open_profiler();
  time_collectives(opened_communicators().front()->meter);
  void* collective = start_collective(profiler, 1, 1);
  for (const std::uint64_t type :
       {1, 4, 8, 16, 32, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 0}) {
    if (GetParam().profiler == 4 && type > 255) continue;
    for (void* parent : {static_cast<void*>(nullptr), collective}) {
      EventDescriptorV5 descriptor = {};
      descriptor.type = type;
      descriptor.parent = parent;
      EXPECT_EQ(start(profiler, descriptor), nullptr) << type;
    }
  }
  close_profiler(profiler);
}

TEST_P(TablesTest, LateEventsDoNothing) {
  void* profiler = open_profiler();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  time_collectives(meter);
  void* collective = start_collective(profiler, 1, 2);
  void* channel = start_channel(profiler, collective, 0, kNow_ns);
  close_profiler(profiler);
  // The same meter serves the next communicator.
  void* next = open_profiler();
  ASSERT_EQ(opened_communicators()[1]->meter, meter);
  time_collectives(meter);
  void* fresh = start_collective(next, 7, 2);
  stop_channel(channel, kNow_ns + 1);
  void* late = start_channel(profiler, collective, 1, kNow_ns);
  EXPECT_NE(late, nullptr);
  stop_channel(late, kNow_ns + 1);
  stop(collective);
  measure::MeasuredCollective out;
  EXPECT_FALSE(meter->pop(out));
  stop_channel(start_channel(next, fresh, 0, kNow_ns), kNow_ns + 8);
  stop_channel(start_channel(next, fresh, 1, kNow_ns), kNow_ns + 9);
  ASSERT_TRUE(meter->pop(out));
  EXPECT_EQ(out.sequence, kFirstNumber);
  EXPECT_EQ(out.time_ns, 9);
  close_profiler(next);
  stop_channel(late, kNow_ns + 1);
}

TEST_P(TablesTest, ToleratesNulls) {
  void* profiler = open_profiler(3, 8, 77, nullptr);
  void* tuner = open_tuner();
  const auto communicator = opened_communicators().front();
  EXPECT_STREQ(communicator->identity.name, "");
  time_collectives(communicator->meter);
  communicator->on_decide = [](CostTable, int* its_channels) { *its_channels = 4; };
  collective_info(nullptr, &table, &channels);
  EXPECT_EQ(channels, 0);
  collective_info(tuner, nullptr, &channels);
  EXPECT_EQ(channels, 0);
  EXPECT_TRUE(communicator->calls.empty());
  collective_info(tuner, &table, nullptr);
  EXPECT_EQ(communicator->calls.size(), 1U);
  collective_info(&table, &table, &channels);
  EXPECT_EQ(communicator->calls.size(), 1U);
  // Handles and contexts that were never given out.
  EXPECT_EQ(start_collective(nullptr, 1, 1), nullptr);
  EXPECT_EQ(start_channel(profiler, nullptr, 0, kNow_ns), nullptr);
  EXPECT_EQ(start_channel(nullptr, nullptr, 0, kNow_ns), nullptr);
  for (void* handle :
       {static_cast<void*>(nullptr), static_cast<void*>(&table),
        reinterpret_cast<void*>(~std::uint64_t{0}), reinterpret_cast<void*>(0xB0C7'0000'0000'0000),
        reinterpret_cast<void*>(0xB0C7'FFFF'FFFF'FFFF)}) {
    record_state(handle, 23, nullptr);
    record_state(handle, kKernelChannelStop, nullptr);
    stop(handle);
  }
  void* handle = start_collective(profiler, 1, 1);
  record_state(handle, kKernelChannelStop, nullptr);
  EventDescriptorV5 empty = {};
  empty.type = kCollectiveEvent;  // all names are null
  stop(start(profiler, empty));
  if (GetParam().profiler == 4) {
    EXPECT_EQ(ncclProfiler_v4.start_event(profiler, nullptr, nullptr), kSuccess);
    EXPECT_EQ(ncclProfiler_v4.start_event(profiler, &handle, nullptr), kSuccess);
  } else {
    EXPECT_EQ(newer().start_event(profiler, nullptr, nullptr), kSuccess);
    EXPECT_EQ(newer().start_event(profiler, &handle, nullptr), kSuccess);
  }
  EXPECT_EQ(handle, nullptr) << "a handle is always written";
  close_tuner(nullptr);
  close_profiler(nullptr);
  close_tuner(tuner);
  close_profiler(profiler);
  EXPECT_EQ(ncclTunerPlugin_v4.init(8, 1, nullptr, nullptr), kSuccess);
  EXPECT_EQ(ncclTunerPlugin_v5.init(nullptr, 1, 8, 1, nullptr, nullptr, nullptr), kSuccess);
  EXPECT_EQ(ncclTunerPlugin_v6.init(nullptr, 1, 8, 1, nullptr, nullptr, nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v4.init(nullptr, &mask, "", 1, 1, 8, 0, nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v5.init(nullptr, 1, &mask, "", 1, 8, 0, nullptr), kSuccess);
  EXPECT_EQ(ncclProfiler_v6.init(nullptr, 1, &mask, "", 1, 8, 0, nullptr), kSuccess);
}

TEST_P(TablesTest, ACommunicatorThatIsLeftAloneIsOnlyPassedThrough) {
  leave_communicators_alone(true);
  void* profiler = open_profiler();
  void* tuner = open_tuner();
  const Table before = table;
  collective_info(tuner, &table, &channels);
  EXPECT_EQ(table, before);
  EXPECT_EQ(start_collective(profiler, 1, 1), nullptr);
  close_tuner(tuner);
  close_profiler(profiler);
  EXPECT_TRUE(opened_communicators().empty());
}

TEST_P(TablesTest, ALongNameIsCutOff) {
  void* profiler = open_profiler(0, 8, 77, std::string(200, 'x').c_str());
  EXPECT_EQ(opened_communicators().front()->identity.name, std::string(63, 'x'));
  close_profiler(profiler);
}

}  // namespace
}  // namespace hocket::nccl::abi
