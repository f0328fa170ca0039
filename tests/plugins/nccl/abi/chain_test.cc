// Chained plugins, which are shared objects of chained_plugin.cc: CHAINED_ALL has all versions,
// CHAINED_V4 and CHAINED_V5 only one, and CHAINED_SELF calls itself hocket. The macros are their
// paths.

#include "plugins/nccl/abi/chain.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugins/nccl/abi/plugin.h"
#include "tests/plugins/nccl/abi/chained_record.h"
#include "tests/plugins/nccl/abi/fake_communicator.h"

namespace hocket::nccl::abi {
namespace {

constexpr std::uint64_t kNow_ns = 1'790'000'000'000'000'000;

std::map<std::string, std::string>& variables() {
  static std::map<std::string, std::string> its;
  return its;
}

const char* environment(const char* name) {
  const auto at = variables().find(name);
  return at == variables().end() ? nullptr : at->second.c_str();
}

std::vector<std::string>& warnings() {
  static std::vector<std::string> its;
  return its;
}

void log(int level, unsigned long, const char*, int, const char* format, ...) {
  char line[512];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  if (level == kLogWarning) warnings().push_back(line);
}

ChainedRecord& record_of(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << path;
  return *static_cast<ChainedRecord*>(dlsym(library, "chained_record"));
}

class ChainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    variables() = {{"HOCKET_NCCL_TUNER_CHAIN", "none"}, {"HOCKET_NCCL_PROFILER_CHAIN", "none"}};
    warnings().clear();
    forget_communicators();
    costs.fill(5);
  }

  ChainedRecord& chain_tuner(const char* path) {
    variables()["HOCKET_NCCL_TUNER_CHAIN"] = path;
    return reset(path);
  }
  ChainedRecord& chain_profiler(const char* path, int event_mask) {
    variables()["HOCKET_NCCL_PROFILER_CHAIN"] = path;
    ChainedRecord& its = reset(path);
    its.event_mask = event_mask;
    return its;
  }
  static ChainedRecord& reset(const char* path) {
    ChainedRecord& its = record_of(path);
    its = ChainedRecord();
    return its;
  }

  void* open_tuner(int version = 5, std::size_t ranks = 8) {
    TunerOpening opening;
    opening.version = version;
    opening.comm_id = version == 4 ? 0 : 77;
    opening.ranks = ranks;
    opening.nodes = 2;
    opening.logger = log;
    opening.nv_link = version == 4 ? nullptr : &nv_link;
    opening.constants = version == 4 ? nullptr : &constants;
    return plugin->open_tuner(opening);
  }
  void* open_profiler(int version = 5, int rank = 3) {
    return plugin->open_profiler({version, 77, &mask, "world", 2, 8, rank, log});
  }
  void collective_info(void* context) {
    plugin->collective_info(context, {kReduceScatter, 1 << 20, 2, true},
                            {costs.data(), kAlgorithms, kProtocols}, &channels);
  }

  static EventDescriptorV5 event(std::uint64_t type, void* parent) {
    EventDescriptorV5 descriptor = {};
    descriptor.type = type;
    descriptor.parent = parent;
    return descriptor;
  }
  static EventDescriptorV5 collective_event(void* api = nullptr, void* group = nullptr) {
    EventDescriptorV5 descriptor = event(kCollectiveEvent, api);
    descriptor.collective.function = "AllReduce";
    descriptor.collective.datatype = "ncclInt8";
    descriptor.collective.channels = 1;
    descriptor.collective.parent_group = group;
    return descriptor;
  }
  static EventDescriptorV5 channel_event(void* parent) {
    EventDescriptorV5 descriptor = event(kKernelChannelEvent, parent);
    descriptor.kernel_channel = {0, kNow_ns};
    return descriptor;
  }
  void stop_channel(void* handle) {
    EventStateArguments arguments = {kNow_ns + 40};
    plugin->record_event_state(handle, kKernelChannelStop, &arguments);
    plugin->stop_event(handle);
  }

  std::unique_ptr<Plugin> plugin = std::make_unique<Plugin>(environment);
  std::array<float, kAlgorithms * kProtocols> costs;
  int channels = 0, mask = 0;
  NvLinkInfo nv_link = {};
  TunerConstants constants = {};
};

