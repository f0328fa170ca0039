#include "core/dependency_graph.h"

#include <algorithm>

namespace hocket {
namespace {

/// An entry of `pool` to use: the head of its free list, or a new one.
template <class T>
std::uint32_t allocate(std::vector<T>& pool, std::uint32_t& free_head, std::uint32_t none) {
  if (free_head == none) {
    pool.emplace_back();
    return static_cast<std::uint32_t>(pool.size() - 1);
  }
  const std::uint32_t index = free_head;
  free_head = pool[index].next;
  return index;
}

}  // namespace

DataId DependencyGraph::add_data() {
  data_.emplace_back();
  return DataId{static_cast<std::uint32_t>(data_.size() - 1)};
}

TaskId DependencyGraph::new_task() {
  ++live_;
  if (free_node_ == kNone) {
    nodes_.emplace_back();
    return id_of(static_cast<std::uint32_t>(nodes_.size() - 1));
  }
  const std::uint32_t slot = free_node_;
  Node& node = nodes_[slot];
  free_node_ = node.next_free;
  node.waiting_for = 0;
  node.first_edge = kNone;
  return id_of(slot);
}

void DependencyGraph::add_edge(TaskId from, TaskId to) {
  if (from == to || !is_live(from)) return;
  const std::uint32_t edge = allocate(edges_, free_edge_, kNone);
  Node& node = nodes_[from.slot];
  edges_[edge] = {to.slot, kNone};
  (node.first_edge == kNone ? node.first_edge : edges_[node.last_edge].next) = edge;
  node.last_edge = edge;
  ++nodes_[to.slot].waiting_for;
}

void DependencyGraph::drop_finished_readers(Data& data) {
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

void DependencyGraph::add_reader(Data& data, TaskId task) {
  // Data that is read for ever and never written must not collect its finished readers; doubling
  // the threshold keeps this at constant cost a read.
  if (data.readers >= data.prune_at) drop_finished_readers(data);
  const std::uint32_t index = allocate(readers_, free_reader_, kNone);
  readers_[index] = {task, data.first_reader};
  data.first_reader = index;
  ++data.readers;
}

DependencyGraph::Added DependencyGraph::add(std::span<const Access> accesses) {
  const TaskId task = new_task();
  for (const Access& access : accesses) {
    HOCKET_CHECK(access.data.index < data_.size(), "a task accesses data that was never added");
    Data& data = data_[access.data.index];
    if (access.mode == AccessMode::read) {
      add_edge(data.last_writer, task);
      add_reader(data, task);
      continue;
    }
    // Readers wait for the last writer themselves, so an edge from it is needed only without them.
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
  return {task, nodes_[task.slot].waiting_for == 0};
}

}  // namespace hocket
