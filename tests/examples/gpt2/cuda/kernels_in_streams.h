#pragma once

// Puts emulated kernels into the streams of simulated devices. Any thread may launch them.

#include <mutex>
#include <utility>
#include <vector>

#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"

namespace hocket {

/// Directs emulated kernels to the device of the launching thread. They run one at a time on all
/// devices together.
class KernelsInStreams {
 public:
  KernelsInStreams() {
    emulated::set_put_work([this](DeviceStream stream, emulated::Work work) {
      ModelDevice::in_use().launch_recorded(stream, [this, work = std::move(work)] {
        std::lock_guard lock(mutex_);
        std::vector<Region> regions;
        for (const emulated::AccessedMemory& memory : work())
          regions.push_back({memory.begin, memory.bytes, memory.writes});
        return regions;
      });
    });
  }
  ~KernelsInStreams() { emulated::set_put_work(nullptr); }
  KernelsInStreams(const KernelsInStreams&) = delete;
  KernelsInStreams& operator=(const KernelsInStreams&) = delete;

 private:
  std::mutex mutex_;
};

}  // namespace hocket