TEST(ChainCandidates, AreWhatNcclWouldOpen) {
  using Names = std::vector<std::string>;
  const auto tuners = [] { return chain_candidates(PluginKind::tuner, environment); };
  const auto profilers = [] { return chain_candidates(PluginKind::profiler, environment); };
  variables() = {};
  EXPECT_EQ(tuners(), (Names{"libnccl-tuner.so", "libnccl-net.so"}));
  EXPECT_EQ(profilers(), (Names{"libnccl-profiler.so", "libnccl-net.so"}));
  variables() = {{"NCCL_NET_PLUGIN", "ofi"}};
  EXPECT_EQ(tuners(), (Names{"libnccl-tuner.so", "ofi", "libnccl-net-ofi.so"}));
  variables() = {{"NCCL_NET_PLUGIN", "a,,none,b"}};
  EXPECT_EQ(tuners(),
            (Names{"libnccl-tuner.so", "a", "libnccl-net-a.so", "b", "libnccl-net-b.so"}));
  variables() = {{"NCCL_NET_PLUGIN", "none"}};
  EXPECT_EQ(tuners(), (Names{"libnccl-tuner.so"}));
  variables() = {{"HOCKET_NCCL_TUNER_CHAIN", "x"}, {"NCCL_NET_PLUGIN", "ofi"}};
  EXPECT_EQ(tuners(), (Names{"x", "libnccl-tuner-x.so"}));
  EXPECT_EQ(profilers(), (Names{"libnccl-profiler.so", "ofi", "libnccl-net-ofi.so"}));
  variables() = {{"HOCKET_NCCL_PROFILER_CHAIN", "inspector"}};
  EXPECT_EQ(profilers(), (Names{"inspector", "libnccl-profiler-inspector.so"}));
  for (const char* off : {"", "none"}) {
    variables() = {{"HOCKET_NCCL_TUNER_CHAIN", off}, {"HOCKET_NCCL_PROFILER_CHAIN", off}};
    EXPECT_TRUE(tuners().empty());
    EXPECT_TRUE(profilers().empty());
  }
}

TEST_F(ChainTest, TakesTheNewestVersionThatFits) {
  const auto tuner = [&](const char* path, int version) {
    chain_tuner(path);
    return ChainedTuner::load(environment, version, nullptr).version();
  };
  EXPECT_EQ(tuner(CHAINED_ALL, 6), 6);
  EXPECT_EQ(tuner(CHAINED_ALL, 5), 6);
  EXPECT_EQ(tuner(CHAINED_ALL, 4), 4);
  EXPECT_EQ(tuner(CHAINED_V4, 6), 4);
  EXPECT_EQ(tuner(CHAINED_V5, 4), 5);
  const auto profiler = [&](const char* path, int version) {
    chain_profiler(path, 0);
    return ChainedProfiler::load(environment, version, nullptr).version();
  };
  EXPECT_EQ(profiler(CHAINED_ALL, 6), 6);
  EXPECT_EQ(profiler(CHAINED_ALL, 5), 6);
  EXPECT_EQ(profiler(CHAINED_ALL, 4), 4);
  EXPECT_EQ(profiler(CHAINED_V4, 6), 4);
  EXPECT_EQ(profiler(CHAINED_V5, 6), 5);
  EXPECT_EQ(profiler(CHAINED_V5, 4), 5);
}

