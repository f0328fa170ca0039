#pragma once

// The ranks' work: communicators, steps before the first iteration and steps of each iteration. A
// workload is text, one step a line:
//
//   comm NAME world | comm NAME split PARENT by N | comm NAME split PARENT mod N
//   setup | iteration           what follows belongs to it
//   compute MICROSECONDS
//   all-reduce COMM SIZE [DATATYPE], also all-gather, reduce-scatter, broadcast, reduce
//   wait COMM                   computation waits for the communicator's collectives
//   group … end | group … simulate
//   capture NAME … end-capture, replay NAME
//
// Communicator "world" always exists. A split by N has N neighbours in each part, one mod N each
// N-th rank. SIZE is the larger buffer of the collective ("4MiB", "512"), DATATYPE float32 or
// bfloat16. Pure; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/plugins/nccl/host/model/choice.h"

namespace hocket::nccl_host {

struct Datatype {
  const char* name = "ncclFloat32";
  int bytes = 4;
};

struct CommunicatorSpec {
  std::string name;
  int parent = -1;      ///< index of the communicator that it is split from; -1: none
  int by = 0, mod = 0;  ///< one of them is positive for a split
};

/// One rank's place in a communicator.
struct Membership {
  int part = 0;  ///< the split's color
  int rank = 0, ranks = 1, nodes = 1;
};

enum class StepKind {
  compute,
  collective,
  wait,
  group,
  group_end,
  simulate_end,
  capture,
  capture_end,
  replay
};

struct Step {
  StepKind kind = StepKind::compute;
  double compute_us = 0;
  int communicator = 0;
  int function = kAllReduce;
  std::uint64_t bytes = 0;
  Datatype datatype = {};
  int graph = 0;
};

struct Workload {
  std::vector<CommunicatorSpec> communicators;
  std::vector<Step> setup, iteration;
  int graphs = 0;
};

/// Throws std::invalid_argument, which names the line.
Workload parse_workload(const std::string& text);

/// Returns the text of a built-in workload for `ranks` ranks; empty for an unknown name. There are
/// ddp, fsdp, small, two-comms and edge, which has groups, graphs, simulations, zero counts and
/// communicators of one rank.
std::string built_in_workload(const std::string& name, int ranks);

/// Returns the ranks of the world in the part of communicator `index` to which `world_rank`
/// belongs. Their order is that of the communicator's ranks.
std::vector<int> members(const Workload& workload, int index, int world_rank, int world_ranks);

/// Returns the place of a rank of the world in communicator `index`. Ranks are spread over `nodes`
/// in blocks.
Membership membership(const Workload& workload, int index, int world_rank, int world_ranks,
                      int nodes);

}  // namespace hocket::nccl_host
