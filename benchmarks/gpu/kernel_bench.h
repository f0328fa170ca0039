#pragma once

// Times kernels of a device on operands of their own. Throws std::runtime_error with the message of
// what fails. One thread.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"
#include "core/cuda/executor/device_task.h"
#include "core/cuda/products/matrix_product.h"

namespace hocket {

struct BenchOptions {
  int rounds = 21;
  std::size_t fewest_launches = 8, most_launches = 256;  ///< of a round
  /// The copies of a kernel's operands have at least this size together: more than a cache.
  std::size_t rotated_bytes = std::size_t{512} << 20;
};

using Operands = std::vector<void*>;

/// A kernel to measure, and its operands in bytes.
struct TimedKernel {
  std::string name;
  std::vector<std::size_t> operands;
  double bytes = 0, operations = 0;  ///< that must be moved or done; one of them is 0
  std::function<Result<void>(const Operands&)> launch;
};

template <class T>
T required(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void required(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

inline std::size_t rounded_up(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// The device, with the random values that operands hold.
class Bench {
 public:
  /// `driver` and `products` must outlive it.
  Bench(DeviceDriver& driver, MatrixProducts& products, const BenchOptions& options)
      : driver_(driver), products_(products), options_(options) {
    required(driver_.use_device());
    task_.stream = required(driver_.create_stream(StreamPriority::normal));
    begin_ = required(driver_.create_event(EventTiming::timed));
    end_ = required(driver_.create_event(EventTiming::timed));
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    // bfloat16 in the upper halves, so that they are normal as float32, too.
    std::vector<std::uint16_t> values(kPatternBytes / sizeof(std::uint16_t));
    for (std::uint16_t& value : values)
      value = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(normal(random)) >> 16);
    pattern_ = allocated(kPatternBytes);
    copy(pattern_, values.data(), kPatternBytes);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  DeviceDriver& driver() { return driver_; }
  DeviceStream stream() const { return task_.stream; }
  const DeviceTask& task() const { return task_; }
  MatrixProducts& products() { return products_; }

  /// Allocates memory of zeros that stays until the end.
  void* allocated(std::size_t bytes) {
    void* const memory = required(driver_.allocate(bytes, task_.stream));
    required(driver_.fill_zero(memory, bytes, task_.stream));
    return memory;
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    required(driver_.copy(to, from, bytes, task_.stream));
    required(driver_.synchronize(task_.stream));
  }

  /// Returns the times of a launch, one per round.
  std::vector<double> times_ns(const TimedKernel& kernel) {
    std::size_t set_bytes = 0;
    for (const std::size_t bytes : kernel.operands) set_bytes += rounded_up(bytes);
    const std::size_t sets = std::clamp<std::size_t>(
        (options_.rotated_bytes + set_bytes - 1) / set_bytes, 1, options_.most_launches);
    const Memory held(driver_, sets * set_bytes, task_.stream);
    std::byte* const memory = held.begin;
    for (std::size_t at = 0; at < sets * set_bytes; at += kPatternBytes)
      required(driver_.copy(memory + at, pattern_, std::min(kPatternBytes, sets * set_bytes - at),
                            task_.stream));
    const std::size_t launches = std::max(sets, options_.fewest_launches);
    const auto launch_all = [&] {
      for (std::size_t i = 0; i < launches; ++i) {
        std::byte* next = memory + i % sets * set_bytes;
        Operands operands;
        for (const std::size_t bytes : kernel.operands)
          operands.push_back(std::exchange(next, next + rounded_up(bytes)));
        required(kernel.launch(operands));
      }
    };
    launch_all();  // products choose their kernels in the first launch
    required(driver_.begin_capture(task_.stream));
    launch_all();
    const DeviceGraph graph = required(driver_.end_capture(task_.stream));
    std::vector<double> times;
    for (int round = -2; round < options_.rounds; ++round) {
      required(driver_.record(begin_, task_.stream));
      required(driver_.launch(graph, task_.stream));
      required(driver_.record(end_, task_.stream));
      required(driver_.synchronize(task_.stream));
      const auto all_ns = required(driver_.elapsed_ns(begin_, end_));
      if (round >= 0) times.push_back(static_cast<double>(all_ns) / static_cast<double>(launches));
    }
    driver_.destroy_graph(graph);
    return times;
  }

 private:
  /// Memory of one measurement.
  struct Memory {
    Memory(DeviceDriver& of_driver, std::size_t bytes, DeviceStream of_stream)
        : driver(of_driver),
          stream(of_stream),
          begin(static_cast<std::byte*>(required(driver.allocate(bytes, stream)))) {}
    ~Memory() {
      (void)driver.free(begin, stream);
      (void)driver.synchronize(stream);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    DeviceDriver& driver;
    const DeviceStream stream;
    std::byte* const begin;
  };

  static constexpr std::size_t kPatternBytes = std::size_t{16} << 20;

  DeviceDriver& driver_;
  MatrixProducts& products_;
  const BenchOptions options_;
  DeviceTask task_;
  DeviceEvent begin_, end_;
  void* pattern_ = nullptr;
};

}  // namespace hocket