TEST_F(ChainTest, TheNetPluginsTunerIsFoundWithoutAVariable) {
  reset(CHAINED_V5);
  variables() = {{"NCCL_NET_PLUGIN", CHAINED_V5}};
  EXPECT_EQ(ChainedTuner::load(environment, 5, log).version(), 5);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(ChainTest, NeverCallsItselfAndSaysWhatItDoesNotFind) {
  chain_tuner(CHAINED_SELF);
  chain_profiler(CHAINED_SELF, 0);
  EXPECT_FALSE(static_cast<bool>(ChainedTuner::load(environment, 5, log)));
  EXPECT_FALSE(static_cast<bool>(ChainedProfiler::load(environment, 5, log)));
  EXPECT_EQ(warnings().size(), 2U);
  variables()["HOCKET_NCCL_TUNER_CHAIN"] = "/nowhere/at/all.so";
  EXPECT_FALSE(static_cast<bool>(ChainedTuner::load(environment, 5, log)));
  ASSERT_EQ(warnings().size(), 3U);
  EXPECT_NE(warnings()[2].find("/nowhere/at/all.so"), std::string::npos);
  EXPECT_FALSE(static_cast<bool>(ChainedTuner::load(environment, 5, nullptr)));
}

TEST_F(ChainTest, TheChainedTunersWordIsTheDefault) {
  ChainedRecord& chained = chain_tuner(CHAINED_ALL);
  chained.cheap_algorithm = kNvls;
  chained.cheap_protocol = kSimple;
  chained.channels = 24;
  void* profiler = open_profiler();
  void* tuner = open_tuner();
  EXPECT_EQ(chained.comm_id, 77U);
  EXPECT_EQ(chained.ranks, 8U);
  EXPECT_EQ(chained.nodes, 2U);
  EXPECT_EQ(chained.nv_link, &nv_link);
  EXPECT_EQ(chained.constants, &constants);
  const auto communicator = opened_communicators().front();
  int seen_channels = 0;
  communicator->on_decide = [&](CostTable table, int* its_channels) {
    seen_channels = *its_channels;
    EXPECT_EQ(table.at(kNvls, kSimple), 0.0F);
    EXPECT_EQ(table.at(kRing, kSimple), 5.0F);
    table.at(kNvls, kSimple) = 1;
    table.at(kRing, kSimple) = 0;
    *its_channels = 2;
  };
  collective_info(tuner);
  EXPECT_EQ(seen_channels, 24);
  EXPECT_EQ(channels, 2);
  EXPECT_EQ(costs[kRing * kProtocols + kSimple], 0.0F);
  EXPECT_EQ(chained.function, kReduceScatter);
  EXPECT_EQ(chained.bytes, 1U << 20);
  EXPECT_EQ(chained.operations, 2);
  EXPECT_EQ(chained.registered, 1);
  plugin->close_tuner(tuner);
  EXPECT_EQ(chained.tuner_finalizes, 1);
  plugin->close_profiler(profiler);
  EXPECT_TRUE(warnings().empty());
}

TEST_F(ChainTest, IsCalledWithoutAProfilerOrACommunicatorToo) {
  ChainedRecord& chained = chain_tuner(CHAINED_V4);
  chained.channels = 7;
  leave_communicators_alone(true);
  void* tuner = open_tuner(6);
  leave_communicators_alone(false);
  collective_info(tuner);
  EXPECT_EQ(channels, 7);
  plugin->close_tuner(tuner);
  EXPECT_EQ(chained.tuner_finalizes, 1);
}

TEST_F(ChainTest, EachCommunicatorHasItsOwnContext) {
  ChainedRecord& chained = chain_tuner(CHAINED_ALL);
  std::vector<void*> tuners;
  std::vector<void*> chained_contexts;
  for (std::size_t i = 0; i < 3; ++i) tuners.push_back(open_tuner(5, 2 + i));
  for (void* tuner : tuners) {
    collective_info(tuner);
    chained_contexts.push_back(chained.tuner_context);
  }
  EXPECT_NE(chained_contexts[0], chained_contexts[1]);
  EXPECT_NE(chained_contexts[1], chained_contexts[2]);
  for (const std::size_t i : {1, 0, 2}) {
    plugin->close_tuner(tuners[i]);
    EXPECT_EQ(chained.finalized_tuner, chained_contexts[i]);
    plugin->close_tuner(tuners[i]);
  }
  EXPECT_EQ(chained.tuner_finalizes, 3);
  collective_info(tuners[0]);
  EXPECT_EQ(chained.tuner_calls, 3);
}

TEST_F(ChainTest, WhatIsForbiddenStaysForbidden) {
  ChainedRecord& chained = chain_tuner(CHAINED_ALL);
  chained.overwrites_everything = true;
  void* tuner = open_tuner();
  for (std::size_t i = 0; i < costs.size(); i += 2) costs[i] = -1;
  collective_info(tuner);
  for (std::size_t i = 0; i < costs.size(); ++i) EXPECT_EQ(costs[i], i % 2 == 0 ? -1.0F : 1.0F);
  plugin->close_tuner(tuner);
}

TEST_F(ChainTest, AnErrorOfTheTunerIsIgnoredWithOneWarning) {
  ChainedRecord& chained = chain_tuner(CHAINED_ALL);
  chained.overwrites_everything = true;
  chained.channels = 9;
  chained.info_result = kInternalError;
  void* tuner = open_tuner();
  const auto before = costs;
  for (int i = 0; i < 3; ++i) collective_info(tuner);
  EXPECT_EQ(costs, before);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(chained.tuner_calls, 3);
  EXPECT_EQ(warnings().size(), 1U);
  chained.info_result = kSuccess;
  collective_info(tuner);
  EXPECT_EQ(channels, 9) << "ignored for that call only";
  plugin->close_tuner(tuner);
}

TEST_F(ChainTest, APluginThatFailsToStartIsDropped) {
  ChainedRecord& chained = chain_tuner(CHAINED_ALL);
  chain_profiler(CHAINED_ALL, 0xFFF);
  chained.init_result = kSystemError;
  void* profiler = open_profiler();
  void* tuner = open_tuner();
  ASSERT_NE(profiler, nullptr);
  ASSERT_NE(tuner, nullptr);
  EXPECT_EQ(warnings().size(), 2U);
  collective_info(tuner);
  EXPECT_EQ(opened_communicators().front()->calls.size(), 1U);
  EXPECT_EQ(plugin->start_event(profiler, event(kGroupEvent, nullptr)), nullptr);
  plugin->close_tuner(tuner);
  plugin->close_profiler(profiler);
  EXPECT_EQ(chained.tuner_calls, 0);
  EXPECT_EQ(chained.started, 0);
  EXPECT_EQ(chained.tuner_finalizes + chained.profiler_finalizes, 0);
}

TEST_F(ChainTest, ANewTunerUnderAnOldNcclGetsConstantsOfItsOwn) {
  ChainedRecord& chained = chain_tuner(CHAINED_V5);
  void* tuner = open_tuner(4);
  EXPECT_EQ(chained.tuner_version, 5);
  EXPECT_NE(chained.nv_link, nullptr);
  EXPECT_NE(chained.constants, nullptr);
  plugin->close_tuner(tuner);
}

TEST_F(ChainTest, TheChainedProfilerHasItsOwnContextMaskAndEvents) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 2 | 16);
  void* a = open_profiler(5, 0);
  void* b = open_profiler(5, 1);
  EXPECT_EQ(chained.rank, 1);
  EXPECT_EQ(chained.comm_id, 77U);
  EXPECT_NE(chained.mask, &mask);
  EXPECT_EQ(mask, 2 | 16);
  time_collectives(opened_communicators().front()->meter);
  EXPECT_EQ(mask, 2 | 16 | 64);
  void* in_a = plugin->start_event(a, collective_event());
  void* in_b = plugin->start_event(b, collective_event());
  EXPECT_NE(in_a, &chained.events[0]) << "it is measured, too";
  EXPECT_EQ(in_b, &chained.events[1]) << "only the chained profiler wants it";
  EXPECT_NE(chained.events[0].context, chained.events[1].context);
  // It has not asked for channels, but has for steps, which belong to proxy operations.
  void* channel = plugin->start_event(a, channel_event(in_a));
  EXPECT_NE(channel, nullptr);
  EXPECT_EQ(chained.started, 2);
  void* operation = plugin->start_event(a, event(kProxyOperationEvent, in_a));
  EXPECT_EQ(operation, &chained.events[2]);
  EXPECT_EQ(chained.events[2].parent, &chained.events[0]) << "its own handle of the collective";
  void* step = plugin->start_event(a, event(kProxyStepEvent, operation));
  EXPECT_EQ(chained.events[3].parent, operation);
  EXPECT_EQ(plugin->start_event(a, event(kProxyControlEvent, nullptr)), nullptr);
  plugin->record_event_state(step, 8, nullptr);
  EXPECT_EQ(chained.events[3].last_state, 8);
  for (void* handle : {step, operation, in_a, in_b}) plugin->stop_event(handle);
  plugin->stop_event(nullptr);  // the chained profiler would not survive it
  plugin->record_event_state(nullptr, 8, nullptr);
  stop_channel(channel);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(chained.events[i].stopped, 1) << i;
  measure::MeasuredCollective out;
  EXPECT_TRUE(opened_communicators().front()->meter->pop(out));
  plugin->close_profiler(a);
  EXPECT_EQ(chained.finalized_profiler, chained.events[0].context);
  EXPECT_EQ(mask, 2 | 16);
  plugin->close_profiler(b);
  EXPECT_EQ(chained.profiler_finalizes, 2);
}

