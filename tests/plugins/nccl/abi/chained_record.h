#pragma once

// The record of a plugin that is chained in tests: its calls and its answers, in memory that the
// test and the plugin's library share: the library exports `chained_record`. One thread at a time.

#include <cstdint>

namespace hocket::nccl {

/// An event that the chained profiler has started. Its address is the event's handle.
struct ChainedEvent {
  std::uint64_t type = 0;
  void* parent = nullptr;
  void* parent_group = nullptr;  // of collectives in version 5
  void* context = nullptr;
  int stopped = 0;
  int states = 0;
  int last_state = -1;
  std::uint64_t last_argument = 0;
  int channels = 0;
};

struct ChainedRecord {
  // The plugin's answers.
  int init_result = 0;
  int info_result = 0;
  int cheap_algorithm = -1, cheap_protocol = -1;  // set to 0 in the table
  bool overwrites_everything = false;
  int channels = -1;
  int event_mask = 0;
  std::uint64_t forced_handle = 0;

  // The plugin's calls.
  int tuner_version = 0, profiler_version = 0;  // of the last init
  int tuner_inits = 0, tuner_calls = 0, tuner_finalizes = 0;
  int profiler_inits = 0, profiler_finalizes = 0;
  std::uint64_t comm_id = 0;
  std::uint64_t ranks = 0, nodes = 0;
  void* nv_link = nullptr;
  void* constants = nullptr;
  int rank = -1;
  int* mask = nullptr;
  void* tuner_context = nullptr;  // of the last call
  void* finalized_tuner = nullptr;
  void* finalized_profiler = nullptr;
  int function = -1, operations = -1, registered = -1;
  std::uint64_t bytes = 0;

  int started = 0;
  ChainedEvent events[256];
};

}  // namespace hocket::nccl
