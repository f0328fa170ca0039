#pragma once

// A tuner and a profiler plugin of one process, opened and closed as NCCL 2.28.9 does, behind calls
// that are the same for each version of the interface. One thread opens and closes; the profiler's
// events may be reported by any thread.

#include <cstdint>
#include <string>

#include "tests/plugins/nccl/host/nccl_plugin_calls.h"
#include "tests/plugins/nccl/host/shared/run_record.h"

namespace hocket::nccl_host {

/// Opens the library that the value of NCCL_TUNER_PLUGIN or NCCL_PROFILER_PLUGIN names; `kind` is
/// "tuner" or "profiler". Returns null where NCCL goes on without a plugin. Why it did not open is
/// printed to stderr if `value` is not empty.
void* open_plugin(const std::string& kind, const std::string& value);

/// Prints lines of the plugin to stderr if NCCL_HOST_LOG is set.
void log_line(int level, unsigned long subsystem, const char* file, int line, const char* format,
              ...) __attribute__((format(printf, 5, 6)));

class LoadedTuner {
 public:
  LoadedTuner(std::string value, int newest_version);

  /// Called for each communicator. Returns whether there is a tuner; sets `opened` if this call
  /// opened it.
  bool acquire(bool& opened);
  /// NCCL 2.28.9 gives back only what the communicator that opened the library took: with two
  /// communicators the library stays open.
  void release(bool opened);

  int version() const { return version_; }
  Result init(void** context, std::uint64_t comm_id, int ranks, int nodes) const;
  Result get_coll_info(void* context, int function, std::uint64_t bytes, int pipe_ops,
                       CostTable table, bool registered, int* channels) const;
  Result finalize(void* context) const;

 private:
  bool find_symbols();

  std::string value_;
  int newest_version_, version_ = 0, users_ = 0;
  bool failed_ = false;
  void* library_ = nullptr;
  const TunerV4* v4_ = nullptr;
  const TunerV5* v5_ = nullptr;
};

/// Durations of calls are added to the record.
class LoadedProfiler {
 public:
  LoadedProfiler(std::string value, int newest_version, RankRecord& record);

  bool acquire();
  void release();

  int version() const { return version_; }
  /// Returns the mask as it is now. The plugin may change it at any time.
  int mask() const { return __atomic_load_n(&mask_, __ATOMIC_RELAXED); }
  bool is_loaded() const { return version_ != 0; }

  Result init(void** context, std::uint64_t comm_id, const char* name, int nodes, int ranks,
              int rank);
  void start(void* context, void** handle, EventV5& event);
  void stop(void* handle);
  /// `arguments` is null for states of the group's call.
  void record_state(void* handle, int state, StateArguments* arguments);
  Result finalize(void* context);

 private:
  template <class Call>
  void timed(Call call);
  void start_v4(void* context, void** handle, EventV5& event);

  std::string value_;
  int newest_version_, version_ = 0, users_ = 0;
  bool failed_ = false, v4_is_ready_ = false;
  void* library_ = nullptr;
  const ProfilerV4* v4_ = nullptr;
  const ProfilerV5* v5_ = nullptr;
  int mask_ = 0;
  RankRecord& record_;
  std::int64_t clock_overhead_ns_;
};

}  // namespace hocket::nccl_host
