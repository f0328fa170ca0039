#pragma once

// Gives values to a step on a device, and takes some of it, without the host: batches that were
// drawn ahead, and numbers such as losses. Counts in the device's memory say which is next, so that
// a captured step does the same work each time. Each puts its work into a stream and waits for none
// of it; the result is that of the launch. Any thread, on memory that no other work uses.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"
#include "core/cuda/driver/device_driver.h"

namespace hocket {

/// Copies number *taken mod `count` of `count` contiguous batches of `bytes` bytes, which begin at
/// `first` in host memory that the device can read, to device memory, and increments *taken.
Result<void> take_drawn(const void* first, std::int64_t bytes, std::int64_t count,
                        std::int64_t* taken, void* to, DeviceStream stream);

/// Stores *value as first[*kept], in host memory that the device can write, and increments *kept.
Result<void> keep_number(const float* value, float* first, std::int64_t* kept, DeviceStream stream);

}  // namespace hocket