TEST_F(ChainTest, BothGetTheChannelsThatBothWant) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 2 | 64);
  void* profiler = open_profiler();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  for (const bool has_window : {false, true}) {
    has_window ? time_collectives(meter) : meter->ask_for(Events::counted);
    chained.started = 0;
    void* collective = plugin->start_event(profiler, collective_event());
    plugin->stop_event(collective);
    void* channel = plugin->start_event(profiler, channel_event(collective));
    EXPECT_EQ(plugin->start_event(profiler, channel_event(collective)) == channel, has_window);
    EXPECT_EQ(chained.started, has_window ? 2 : 3) << "a repeated channel has one handle";
    EXPECT_EQ(chained.events[1].parent, &chained.events[0]);
    stop_channel(channel);
    EXPECT_EQ(chained.events[0].stopped, 1);
    EXPECT_EQ(chained.events[1].stopped, 1);
    EXPECT_EQ(chained.events[1].last_state, kKernelChannelStop);
    EXPECT_EQ(chained.events[1].last_argument, kNow_ns + 40);
    measure::MeasuredCollective out;
    EXPECT_EQ(meter->pop(out), has_window);
  }
  plugin->close_profiler(profiler);
}

TEST_F(ChainTest, AWindowBringsNothingToAProfilerThatHasNotAsked) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 0);
  void* profiler = open_profiler();
  time_collectives(opened_communicators().front()->meter);
  for (const std::uint64_t type : {1, 256, 512}) {
    EXPECT_EQ(plugin->start_event(profiler, event(type, nullptr)), nullptr);
  }
  void* collective = plugin->start_event(profiler, collective_event());
  plugin->stop_event(collective);
  stop_channel(plugin->start_event(profiler, channel_event(collective)));
  EXPECT_EQ(chained.started, 0);
  // It may change its mind at any time.
  *chained.mask = 4;
  plugin->start_event(profiler, event(kGroupEvent, nullptr));
  EXPECT_EQ(mask, 2 | 64 | 4);
  EXPECT_EQ(chained.started, 1) << "the group of the point-to-point events";
  *chained.mask = 0;
  void* tuner = open_tuner();
  collective_info(tuner);
  EXPECT_EQ(mask, 2 | 64);
  plugin->close_tuner(tuner);
  plugin->close_profiler(profiler);
}

