#pragma once

// A pool of the buffers that CUPTI fills. Their number and size are fixed at construction, which
// bounds memory. CUPTI's thread only queues a full buffer; a worker takes it, reads it and gives it
// back. Thread-safe.
//
// 1. A buffer is in one of four states: free → held by CUPTI → full, in the queue → being read →
//    free. No other change of state happens.
// 2. Free buffers are zero.
// 3. The memory lives as long as CUPTI holds any of it: a pool destroyed earlier leaks it.
// 4. No lock is held during calls to code outside the pool.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "profiler/cupti/cupti_api.h"

namespace hocket {

struct BufferPoolOptions {
  std::size_t buffers = 16;            ///< at least 1
  std::size_t buffer_bytes = 4 << 20;  ///< rounded up to a multiple of 8; at least 1024
};

/// A full buffer, to be read.
struct FilledBuffer {
  std::size_t index = 0;
  std::span<const std::uint8_t> records;
};

struct BufferPoolCounts {
  std::int64_t requests = 0;   ///< granted requests
  std::int64_t refused = 0;    ///< requests refused because no buffer was free
  std::int64_t completed = 0;  ///< buffers that CUPTI completed
  /// Completions inside the pool's memory of buffers that CUPTI did not hold.
  std::int64_t strays = 0;
  std::int64_t cut = 0;  ///< completions that claim more bytes than the buffer has

  bool operator==(const BufferPoolCounts&) const = default;
};

class BufferPool final : public ActivityBuffers {
 public:
  explicit BufferPool(BufferPoolOptions options);
  ~BufferPool() override;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  std::span<std::uint8_t> request() override;
  bool complete(std::uint8_t* buffer, std::size_t valid_bytes) override;
  std::size_t held() const override;

  /// Returns the buffer that has been full for longest; waits up to `timeout_ns` for one (negative:
  /// without limit). Returns nothing at the time limit, or if the pool is closed and no full buffer
  /// is left.
  std::optional<FilledBuffer> take(std::int64_t timeout_ns = -1);
  /// Returns a buffer from take() to the pool after it has been read.
  void give_back(const FilledBuffer& buffer);

  /// Refuses requests from now on and makes take() return without waiting; buffers may still be
  /// completed.
  void close();
  bool is_closed() const;
  /// Blocks until no buffer is full or being read.
  void wait_until_read();

  BufferPoolCounts counts() const;

 private:
  enum class State : std::uint8_t { free, held, full, reading };

  std::uint8_t* memory_of(std::size_t index) const { return memory_ + index * buffer_bytes_; }

  const std::size_t buffer_bytes_;
  std::uint8_t* const memory_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::vector<State> states_;
  std::vector<std::size_t> free_;
  std::deque<FilledBuffer> full_;
  std::size_t held_ = 0, reading_ = 0;
  bool is_closed_ = false;
  BufferPoolCounts counts_;
};

}  // namespace hocket
