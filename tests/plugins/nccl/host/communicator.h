#pragma once

// One rank's communicator: its place in NCCL's calls of init, getCollInfo and finalize. For the
// rank's main thread.

#include <array>
#include <atomic>
#include <cstdint>

#include "tests/plugins/nccl/host/loaded_plugin.h"
#include "tests/plugins/nccl/host/options.h"
#include "tests/plugins/nccl/host/shared/process_group.h"

namespace hocket::nccl_host {

/// The context that all parts of one rank use.
struct RankContext {
  const Options& options;
  const CostModel& model;
  int rank;
  bool has_plugin;
  LoadedTuner& tuner;
  LoadedProfiler& profiler;
  RunState& run;
  RankRecord& record;
  ViolationLog& violations;
  double* iteration_us;       ///< modelled durations of iterations, written by rank 0
  double* iteration_real_us;  ///< durations by the clock, written by rank 0
};

/// Thrown in the main thread when the run is aborted since another rank died.
struct Aborted {};

class Communicator {
 public:
  /// Initializes the plugin in step with the other ranks. Throws Aborted.
  Communicator(RankContext& context, int index, const Membership& place, std::uint64_t id,
               ProcessGroup& group);
  /// Finalizes the plugin. The other ranks go on without this one.
  void destroy();

  /// Returns the choice for a collective, as NCCL makes it with the tuner's help.
  Choice decide(const Shape& shape, int pipe_ops);

  /// Returns the id of the next split's part `color`. Each split counts on all ranks.
  std::uint64_t split_id(int split_count, int color) const;
  int count_split() { return ++splits_; }

  int index() const { return index_; }
  int rank() const { return place_.rank; }
  int ranks() const { return place_.ranks; }
  int nodes() const { return place_.nodes; }
  std::uint64_t id() const { return id_; }
  ProcessGroup& group() { return group_; }
  void* profiler_context() const { return profiler_context_; }
  /// Returns the sequence number of the function's next collective for the profiler.
  std::atomic<std::uint64_t>& sequence(int function) { return sequences_[function]; }

 private:
  void synchronize();
  void inject_faults();
  void ask_tuner(const Shape& shape, int pipe_ops, CostTable table, int& channels);
  void report(Violation violation, const std::string& what);

  RankContext& context_;
  const int index_;
  const Membership place_;
  const std::uint64_t id_;
  ProcessGroup& group_;
  bool has_tuner_ = false, opened_tuner_ = false, has_profiler_ = false;
  void *tuner_context_ = nullptr, *profiler_context_ = nullptr;
  std::array<std::atomic<std::uint64_t>, kFunctions> sequences_ = {};
  int splits_ = 0;
};

}  // namespace hocket::nccl_host
