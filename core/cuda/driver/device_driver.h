#pragma once

// Interface to the device: the part of the CUDA runtime that the executor uses. cuda_driver.h
// implements it for use; the tests' implementation models the order in which a device runs work.
// Any thread. Errors are unavailable, with the driver's message.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace hocket {

/// An in-order queue of work on the device; a cudaStream_t.
struct DeviceStream {
  void* handle = nullptr;
  bool operator==(const DeviceStream&) const = default;
};

/// A point in a stream; a cudaEvent_t.
struct DeviceEvent {
  void* handle = nullptr;
  bool operator==(const DeviceEvent&) const = default;
};

/// Work captured from a stream, launched as a whole; a cudaGraphExec_t.
struct DeviceGraph {
  void* handle = nullptr;
  bool operator==(const DeviceGraph&) const = default;
};

/// When the device has room, it chooses work of urgent streams first.
enum class StreamPriority { normal, urgent };

/// Events without timing cost the device less.
enum class EventTiming { none, timed };

class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;

  /// Makes the calling thread use the device. Every thread must call it before anything else.
  virtual Result<void> use_device() = 0;

  /// Returns and clears the pending error of the calling thread: a kernel's launch returns none, so
  /// one that failed is known only this way. No other function returns or clears such an error.
  /// Costs nanoseconds.
  virtual Result<void> take_launch_error() = 0;

  virtual Result<DeviceStream> create_stream(StreamPriority priority) = 0;
  /// Destroys the stream. Work that is in it still runs.
  virtual void destroy_stream(DeviceStream stream) = 0;
  /// Blocks until all work in the stream has run.
  virtual Result<void> synchronize(DeviceStream stream) = 0;

  virtual Result<DeviceEvent> create_event(EventTiming timing) = 0;
  virtual void destroy_event(DeviceEvent event) = 0;
  /// Makes `event` stand for all work that is in `stream` now.
  virtual Result<void> record(DeviceEvent event, DeviceStream stream) = 0;
  /// Makes work put into `stream` from now on run after the work `event` stands for now.
  virtual Result<void> wait(DeviceStream stream, DeviceEvent event) = 0;
  /// Returns whether the work that `event` stands for has run. Never blocks. Reports errors of the
  /// device.
  virtual Result<bool> has_run(DeviceEvent event) = 0;

  /// Returns the time from `begin` to `end` on the device. Both must be timed and must have run.
  virtual Result<std::int64_t> elapsed_ns(DeviceEvent begin, DeviceEvent end) = 0;

  /// Allocates memory for work put into `stream` from now on, and for any work ordered after that.
  virtual Result<void*> allocate(std::size_t bytes, DeviceStream stream) = 0;
  /// Frees the memory once the work that is in `stream` now has run.
  virtual Result<void> free(void* memory, DeviceStream stream) = 0;

  /// Allocates pinned host memory: copies from and to it run asynchronously, and device code can
  /// read and write it in place.
  virtual Result<void*> allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) = 0;
  /// Copies between host and device, or within the device. Does not block when the host memory is
  /// from allocate_host(); otherwise it may.
  virtual Result<void> copy(void* to, const void* from, std::size_t bytes, DeviceStream stream) = 0;
  virtual Result<void> fill_zero(void* memory, std::size_t bytes, DeviceStream stream) = 0;
  /// Calls `function(argument)` on a thread of the driver when `stream` reaches it; the stream goes
  /// on when it has returned. It must not call the driver. Calls of all streams may wait for each
  /// other. Not called after an error of the device.
  virtual Result<void> run_on_host(DeviceStream stream, void (*function)(void*),
                                   void* argument) = 0;
  /// Returns the device's PCI bus id, as "0000:17:00.0".
  virtual Result<std::string> bus_id() = 0;
  /// Returns the total memory of the device.
  virtual Result<std::int64_t> memory_bytes() = 0;

  /// Starts capturing: until end_capture(), work put into `stream`, and into streams that wait for
  /// it meanwhile, is recorded instead of run. `stream` must wait for those streams before
  /// end_capture().
  virtual Result<void> begin_capture(DeviceStream stream) = 0;
  virtual Result<DeviceGraph> end_capture(DeviceStream stream) = 0;
  virtual Result<void> launch(DeviceGraph graph, DeviceStream stream) = 0;
  /// Destroys the graph. A launch in flight still runs to its end.
  virtual void destroy_graph(DeviceGraph graph) = 0;
};

}  // namespace hocket
