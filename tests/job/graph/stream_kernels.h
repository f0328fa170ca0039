#pragma once

// The kernels of the host as kernels of a simulated device: each is put into the stream of its
// task, with the memory that it accesses.

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/cuda/executor/device_task.h"
#include "kernels/cuda/device_kernel_memory.h"
#include "kernels/host/host_kernels.h"
#include "kernels/kernel_table.h"
#include "tests/core/cuda/model_device.h"

namespace hocket {

class StreamKernel final : public Kernel {
 public:
  StreamKernel(const KernelSignature& signature, std::unique_ptr<Kernel> host)
      : Kernel({.scratch_bytes = host->scratch_bytes(),
                .in_place = {host->in_place().begin(), host->in_place().end()}}),
        signature_(signature),
        host_(std::move(host)) {}

  using Kernel::run;
  Result<void> run(const KernelCall& call, UnitRange) const override {
    std::vector<const void*> operands(call.operands.begin(), call.operands.end());
    std::vector<void*> results(call.results.begin(), call.results.end());
    std::vector<Region> regions;
    const auto add = [&](const void* begin, std::int64_t bytes, bool writes) {
      if (bytes > 0) regions.push_back({begin, static_cast<std::size_t>(bytes), writes});
    };
    for (std::size_t i = 0; i < operands.size(); ++i)
      add(operands[i], signature_.operands[i].bytes(), false);
    for (std::size_t i = 0; i < results.size(); ++i)
      add(results[i], signature_.results[i].bytes(), true);
    add(call.scratch, scratch_bytes(), true);
    ModelDevice::in_use().launch(this_device_task().stream, regions,
                                 [this, operands = std::move(operands),
                                  results = std::move(results), scratch = call.scratch] {
                                   // A device cannot say that an index is out of range.
                                   static_cast<void>(host_->run({operands, results, scratch}));
                                 });
    return {};
  }

 private:
  const KernelSignature signature_;
  const std::unique_ptr<Kernel> host_;
};

/// A table with the kernels of the host, for the host and for the simulated device.
inline const KernelTable& stream_kernels() {
  static const KernelTable table = [] {
    KernelTable host;
    add_host_kernels(host);
    KernelTable both = host;
    for (std::size_t i = 0; i < kOperationKinds; ++i) {
      const auto kind = static_cast<OperationKind>(i);
      for (const KernelTypes& types : host.types(kind, KernelDevice::host)) {
        both.add(kind, types, KernelDevice::cuda,
                 [host](const KernelSignature& signature) -> Result<std::unique_ptr<Kernel>> {
                   auto kernel = host.make(signature, KernelDevice::host);
                   HOCKET_TRY(kernel);
                   return std::make_unique<StreamKernel>(signature, std::move(*kernel));
                 });
      }
    }
    return both;
  }();
  return table;
}

/// Memory of the simulated device, whose kernels take and keep values.
class StreamMemory final : public DeviceKernelMemory {
 public:
  explicit StreamMemory(ModelDevice& device)
      : DeviceKernelMemory(device, open_stream(device).value(), std::int64_t{1} << 30) {}

  Result<void> take(const StepValues& values, std::byte* to) override {
    put(values, {to, static_cast<std::size_t>(values.bytes), true}, [values, to](std::byte* next) {
      std::memcpy(to, next, static_cast<std::size_t>(values.bytes));
    });
    return {};
  }
  Result<void> keep(const std::byte* from, const StepValues& values) override {
    put(values, {from, static_cast<std::size_t>(values.bytes), false},
        [values, from](std::byte* next) {
          std::memcpy(next, from, static_cast<std::size_t>(values.bytes));
        });
    return {};
  }

 private:
  template <class Copy>
  static void put(const StepValues& values, const Region& value, Copy copy) {
    const Region counter{values.counter, sizeof(std::int64_t), true};
    ModelDevice::in_use().launch(this_device_task().stream, {value, counter}, [values, copy] {
      auto& counted = *reinterpret_cast<std::int64_t*>(values.counter);
      copy(values.first + counted++ % values.count * values.bytes);
    });
  }
};

}  // namespace hocket
