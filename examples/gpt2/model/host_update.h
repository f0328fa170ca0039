#pragma once

// AdamW on the host beside a device: updates float32 parameters and moments in the host's memory
// with several threads, at the memory's bandwidth where the caches are too small (ZeRO-Offload,
// USENIX ATC 2021, section 5.1). The bits are those of adamw_update in ops.h, whatever the number
// of threads.
//
// Any thread may call it; updates that come at the same time run one after the other.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "examples/gpt2/model/ops.h"

namespace hocket {

/// Returns the number of hardware threads that this process may use.
int usable_hardware_threads();

/// Memory of one update. A copy has as many elements as the parameters or none, and receives the
/// new parameters in the same pass.
struct AdamWMemory {
  ConstFloats gradients;
  Floats parameters, first_moment, second_moment;  ///< as many as gradients
  /// Rounded to nearest, ties to even; NaN is 0x7fff, as on a device.
  std::span<std::uint16_t> bfloat16_copy = {};
  Floats float32_copy = {};  ///< at most one of the copies
};

/// Instructions to use: the same bits, at other speeds.
enum class HostVectors {
  widest,    ///< widest for which there is code and which this processor has
  baseline,  ///< instructions that every processor of the architecture has
};

class HostUpdate {
 public:
  /// The calling thread of an update is one of the `threads`, at least 1; the others are started
  /// here and sleep between updates.
  explicit HostUpdate(int threads = usable_hardware_threads(),
                      HostVectors vectors = HostVectors::widest);
  ~HostUpdate();
  HostUpdate(const HostUpdate&) = delete;
  HostUpdate& operator=(const HostUpdate&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  /// Updates `memory` with gradient_scale·gradients. `update` counts from 1. The ranges follow one
  /// another and cover all elements.
  void update(const AdamW& options, std::int64_t update, double gradient_scale,
              std::span<const AdamWRange> ranges, const AdamWMemory& memory);

 private:
  class Work;

  void help();
  /// Lets up to `helpers` threads take part in `work`.
  void offer(Work& work, std::size_t helpers);
  /// Blocks until no helper takes part in the work offered, and none will.
  void withdraw();

  const HostVectors vectors_;
  std::mutex one_update_;

  std::mutex mutex_;
  // guarded by mutex_
  Work* work_ = nullptr;  ///< null: there is nothing to join
  std::size_t busy_helpers_ = 0;
  bool ending_ = false;

  std::condition_variable offered_, left_;
  std::vector<std::jthread> helpers_;
};

}  // namespace hocket
