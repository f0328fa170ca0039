#pragma once

// The seam to the device: the part of the CUDA runtime that the executor uses. cuda_driver.h is the
// implementation for use; that of the tests models the order in which a device runs things. Any
// thread may call. Errors are unavailable, with what the driver said.

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"

namespace hocket {

/// A queue of the device, whose entries run one after another. A cudaStream_t.
struct DeviceStream {
  void* handle = nullptr;
  bool operator==(const DeviceStream&) const = default;
};

/// A mark in a stream. A cudaEvent_t.
struct DeviceEvent {
  void* handle = nullptr;
  bool operator==(const DeviceEvent&) const = default;
};

/// What was captured from a stream, to be launched as a whole. A cudaGraphExec_t.
struct DeviceGraph {
  void* handle = nullptr;
  bool operator==(const DeviceGraph&) const = default;
};

/// A more urgent stream's work is chosen first when the device has room.
enum class StreamPriority { normal, urgent };

/// Events that are not timed cost the device less.
enum class EventTiming { none, timed };

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;

  /// Makes the calling thread use the device; every thread calls it before anything else.
  virtual Result<void> use_device() = 0;

  virtual Result<DeviceStream> create_stream(StreamPriority priority) = 0;
  /// What is in the stream still runs.
  virtual void destroy_stream(DeviceStream stream) = 0;
  /// Blocks until all that is in the stream has run.
  virtual Result<void> synchronize(DeviceStream stream) = 0;

  virtual Result<DeviceEvent> create_event(EventTiming timing) = 0;
  virtual void destroy_event(DeviceEvent event) = 0;
  /// `event` now stands for all that is in `stream` so far.
  virtual Result<void> record(DeviceEvent event, DeviceStream stream) = 0;
  /// What is put into `stream` from now on runs after what `event` stands for now.
  virtual Result<void> wait(DeviceStream stream, DeviceEvent event) = 0;
  /// Whether what `event` stands for has run; never blocks. An error of the device shows here.
  virtual Result<bool> has_run(DeviceEvent event) = 0;

  /// How much later the device came to `end` than to `begin`; both are timed, and have run.
  virtual Result<std::int64_t> elapsed_ns(DeviceEvent begin, DeviceEvent end) = 0;

  /// Memory that may be used by what is put into `stream` from now on, and by what comes after
  /// that.
  virtual Result<void*> allocate(std::size_t bytes, DeviceStream stream) = 0;
  /// Ends the memory's life after what is in `stream` so far.
  virtual Result<void> free(void* memory, DeviceStream stream) = 0;

  /// Memory of the host that copies can go to and come from while the host goes on, and that what
  /// runs on the device can read and write in place.
  virtual Result<void*> allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) = 0;
  /// From the host or the device to the other or within the device; does not block where the host's
  /// is of allocate_host(), and may otherwise.
  virtual Result<void> copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) = 0;
  virtual Result<void> fill_zero(void* memory, std::size_t bytes, DeviceStream stream) = 0;
  /// All that the device has.
  virtual Result<std::int64_t> memory_bytes() = 0;

  /// What is put into `stream` until end_capture(), and into streams that wait for it meanwhile, is
  /// kept instead of run. Those streams must be waited for by `stream` before the end.
  virtual Result<void> begin_capture(DeviceStream stream) = 0;
  virtual Result<DeviceGraph> end_capture(DeviceStream stream) = 0;
  virtual Result<void> launch(DeviceGraph graph, DeviceStream stream) = 0;
  /// One that is launched still runs to its end.
  virtual void destroy_graph(DeviceGraph graph) = 0;
};

}  // namespace hocket
