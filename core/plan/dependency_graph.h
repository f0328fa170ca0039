#pragma once

// Derives dependencies between tasks from their accesses, in order of submission: a read waits for
// the last write (read after write); a write waits for the reads since then (write after read), or
// for the last write if there are none (write after write). Pure; not thread-safe.
//
// Invariants:
//  1. a task is live from add() to finish(); a TaskId whose generation differs from its slot's is
//     finished;
//  2. waiting_for of a live task is the number of edges into it whose source is live;
//  3. all unfinished readers of a data item since its last write are in that item's reader list.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.h"
#include "core/step/task.h"

namespace hocket {

/// `Fields` is the user's data for each task, stored in the task's cache line.
template <class Fields>
class DependencyGraph {
 public:
  DataId add_data() {
    data_.emplace_back();
    return DataId{static_cast<std::uint32_t>(data_.size() - 1)};
  }
  std::size_t data_size() const { return data_.size(); }

  struct Added {
    TaskId task;
    /// True when the task waits for nothing.
    bool ready = false;
  };
  Added add(std::span<const Access> accesses) {
    const TaskId task = new_task();
    for (const Access& access : accesses) {
      HOCKET_CHECK(access.data.index < data_.size(), "a task accesses data that was never added");
      Data& data = data_[access.data.index];
      access.mode == AccessMode::read ? add_read(data, task) : add_write(data, task);
    }
    return {task, nodes_[task.slot].waiting_for == 0};
  }

  /// Prefetches the memory that finish() will touch. The tasks' memory is scattered, so this waits
  /// for it once rather than once per task.
  [[gnu::always_inline]] void prefetch(std::span<const TaskId> tasks) const {
    for (const TaskId& task : tasks) __builtin_prefetch(&nodes_[task.slot]);
    for (const TaskId& task : tasks) {
      const std::uint32_t edge = nodes_[task.slot].first_edge;
      if (edge != kNone) __builtin_prefetch(&edges_[edge]);
    }
    for (const TaskId& task : tasks) {
      const std::uint32_t edge = nodes_[task.slot].first_edge;
      if (edge != kNone) __builtin_prefetch(&nodes_[edges_[edge].successor]);
    }
  }

  /// Finishes `task`, which must be live and ready, and calls `on_ready(slot)` for each task that
  /// becomes ready, in order of submission.
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
    node.last_edge_or_next_free = free_node_;
    free_node_ = task.slot;
    --live_;
  }

  /// Calls `visit(slot)` for each edge out of the live task in `slot`.
  template <class Visit>
  void for_each_successor(std::uint32_t slot, Visit&& visit) const {
    for (std::uint32_t edge = nodes_[slot].first_edge; edge != kNone; edge = edges_[edge].next)
      visit(edges_[edge].successor);
  }

  bool is_live(TaskId task) const {
    return task.slot < nodes_.size() && nodes_[task.slot].generation == task.generation;
  }
  TaskId id_of(std::uint32_t slot) const { return {slot, nodes_[slot].generation}; }
  Fields& fields(std::uint32_t slot) { return nodes_[slot].fields; }
  const Fields& fields(std::uint32_t slot) const { return nodes_[slot].fields; }
  /// Returns the number of unfinished tasks.
  std::size_t live() const { return live_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct alignas(16) Node {
    std::uint32_t generation = 0;
    std::uint32_t waiting_for = 0;
    std::uint32_t first_edge = kNone;
    /// Last edge of a live task; next free slot of a free one.
    std::uint32_t last_edge_or_next_free = kNone;
    Fields fields;
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

  /// Returns an entry of `pool`: the head of its free list, or a new one.
  template <class T>
  static std::uint32_t allocate(std::vector<T>& pool, std::uint32_t& free_head) {
    if (free_head == kNone) {
      pool.emplace_back();
      return static_cast<std::uint32_t>(pool.size() - 1);
    }
    const std::uint32_t index = free_head;
    free_head = pool[index].next;
    return index;
  }

  TaskId new_task() {
    ++live_;
    if (free_node_ == kNone) {
      nodes_.emplace_back();
      return id_of(static_cast<std::uint32_t>(nodes_.size() - 1));
    }
    const std::uint32_t slot = free_node_;
    Node& node = nodes_[slot];
    free_node_ = node.last_edge_or_next_free;
    node.waiting_for = 0;
    node.first_edge = kNone;
    return id_of(slot);
  }

  void add_edge(TaskId from, TaskId to) {
    if (from == to || !is_live(from)) return;
    const std::uint32_t edge = allocate(edges_, free_edge_);
    Node& node = nodes_[from.slot];
    edges_[edge] = {to.slot, kNone};
    (node.first_edge == kNone ? node.first_edge : edges_[node.last_edge_or_next_free].next) = edge;
    node.last_edge_or_next_free = edge;
    ++nodes_[to.slot].waiting_for;
  }

  void add_read(Data& data, TaskId task) {
    add_edge(data.last_writer, task);
    // Data that is read forever and never written must not accumulate finished readers; doubling
    // the threshold keeps the cost per read constant.
    if (data.readers >= data.prune_at) drop_finished_readers(data);
    const std::uint32_t index = allocate(readers_, free_reader_);
    readers_[index] = {task, data.first_reader};
    data.first_reader = index;
    ++data.readers;
  }

  void add_write(Data& data, TaskId task) {
    // Readers wait for the last writer themselves, so this edge is needed only when there are none.
    if (data.first_reader == kNone) add_edge(data.last_writer, task);
    for (std::uint32_t r = data.first_reader; r != kNone;) {
      const std::uint32_t next = readers_[r].next;
      add_edge(readers_[r].task, task);
      readers_[r].next = free_reader_;
      free_reader_ = r;
      r = next;
    }
    data.first_reader = kNone;
    data.readers = 0;
    data.last_writer = task;
  }

  void drop_finished_readers(Data& data) {
    std::uint32_t* link = &data.first_reader;
    while (*link != kNone) {
      Reader& reader = readers_[*link];
      if (is_live(reader.task)) {
        link = &reader.next;
        continue;
      }
      const std::uint32_t dropped = *link;
      *link = reader.next;
      readers_[dropped].next = free_reader_;
      free_reader_ = dropped;
      --data.readers;
    }
    data.prune_at = std::max(8u, 2 * data.readers);
  }

  std::vector<Data> data_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<Reader> readers_;
  std::uint32_t free_node_ = kNone, free_edge_ = kNone, free_reader_ = kNone;
  std::size_t live_ = 0;
};

}  // namespace hocket
