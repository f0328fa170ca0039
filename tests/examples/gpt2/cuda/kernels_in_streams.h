#pragma once

// Puts emulated kernels into the streams of simulated devices. Any thread may launch them.

#include <functional>
#include <mutex>
#include <utility>

#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"

namespace hocket {

/// Directs emulated kernels to the device of the launching thread. They run one at a time on all
/// devices together.
class KernelsInStreams {
 public:
  KernelsInStreams() {
    emulated::set_put_work([this](DeviceStream stream, std::function<void()> work) {
      ModelDevice::in_use().launch(stream, {}, [this, work = std::move(work)] {
        std::lock_guard lock(mutex_);
        work();
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
