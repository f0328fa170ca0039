#pragma once

// The plugin behind the tables of all versions: joins NCCL's tuner and profiler of a communicator,
// calls the chained plugins, and passes the rest to the communicator and its meter. Nothing here
// fails: NCCL would end a collective. Every pointer that NCCL passes may be null, and every context
// and handle stale.
//
// NCCL opens the profiler of a communicator before its tuner, in the same thread. That is how the
// tuner learns the rank.
//
// Opening and closing: any thread, for one communicator one after the other. collective_info(): one
// thread at a time for a communicator. Events: any thread. Neither takes a lock, allocates or
// waits; chained plugins and decide() do what they do.

#include <atomic>
#include <mutex>
#include <optional>

#include "plugins/nccl/abi/chain.h"
#include "plugins/nccl/abi/communicators.h"
#include "plugins/nccl/abi/plugin_calls.h"
#include "plugins/nccl/measure/collective_meter.h"
#include "plugins/nccl/measure/event_mask.h"

namespace hocket::nccl::abi {

class Plugin {
 public:
  /// `environment` is asked for the chain at the first opening.
  explicit Plugin(Environment environment) : environment_(environment) {}

  /// Returns the context for NCCL; null if too many communicators are open.
  void* open_tuner(const TunerOpening& opening);
  void collective_info(void* context, const CollectiveCall& call, const CostTable& table,
                       int* channels);
  void close_tuner(void* context);
  /// Returns for how many communicators NCCL has opened the tuner so far.
  int opened_tuners() const { return opened_.load(std::memory_order_relaxed); }

  void* open_profiler(const ProfilerOpening& opening);
  /// Returns the handle for NCCL; null for events that nobody wants.
  void* start_event(void* context, const EventDescriptorV5& descriptor);
  void stop_event(void* handle);
  void record_event_state(void* handle, int state, EventStateArguments* arguments);
  void close_profiler(void* context);

 private:
  Communicator* joined_profiler(const TunerOpening& opening, void*& context);
  void call_chained_tuner(const Communicator& communicator, const CollectiveCall& call,
                          const CostTable& table, int* channels);
  void close(void* context, Communicator& communicator);

  /// Calls the chained profiler if it wants such events and has opened the communicator. Returns
  /// its handle or null.
  void* start_chained(void* context, const EventDescriptorV5& descriptor, void* parent);
  void* start_collective(void* context, const EventDescriptorV5& descriptor);
  void* start_channel(void* context, const EventDescriptorV5& descriptor);
  void* start_other(void* context, const EventDescriptorV5& descriptor);
  /// Returns a handle of the chained profiler that NCCL is to keep instead of one of ours.
  void* passed_on(void* chained_handle);

  Environment environment_;
  measure::EventMask mask_;
  measure::MeterPool meters_{mask_};
  Communicators communicators_;

  std::mutex chain_mutex_;  // guards the loading of the chained plugin
  std::optional<ChainedTuner> tuner_storage_;
  std::optional<ChainedProfiler> profiler_storage_;
  // Null until there is one; then it stays.
  std::atomic<const ChainedTuner*> chained_tuner_{nullptr};
  std::atomic<const ChainedProfiler*> chained_profiler_{nullptr};
  std::atomic<bool> has_warned_of_tuner_{false};
  std::atomic<int> opened_{0};
};

/// The plugin of this process, which the tables call. It is never destroyed.
Plugin& process_plugin();

}  // namespace hocket::nccl::abi
