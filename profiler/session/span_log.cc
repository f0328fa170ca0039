#include "profiler/session/span_log.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kMaxChunk = 1024;
/// Number of chunks in a pool; small pools have small chunks, since each lane takes one.
constexpr std::size_t kChunks = 64;
/// Typical number of accesses of a task.
constexpr std::size_t kAccessesEach = 4;

}  // namespace

EventPool::EventPool(std::size_t capacity)
    : chunk_size_(std::clamp<std::size_t>(capacity / kChunks, 1, kMaxChunk)),
      events_(capacity),
      used_((capacity + chunk_size_ - 1) / chunk_size_) {}

bool EventPool::append(Cursor& cursor, const TraceEvent& event) {
  if (cursor.used == cursor.size) {
    const std::size_t chunk = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= used_.size()) {
      next_chunk_.store(used_.size(), std::memory_order_relaxed);
      return false;
    }
    cursor = {chunk, 0, std::min(chunk_size_, events_.capacity() - chunk * chunk_size_)};
  }
  events_.put(cursor.chunk * chunk_size_ + cursor.used, event);
  used_[cursor.chunk] = ++cursor.used;
  return true;
}

std::vector<const TraceEvent*> EventPool::events() const {
  std::vector<const TraceEvent*> all;
  for (std::size_t chunk = 0; chunk < used_.size(); ++chunk) {
    for (std::size_t i = 0; i < used_[chunk]; ++i) all.push_back(&events_[chunk * chunk_size_ + i]);
  }
  return all;
}

SpanLog::SpanLog(const ProfileSpan& span, std::size_t capacity)
    : steps(span),
      first_step(span.first_step),
      starts_ns(static_cast<std::size_t>(steps.done_at() - first_step + 1)),
      events(capacity),
      submissions(capacity),
      readiness(capacity),
      accesses(kAccessesEach * capacity) {
  for (auto& start_ns : starts_ns) start_ns.store(kNeverNs, std::memory_order_relaxed);
  const auto most_blocks = static_cast<std::size_t>(steps.blocks());
  blocks.reserve(most_blocks);
  clock_samples.reserve(2 * most_blocks + 4);
}

}  // namespace hocket
