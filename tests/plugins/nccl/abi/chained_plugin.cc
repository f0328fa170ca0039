// A plugin to be chained in tests, built several times into shared objects:
//   TUNERS, PROFILERS   sums of 1, 2 and 4 for the versions 4, 5 and 6 that are exported
//   PLUGIN_NAME         its name as a string

#include "plugins/nccl/interface/nccl_interface.h"
#include "tests/plugins/nccl/abi/chained_record.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace hocket::nccl {

EXPORTED ChainedRecord chained_record;
ChainedRecord chained_record;

namespace {

using namespace abi;

ChainedRecord& record() {
  return chained_record;
}

int contexts = 0;

[[maybe_unused]] int init_tuner(int version, std::uint64_t comm_id, std::size_t ranks,
                                std::size_t nodes, void** context) {
  record().tuner_version = version;
  ++record().tuner_inits;
  record().comm_id = comm_id;
  record().ranks = ranks;
  record().nodes = nodes;
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x1000 + ++contexts));
  return record().init_result;
}

[[maybe_unused]] int get_coll_info(void* context, int function, std::size_t bytes, int operations,
                                   float** cost_table, int algorithms, int protocols,
                                   int registered, int* channels) {
  ++record().tuner_calls;
  record().tuner_context = context;
  record().function = function;
  record().bytes = bytes;
  record().operations = operations;
  record().registered = registered;
  float* costs = reinterpret_cast<float*>(cost_table);
  if (record().overwrites_everything) {
    for (int i = 0; i < algorithms * protocols; ++i) costs[i] = 1;
  }
  if (record().cheap_algorithm >= 0) {
    costs[record().cheap_algorithm * protocols + record().cheap_protocol] = 0;
  }
  if (record().channels >= 0) *channels = record().channels;
  return record().info_result;
}

[[maybe_unused]] int finalize_tuner(void* context) {
  ++record().tuner_finalizes;
  record().finalized_tuner = context;
  return kSuccess;
}

[[maybe_unused]] int init_v4(std::size_t ranks, std::size_t nodes, Logger, void** context) {
  return init_tuner(4, 0, ranks, nodes, context);
}

template <int kVersion>
int init_v5(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes, Logger,
            NvLinkInfo* nv_link, TunerConstants* constants) {
  record().nv_link = nv_link;
  record().constants = constants;
  return init_tuner(kVersion, comm_id, ranks, nodes, context);
}

[[maybe_unused]] int init_profiler(int version, std::uint64_t comm_id, int nodes, int ranks,
                                   int rank, int* mask, void** context) {
  record().profiler_version = version;
  ++record().profiler_inits;
  record().comm_id = comm_id;
  record().nodes = static_cast<std::uint64_t>(nodes);
  record().ranks = static_cast<std::uint64_t>(ranks);
  record().rank = rank;
  record().mask = mask;
  *mask = record().event_mask;
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x2000 + ++contexts));
  return record().init_result;
}

[[maybe_unused]] int init_profiler_v4(void** context, int* mask, const char*, std::uint64_t comm_id,
                                      int nodes, int ranks, int rank, Logger) {
  return init_profiler(4, comm_id, nodes, ranks, rank, mask, context);
}

template <int kVersion>
int init_profiler_v5(void** context, std::uint64_t comm_id, int* mask, const char*, int nodes,
                     int ranks, int rank, Logger) {
  return init_profiler(kVersion, comm_id, nodes, ranks, rank, mask, context);
}

template <class Descriptor>
int start_event(void* context, void** handle, Descriptor* descriptor) {
  ChainedEvent& event = record().events[record().started++ % 256];
  event = {};
  event.type = descriptor->type;
  event.parent = descriptor->parent;
  event.context = context;
  if (descriptor->type == kCollectiveEvent) {
    event.channels = descriptor->collective.channels;
    if constexpr (sizeof(Descriptor) == sizeof(EventDescriptorV5)) {
      event.parent_group = descriptor->collective.parent_group;
    }
  }
  *handle = record().forced_handle != 0 ? reinterpret_cast<void*>(record().forced_handle) : &event;
  return kSuccess;
}

[[maybe_unused]] int stop_event(void* handle) {
  if (handle == nullptr) __builtin_trap();
  if (record().forced_handle != 0) {
    ++record().events[0].stopped;
  } else {
    ++static_cast<ChainedEvent*>(handle)->stopped;
  }
  return kSuccess;
}

[[maybe_unused]] int record_event_state(void* handle, int state, EventStateArguments* arguments) {
  if (handle == nullptr) __builtin_trap();
  auto* event = static_cast<ChainedEvent*>(handle);
  ++event->states;
  event->last_state = state;
  event->last_argument = arguments == nullptr ? 0 : arguments->kernel_channel_stop_ns;
  return kSuccess;
}

[[maybe_unused]] int finalize_profiler(void* context) {
  ++record().profiler_finalizes;
  record().finalized_profiler = context;
  return kSuccess;
}

}  // namespace

#if TUNERS & 1
EXPORTED const TunerV4 ncclTunerPlugin_v4;
const TunerV4 ncclTunerPlugin_v4 = {PLUGIN_NAME, init_v4, get_coll_info, finalize_tuner};
#endif
#if TUNERS & 2
EXPORTED const TunerV5 ncclTunerPlugin_v5;
const TunerV5 ncclTunerPlugin_v5 = {PLUGIN_NAME, init_v5<5>, get_coll_info, finalize_tuner};
#endif
#if TUNERS & 4
EXPORTED const TunerV6 ncclTunerPlugin_v6;
const TunerV6 ncclTunerPlugin_v6 = {PLUGIN_NAME, init_v5<6>, get_coll_info, finalize_tuner,
                                    nullptr};
#endif
#if PROFILERS & 1
EXPORTED const ProfilerV4 ncclProfiler_v4;
const ProfilerV4 ncclProfiler_v4 = {PLUGIN_NAME, init_profiler_v4,   start_event,
                                    stop_event,  record_event_state, finalize_profiler};
#endif
#if PROFILERS & 2
EXPORTED const ProfilerV5 ncclProfiler_v5;
const ProfilerV5 ncclProfiler_v5 = {PLUGIN_NAME, init_profiler_v5<5>, start_event,
                                    stop_event,  record_event_state,  finalize_profiler};
#endif
#if PROFILERS & 4
EXPORTED const ProfilerV6 ncclProfiler_v6;
const ProfilerV6 ncclProfiler_v6 = {PLUGIN_NAME, init_profiler_v5<6>, start_event,
                                    stop_event,  record_event_state,  finalize_profiler};
#endif

}  // namespace hocket::nccl
