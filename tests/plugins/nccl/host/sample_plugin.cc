// A tuner and profiler plugin for the tests of the host: always chooses Ring/Simple. It links to
// nothing of the host. What it does follows from the environment:
//
//   SAMPLE_LOG=PREFIX    each call is a line in the file PREFIX.RANK
//   SAMPLE_MASK=N        mask of the profiler's events
//   SAMPLE_MASK_CALLS=N  number of decisions after which the mask becomes 0
//   SAMPLE_CHANNELS=N    channels that it chooses
//   SAMPLE_DOES=WORD     diverge: odd ranks choose Ring/LL from their 101st decision on
//                        alternate: every second decision is Ring/LL
//                        overwrite: chooses an algorithm that is not allowed
//                        forbid: leaves nothing allowed
//                        error: decisions return an error
//                        hang: rank 1 does not return from its 11th decision
//                        forget: handles of kernels after the 64th are not written
//                        init: the profiler's init fails after setting the mask

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/plugins/nccl/host/nccl_plugin_calls.h"

namespace {

using namespace hocket::nccl_host;

std::mutex mutex;
std::FILE* file = nullptr;
int rank_of_process = 0;
pid_t thread_of_init = 0;
int* events_mask = nullptr;
std::atomic<int> decisions{0}, handles{0}, kernels{0};
int context_of_tuner, context_of_profiler;

bool does(const char* word) {
  const char* value = std::getenv("SAMPLE_DOES");
  return value != nullptr && std::strcmp(value, word) == 0;
}

int number(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

__attribute__((format(printf, 1, 2))) void write_line(const char* format, ...) {
  const std::lock_guard<std::mutex> lock(mutex);
  const char* prefix = std::getenv("SAMPLE_LOG");
  if (prefix == nullptr) return;
  if (file == nullptr) {
    file = std::fopen((std::string(prefix) + "." + std::to_string(rank_of_process)).c_str(), "a");
  }
  std::fputs(gettid() == thread_of_init ? "main " : "other ", file);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputc('\n', file);
  std::fflush(file);
}

/// Runs at dlclose; the host leaves by _exit.
struct Unloaded {
  ~Unloaded() { write_line("unloaded"); }
} unloaded;

Result decide(void* context, int function, std::size_t bytes, int pipe_ops, float** table,
              int algorithms, int protocols, int registered, int* channels) {
  auto* costs = reinterpret_cast<float*>(table);
  const auto cost = [&](int algorithm, int protocol) -> float& {
    return costs[algorithm * protocols + protocol];
  };
  const int call = decisions++;
  write_line("decide %d %zu pipe=%d registered=%d channels=%d context=%d", function, bytes,
             pipe_ops, registered, *channels, context == &context_of_tuner);
  if (events_mask != nullptr && call + 1 == number("SAMPLE_MASK_CALLS", -1)) {
    __atomic_store_n(events_mask, 0, __ATOMIC_RELAXED);
  }
  if (does("error")) return 3;
  if (does("hang") && rank_of_process == 1 && call == 10) {
    while (true) pause();
  }
  if (does("overwrite")) cost(kNvls, kSimple) = 0;
  if (does("forbid")) {
    for (int i = 0; i < algorithms * protocols; ++i) costs[i] = -1;
    return 0;
  }
  const bool differs = (does("diverge") && rank_of_process % 2 == 1 && call >= 100) ||
                       (does("alternate") && call % 2 == 1);
  float& chosen = cost(kRing, differs ? kLl : kSimple);
  if (chosen >= 0) chosen = 0;
  *channels = number("SAMPLE_CHANNELS", *channels);
  return 0;
}

Result tuner_init(void** context, int version, std::uint64_t id, std::size_t ranks,
                  std::size_t nodes) {
  *context = &context_of_tuner;
  if (thread_of_init == 0) thread_of_init = gettid();
  write_line("tuner.init %d id=%lx ranks=%zu nodes=%zu", version, id, ranks, nodes);
  return 0;
}

Result tuner_finalize(void* /*context*/) {
  write_line("tuner.finalize");
  return 0;
}

Result profiler_init(void** context, int version, std::uint64_t id, int* mask, const char* name,
                     int nodes, int ranks, int rank) {
  if (thread_of_init == 0) {
    thread_of_init = gettid();
    rank_of_process = rank;
  }
  write_line("profiler.init %d id=%lx ranks=%d nodes=%d rank=%d name=%s", version, id, ranks, nodes,
             rank, name == nullptr ? "null" : name);
  events_mask = mask;
  __atomic_store_n(mask, number("SAMPLE_MASK", 0), __ATOMIC_RELAXED);
  if (does("init")) return 3;
  *context = &context_of_profiler;
  return 0;
}

void* next_handle() {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(++handles));
}

int number_of(const void* handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle));
}

