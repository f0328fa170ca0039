#pragma once

// The profiler that NCCL has opened last in this thread and whose tuner it opens next. Each thread
// has its own.

namespace hocket::nccl::abi {

struct PendingProfiler {
  const void* plugin = nullptr;
  void* context = nullptr;
};

inline thread_local constinit PendingProfiler pending_profiler;

/// Returns the context of the profiler that this plugin has opened last in this thread, once.
inline void* take_pending_profiler(const void* plugin) {
  void* context = pending_profiler.plugin == plugin ? pending_profiler.context : nullptr;
  pending_profiler = {};
  return context;
}

}  // namespace hocket::nccl::abi
