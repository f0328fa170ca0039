#pragma once

// Puts emulated kernels into the streams of devices that are models.

#include <functional>
#include <mutex>
#include <utility>

#include "tests/core/cuda/model_device.h"
#include "tests/examples/gpt2/cuda/emulated_device.h"

namespace hocket {

/// What the emulated kernels go to: the device of the thread that launches them. They run one at a
/// time, whatever the device.
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