template <class Event>
Result start(void* context, void** handle, Event* event) {
  const int type = static_cast<int>(event->type);
  if (type == kKernelChannel && ++kernels > 64 && does("forget")) return 0;
  *handle = next_handle();
  std::string more;
  if (type == kCollective) {
    more = std::string(" ") + event->collective.function + " " +
           std::to_string(event->collective.count) + " " + event->collective.datatype + " " +
           event->collective.algorithm + " " + event->collective.protocol +
           " channels=" + std::to_string(event->collective.channels) +
           " sequence=" + std::to_string(event->collective.sequence);
  } else if (type == kKernelChannel) {
    more = " channel=" + std::to_string(event->kernel_channel.channel) +
           " timer=" + std::to_string(event->kernel_channel.timer_ns);
  }
  write_line("start %d handle=%d parent=%d context=%d%s", type, number_of(*handle),
             number_of(event->parent), context == &context_of_profiler, more.c_str());
  return 0;
}

Result stop(void* handle) {
  write_line("stop handle=%d", number_of(handle));
  return 0;
}

Result record_state(void* handle, int state, StateArguments* arguments) {
  write_line("state %d handle=%d timer=%lu", state, number_of(handle),
             arguments == nullptr ? 0 : arguments->timer_ns);
  return 0;
}

Result profiler_finalize(void* /*context*/) {
  write_line("profiler.finalize");
  return 0;
}

Result tuner_init_v4(std::size_t ranks, std::size_t nodes, Logger, void** context) {
  return tuner_init(context, 4, 0, ranks, nodes);
}

template <int version>
Result tuner_init_v5(void** context, std::uint64_t id, std::size_t ranks, std::size_t nodes,
                     Logger log, NvlDomain*, TunerConstants*) {
  log(3, 1, __FILE__, __LINE__, "sample tuner, version %d", version);
  return tuner_init(context, version, id, ranks, nodes);
}

Result profiler_init_v4(void** context, int* mask, const char* name, std::uint64_t id, int nodes,
                        int ranks, int rank, Logger) {
  return profiler_init(context, 4, id, mask, name, nodes, ranks, rank);
}

template <int version>
Result profiler_init_v5(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                        int ranks, int rank, Logger) {
  return profiler_init(context, version, id, mask, name, nodes, ranks, rank);
}

}  // namespace

extern "C" {

#define SAMPLE_EXPORT __attribute__((visibility("default"))) extern const
SAMPLE_EXPORT TunerV4 ncclTunerPlugin_v4;
SAMPLE_EXPORT TunerV5 ncclTunerPlugin_v5;
SAMPLE_EXPORT TunerV6 ncclTunerPlugin_v6;
SAMPLE_EXPORT ProfilerV4 ncclProfiler_v4;
SAMPLE_EXPORT ProfilerV5 ncclProfiler_v5;
SAMPLE_EXPORT ProfilerV5 ncclProfiler_v6;

const TunerV4 ncclTunerPlugin_v4 = {"sample", tuner_init_v4, decide, tuner_finalize};
const TunerV5 ncclTunerPlugin_v5 = {"sample", tuner_init_v5<5>, decide, tuner_finalize};
const TunerV6 ncclTunerPlugin_v6 = {{"sample", tuner_init_v5<6>, decide, tuner_finalize}, nullptr};
const ProfilerV4 ncclProfiler_v4 = {"sample", profiler_init_v4, start<EventV4>,
                                    stop,     record_state,     profiler_finalize};
const ProfilerV5 ncclProfiler_v5 = {"sample", profiler_init_v5<5>, start<EventV5>,
                                    stop,     record_state,        profiler_finalize};
const ProfilerV5 ncclProfiler_v6 = {"sample", profiler_init_v5<6>, start<EventV5>,
                                    stop,     record_state,        profiler_finalize};
}