TEST_F(ChainTest, TheMaskOfAClosedCommunicatorIsNotTouched) {
  int other_mask = 0;
  void* gone = open_profiler();
  void* open = plugin->open_profiler({5, 78, &other_mask, "other", 2, 8, 3, log});
  plugin->close_profiler(gone);
  time_collectives(opened_communicators().back()->meter);
  EXPECT_EQ(other_mask, 2 | 64);
  EXPECT_EQ(mask, 0);
  plugin->close_profiler(open);
}

TEST(ReportedEvents, AreTheWantedOnesAndThoseToWhichTheyBelong) {
  const auto reported = [](int event_mask) {
    int types = 0;
    for (int type = 1; type <= 16384; type *= 2) {
      if (is_reported(event_mask, static_cast<std::uint64_t>(type))) types |= type;
    }
    return types;
  };
  EXPECT_EQ(reported(0), 0);
  EXPECT_EQ(reported(2 | 64) & (2 | 64 | 1 | 256 | 512), 2 | 64 | 1 | 256 | 512);
  EXPECT_EQ(reported(2), 1 | 2 | 256 | 512);
  EXPECT_EQ(reported(4), 1 | 4 | 256 | 1024);
  EXPECT_EQ(reported(8), 1 | 2 | 4 | 8 | 256 | 512 | 1024);
  EXPECT_EQ(reported(128), 1 | 2 | 4 | 8 | 16 | 128 | 256 | 512 | 1024);
  EXPECT_EQ(reported(32), 32);
  EXPECT_EQ(reported(256), 256);
  EXPECT_EQ(reported(4096), 256 | 512 | 4096);
  EXPECT_EQ(reported(8192), 256 | 512 | 4096 | 8192);
  EXPECT_EQ(reported(16384), 256 | 512 | 4096 | 16384);
}

TEST_F(ChainTest, FullSlotsLeaveTheChainedProfilerItsEvents) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 2 | 64);
  void* profiler = open_profiler();
  measure::CollectiveMeter* meter = opened_communicators().front()->meter;
  time_collectives(meter);
  for (int i = 0; i < measure::kSlots; ++i) plugin->start_event(profiler, collective_event());
  EXPECT_EQ(meter->losses().without_slot, 0U);
  chained.started = 0;
  void* collective = plugin->start_event(profiler, collective_event());
  EXPECT_EQ(collective, &chained.events[0]);
  stop_channel(plugin->start_event(profiler, channel_event(collective)));
  EXPECT_EQ(chained.events[1].stopped, 1);
  EXPECT_EQ(meter->losses().without_slot, 1U);
  plugin->close_profiler(profiler);
}

