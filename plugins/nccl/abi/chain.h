#pragma once

// The tuner and the profiler that NCCL would have used without this one. They are called, too, each
// in the version of the interface that it has. Loading is for one thread at a time; the rest is as
// thread-safe as the plugin. A library that has been chained is never closed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/nccl/interface/nccl_interface.h"

namespace hocket::nccl::abi {

/// Reads a variable like getenv().
using Environment = const char* (*)(const char* name);

enum class PluginKind { tuner, profiler };

/// Returns what to dlopen(), in this order, as NCCL would. HOCKET_NCCL_TUNER_CHAIN or
/// HOCKET_NCCL_PROFILER_CHAIN names the plugin like NCCL's own variable would; if it is empty or
/// "none" there is no chain. Without it the plugin is the one that NCCL takes when its variable is
/// not set: libnccl-KIND.so, or the library of the net plugin.
std::vector<std::string> chain_candidates(PluginKind kind, Environment environment);

struct TunerOpening {
  /// Version of the interface that NCCL speaks.
  int version = 5;
  std::uint64_t comm_id = 0;  // 0: not known
  std::size_t ranks = 0, nodes = 0;
  Logger logger = nullptr;
  /// Null in version 4, which has neither.
  NvLinkInfo* nv_link = nullptr;
  TunerConstants* constants = nullptr;
};

class ChainedTuner {
 public:
  /// Loads the first candidate with a tuner that is not hocket's. The newest version of its tables
  /// is taken; if NCCL speaks version 4, that one first, since newer ones get what 4 does not have.
  /// Says in the log what was found.
  static ChainedTuner load(Environment environment, int version, Logger logger);

  explicit operator bool() const { return version_ != 0; }
  int version() const { return version_; }
  const char* name() const;

  /// Return the plugin's result.
  int init(const TunerOpening& opening, void** context) const;
  GetCollInfo get_coll_info() const;
  int finalize(void* context) const;

 private:
  int version_ = 0;
  const void* table_ = nullptr;
};

struct ProfilerOpening {
  int version = 5;
  std::uint64_t comm_id = 0;
  int* event_mask = nullptr;
  const char* comm_name = nullptr;
  int nodes = 0, ranks = 0, rank = 0;
  Logger logger = nullptr;
};

/// Returns whether NCCL reports events of this type to a profiler that has set this mask. NCCL also
/// reports the events to which the wanted ones belong.
bool is_reported(int event_mask, std::uint64_t type);

/// Speaks version 6, whose form is that of 5, to the inside whatever the plugin has.
class ChainedProfiler {
 public:
  static ChainedProfiler load(Environment environment, int version, Logger logger);

  explicit operator bool() const { return version_ != 0; }
  int version() const { return version_; }
  const char* name() const;

  int init(const ProfilerOpening& opening, void** context) const;
  /// Returns the plugin's handle; null if it failed or does not know events of this type.
  void* start_event(void* context, const EventDescriptorV5& descriptor) const;
  void stop_event(void* handle) const;
  void record_event_state(void* handle, int state, EventStateArguments* arguments) const;
  int finalize(void* context) const;

 private:
  int version_ = 0;
  const void* table_ = nullptr;
};

/// Convert an event between versions. In version 4 the parent of a collective and of a
/// point-to-point operation is its group, in version 5 that is a field of its own and the parent is
/// the call of the API, which version 4 does not have. Requires a type below 256 for version 4.
EventDescriptorV5 to_v5(const EventDescriptorV4& descriptor);
EventDescriptorV4 to_v4(const EventDescriptorV5& descriptor);

}  // namespace hocket::nccl::abi
