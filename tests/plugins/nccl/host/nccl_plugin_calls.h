#pragma once

// The calls that NCCL makes into tuner and profiler plugins, as far as the host makes them. Written
// independently of the plugin's own declarations, so that a plugin which passes the host's tests
// has both agree. Sizes and offsets are those of a 64-bit Linux. Any thread.

#include <cstddef>
#include <cstdint>

namespace hocket::nccl_host {

/// ncclResult_t: 0 is success.
using Result = int;
using Logger = void (*)(int level, unsigned long subsystem, const char* file, int line,
                        const char* format, ...);

inline constexpr int kAlgorithms = 7, kProtocols = 3, kFunctions = 5;
enum Function { kBroadcast = 0, kReduce, kAllGather, kReduceScatter, kAllReduce };
enum Algorithm { kTree = 0, kRing, kCollNetDirect, kCollNetChain, kNvls, kNvlsTree, kPat };
enum Protocol { kLl = 0, kLl128, kSimple };

/// Table of predicted microseconds: -1 means not allowed.
using CostTable = float[kAlgorithms][kProtocols];

using GetCollInfo = Result (*)(void* context, int function, std::size_t bytes, int pipe_ops,
                               float** table, int algorithms, int protocols, int registered,
                               int* channels);

struct TunerV4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger, void** context);
  GetCollInfo get_coll_info;
  Result (*destroy)(void* context);
};

struct NvlDomain {
  int domains, min_ranks, max_ranks;
};

struct TunerConstants {
  std::byte doubles[1152];
};

struct TunerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm_id, std::size_t ranks, std::size_t nodes,
                 Logger, NvlDomain*, TunerConstants*);
  GetCollInfo get_coll_info;
  Result (*finalize)(void* context);
};

struct TunerV6 {
  TunerV5 base;
  Result (*get_chunk_size)(void* context, int function, std::size_t bytes, int algorithm,
                           int protocol, int channels, std::size_t* chunk_bytes);  ///< may be null
};

/// Bits of the event mask, which are also the types of events.
enum EventType : std::uint64_t {
  kGroup = 1,
  kCollective = 2,
  kPointToPoint = 4,
  kProxyOp = 8,
  kProxyStep = 16,
  kKernelChannel = 64,
  kNetPlugin = 128,
  kGroupApi = 256,
  kCollectiveApi = 512,
  kPointToPointApi = 1024,
  kKernelLaunch = 2048,
};

enum EventState { kKernelChannelStop = 22, kGroupStartApiStop = 23, kGroupEndApiStart = 24 };

struct GroupApiEvent {
  bool captured;
  int depth;
};
struct CollectiveApiEvent {
  const char* function;
  std::size_t count;
  const char* datatype;
  int root;
  void* stream;
  bool captured;
};
struct CollectiveEvent {
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
  void* parent_group;
};
struct KernelChannelEvent {
  std::uint8_t channel;
  std::uint64_t timer_ns;  ///< the GPU's global timer
};
struct KernelLaunchEvent {
  void* stream;
};

struct EventV5 {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    GroupApiEvent group_api;
    CollectiveApiEvent collective_api;
    CollectiveEvent collective;
    KernelChannelEvent kernel_channel;
    KernelLaunchEvent kernel_launch;
  };
};

/// Version 4's collective ends without `parent_group`, and the type is one byte.
struct CollectiveEventV4 {
  std::uint64_t sequence;
  const char* function;
  const void* send;
  void* receive;
  std::size_t count;
  int root;
  const char* datatype;
  std::uint8_t channels, warps;
  const char *algorithm, *protocol;
};
struct EventV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveEventV4 collective;
    KernelChannelEvent kernel_channel;
  };
};

struct StateArguments {
  std::uint64_t timer_ns;
};

struct ProfilerV4 {
  const char* name;
  Result (*init)(void** context, int* mask, const char* comm_name, std::uint64_t comm_id, int nodes,
                 int ranks, int rank, Logger);
  Result (*start_event)(void* context, void** handle, EventV4*);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, StateArguments*);
  Result (*finalize)(void* context);
};

struct ProfilerV5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t comm_id, int* mask, const char* comm_name, int nodes,
                 int ranks, int rank, Logger);
  Result (*start_event)(void* context, void** handle, EventV5*);
  Result (*stop_event)(void* handle);
  Result (*record_event_state)(void* handle, int state, StateArguments*);
  Result (*finalize)(void* context);
};

static_assert(sizeof(CostTable) == 84);
static_assert(sizeof(TunerV4) == 32 && sizeof(TunerV5) == 32 && sizeof(TunerV6) == 40);
static_assert(offsetof(TunerV6, get_chunk_size) == 32);
static_assert(sizeof(NvlDomain) == 12 && sizeof(TunerConstants) == 1152);
static_assert(sizeof(ProfilerV4) == 48 && sizeof(ProfilerV5) == 48);
static_assert(sizeof(EventV5) == 112 && sizeof(EventV4) == 104);
static_assert(offsetof(EventV5, parent) == 8 && offsetof(EventV5, rank) == 16);
static_assert(offsetof(EventV5, collective) == 24 && offsetof(EventV4, collective) == 24);
static_assert(offsetof(EventV4, parent) == 8 && offsetof(EventV4, rank) == 16);
static_assert(offsetof(EventV5, collective.function) == 32);
static_assert(offsetof(EventV5, collective.send) == 40);
static_assert(offsetof(EventV5, collective.receive) == 48);
static_assert(offsetof(EventV5, collective.count) == 56);
static_assert(offsetof(EventV5, collective.root) == 64);
static_assert(offsetof(EventV5, collective.datatype) == 72);
static_assert(offsetof(EventV5, collective.channels) == 80);
static_assert(offsetof(EventV5, collective.warps) == 81);
static_assert(offsetof(EventV5, collective.algorithm) == 88);
static_assert(offsetof(EventV5, collective.protocol) == 96);
static_assert(offsetof(EventV5, collective.parent_group) == 104);
static_assert(offsetof(EventV4, collective.protocol) == 96);
static_assert(offsetof(EventV5, kernel_channel.channel) == 24);
static_assert(offsetof(EventV5, kernel_channel.timer_ns) == 32);
static_assert(offsetof(EventV4, kernel_channel.timer_ns) == 32);

/// Names as NCCL passes them to profilers.
const char* function_name(int function);
const char* algorithm_name(int algorithm);
const char* protocol_name(int protocol);

}  // namespace hocket::nccl_host
