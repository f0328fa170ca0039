#pragma once

// The buffers that CUPTI fills: a fixed number of a fixed size, made once, which is the cap.
// CUPTI's thread only queues a full one; a worker takes it, reads it and gives it back.
// Thread-safe.
//
// 1. A buffer is in one of four states: free → held by CUPTI → full, in the queue → being read →
//    free. No other change of state happens.
// 2. Free buffers are zero.
// 3. The memory lives as long as CUPTI holds any of it: a pool that ends before leaves it behind.
// 4. No lock is held while something outside of the pool is called.

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

/// A full buffer, for whoever reads it.
struct FilledBuffer {
  std::size_t index = 0;
  std::span<const std::uint8_t> records;
};

struct BufferPoolCounts {
  std::int64_t requests = 0;   ///< granted ones
  std::int64_t refused = 0;    ///< requests at the cap
  std::int64_t completed = 0;  ///< buffers that came back
  std::int64_t strays = 0;     ///< completions within its memory of what CUPTI did not hold
  std::int64_t cut = 0;        ///< completions that claim more bytes than the buffer has

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

  /// The buffer that has been full for longest; waits for one up to `timeout_ns` (negative: without
  /// end). None at the time limit, and when the pool is closed and none is left.
  std::optional<FilledBuffer> take(std::int64_t timeout_ns = -1);
  /// What take() gave has been read.
  void give_back(const FilledBuffer& buffer);

  /// From here on requests are refused and take() does not wait; buffers may still come back.
  void close();
  bool is_closed() const;
  /// Waits until no buffer is full or being read.
  void wait_until_read();

  BufferPoolCounts counts() const;

 private:
  enum class State : std::uint8_t { free, held, full, reading };

  std::uint8_t* memory_of(std::size_t index) const { return memory_ + index * buffer_bytes_; }

  const std::size_t buffer_bytes_;
  std::uint8_t* const memory_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Under mutex_:
  std::vector<State> states_;
  std::vector<std::size_t> free_;
  std::deque<FilledBuffer> full_;
  std::size_t held_ = 0, reading_ = 0;
  bool is_closed_ = false;
  BufferPoolCounts counts_;
};

}  // namespace hocket