TEST_F(ChainTest, FullSlotsStillGiveAHandleToWhatWasAskedFor) {
  void* profiler = open_profiler();
  time_collectives(opened_communicators().front()->meter);
  for (int i = 0; i < measure::kSlots; ++i) plugin->start_event(profiler, collective_event());
  void* collective = plugin->start_event(profiler, collective_event());
  ASSERT_NE(collective, nullptr);
  void* channel = plugin->start_event(profiler, channel_event(collective));
  ASSERT_NE(channel, nullptr);
  stop_channel(channel);
  plugin->stop_event(collective);
  EXPECT_EQ(opened_communicators().front()->meter->losses().without_slot, 1U);
  plugin->close_profiler(profiler);
}

TEST_F(ChainTest, LateEventsDoNotReachAChainedProfilerThatIsClosed) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 2 | 64);
  void* profiler = open_profiler();
  time_collectives(opened_communicators().front()->meter);
  void* collective = plugin->start_event(profiler, collective_event());
  void* channel = plugin->start_event(profiler, channel_event(collective));
  plugin->close_profiler(profiler);
  stop_channel(channel);
  plugin->stop_event(collective);
  stop_channel(plugin->start_event(profiler, channel_event(collective)));
  EXPECT_EQ(plugin->start_event(profiler, event(kGroupEvent, nullptr)), nullptr);
  EXPECT_EQ(chained.started, 2);
  for (const ChainedEvent& each : chained.events) EXPECT_EQ(each.stopped + each.states, 0);
}

TEST_F(ChainTest, AChainedHandleThatLooksLikeOursIsNotGivenToNccl) {
  ChainedRecord& chained = chain_profiler(CHAINED_ALL, 1);
  void* profiler = open_profiler();
  chained.forced_handle = 0xB0C7'0000'0000'0001;
  EXPECT_EQ(plugin->start_event(profiler, event(kGroupEvent, nullptr)), nullptr);
  EXPECT_EQ(chained.events[0].stopped, 1);
  plugin->close_profiler(profiler);
}

TEST_F(ChainTest, ParentsAreThoseOfTheChainedVersion) {
  int api = 0, group = 0;
  const EventDescriptorV5 in_v5 = collective_event(&api, &group);
  {
    ChainedRecord& chained = chain_profiler(CHAINED_V4, 2);
    void* profiler = open_profiler(5);
    plugin->start_event(profiler, in_v5);
    EXPECT_EQ(chained.events[0].parent, &group) << "version 4 knows no API events";
    EXPECT_EQ(chained.events[0].channels, 1);
    EXPECT_EQ(plugin->start_event(profiler, event(kCollectiveApiEvent, nullptr)), nullptr);
    plugin->close_profiler(profiler);
  }
  EventDescriptorV4 in_v4 = to_v4(in_v5);
  EXPECT_EQ(in_v4.parent, &group);
  {
    plugin = std::make_unique<Plugin>(environment);
    ChainedRecord& chained = chain_profiler(CHAINED_V5, 2);
    void* profiler = open_profiler(4);
    plugin->start_event(profiler, to_v5(in_v4));
    EXPECT_EQ(chained.events[0].parent, nullptr);
    EXPECT_EQ(chained.events[0].parent_group, &group);
    plugin->close_profiler(profiler);
  }
  for (const char* path : {CHAINED_ALL, CHAINED_V5}) {
    plugin = std::make_unique<Plugin>(environment);
    ChainedRecord& chained = chain_profiler(path, kCopyEngineBatchEvent);
    void* profiler = open_profiler(6);
    void* copied = plugin->start_event(profiler, event(kCopyEngineCollectiveEvent, nullptr));
    void* batch = plugin->start_event(profiler, event(kCopyEngineBatchEvent, copied));
    EXPECT_EQ(batch != nullptr, chained.profiler_version == 6) << "version 5 knows no such events";
    if (batch != nullptr) {
      EXPECT_EQ(chained.events[1].parent, copied);
    }
    plugin->close_profiler(profiler);
  }
  in_v4.type = kPointToPointEvent;
  in_v4.parent = &api;
  EXPECT_EQ(to_v5(in_v4).parent, nullptr);
  EXPECT_EQ(to_v5(in_v4).point_to_point.parent_group, &api);
  EXPECT_EQ(to_v4(to_v5(in_v4)).parent, &api);
}

}  // namespace
}  // namespace hocket::nccl::abi
