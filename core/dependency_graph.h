#pragma once

// Finds the order that tasks' accesses impose, in the order of submission: a read waits for the
// last write (read after write), a write for the reads since then (write after read) or else for
// the last write (write after write). Pure; not thread-safe.
//
// Invariants:
//  1. a task is live from add() to finish(); a TaskId whose generation is not its slot's is
//  finished;
//  2. waiting_for of a live task is the number of edges into it whose source is live;
//  3. all unfinished readers of a data item since its last write are in that item's reader list.

#include <cstdint>
#include <span>
#include <vector>

#include "core/check.h"
#include "core/task.h"

namespace hocket {

class DependencyGraph {
 public:
  DataId add_data();

  struct Added {
    TaskId task;
    bool ready = false;  ///< waits for nothing
  };
  Added add(std::span<const Access> accesses);

  /// Ends `task`, which must be live and ready, and calls `on_ready(slot)` for each task that this
  /// frees, in the order of submission.
  template <class OnReady>
  void finish(TaskId task, OnReady&& on_ready) {
    HOCKET_CHECK(is_live(task), "a task was finished twice or never submitted");
    Node& node = nodes_[task.slot];
    HOCKET_CHECK(node.waiting_for == 0, "a task was finished before what it depends on");
    for (std::uint32_t edge = node.first_edge; edge != kNone;) {
      const Edge e = edges_[edge];
      edges_[edge].next = free_edge_;
      free_edge_ = edge;
      edge = e.next;
      if (--nodes_[e.successor].waiting_for == 0) on_ready(e.successor);
    }
    ++node.generation;
    node.next_free = free_node_;
    free_node_ = task.slot;
    --live_;
  }

  bool is_live(TaskId task) const {
    return task.slot < nodes_.size() && nodes_[task.slot].generation == task.generation;
  }
  TaskId id_of(std::uint32_t slot) const { return {slot, nodes_[slot].generation}; }
  /// Unfinished tasks.
  std::size_t live() const { return live_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    std::uint32_t generation = 0;
    std::uint32_t waiting_for = 0;
    std::uint32_t first_edge = kNone, last_edge = kNone;
    std::uint32_t next_free = kNone;
  };
  struct Edge {
    std::uint32_t successor = 0;
    std::uint32_t next = kNone;
  };
  struct Reader {
    TaskId task;
    std::uint32_t next = kNone;
  };
  struct Data {
    TaskId last_writer{kNone, 0};
    std::uint32_t first_reader = kNone;
    std::uint32_t readers = 0;
    std::uint32_t prune_at = 8;
  };

  TaskId new_task();
  void add_edge(TaskId from, TaskId to);
  void add_reader(Data& data, TaskId task);
  void drop_finished_readers(Data& data);

  std::vector<Data> data_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Reader> readers_;
  std::uint32_t free_node_ = kNone, free_edge_ = kNone, free_reader_ = kNone;
  std::size_t live_ = 0;
};

}  // namespace hocket
