#pragma once

// Places a step on a device with limited memory and on its host: a pure function from tasks to
// tasks (CoTrain, ICPP 2023; ZeRO-Offload, USENIX ATC 2021).
//
// A step names data and the tasks that access them; copies between the two memories follow here.
// Parameters and optimizer state of the first `offload_k` layers stay on the device, which updates
// them; those of the other layers are kept on the host, which updates them. What the device needs
// of them is fetched before its first use and released after the last one nearby, and what the host
// needs of the device's data is moved out.
//
// Each data item on the device has a fixed range of addresses, which it shares with data that are
// there at other times. The ranges are chosen before the step runs, so the limit holds whatever
// runs when: what takes a range over accesses the data that had it, and waits for them by the
// dependencies that any tasks have. As these follow the order of submission, nothing can block
// itself.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/step/task.h"

namespace hocket {

enum class PlacementSite : std::uint8_t { device, host };

/// A data item of the step to place.
struct DataToPlace {
  std::string name;
  /// At least 0; 0 takes no memory and needs no copies, but orders tasks.
  std::int64_t bytes = 0;
  /// Layer whose parameters or optimizer state it holds, from 0, or kNoLayer. Other data outlive
  /// the step only if their first access reads them, and are then kept on the device.
  std::int64_t layer = kNoLayer;
  /// It holds nothing from one step to the next, even if its first access reads it.
  bool is_transient = false;
};

/// A compute task or a collective of the step to place.
struct TaskToPlace {
  std::string name;
  std::vector<Access> accesses;
  /// Layer that the task updates: it then runs where that layer's data are. kNoLayer: it runs on
  /// the device.
  std::int64_t updates_layer = kNoLayer;
};

struct StepToPlace {
  std::vector<DataToPlace> data;
  /// The tasks in order of submission.
  std::vector<TaskToPlace> tasks;
};

struct PlacementOptions {
  /// Limit of the device's memory; > 0.
  std::int64_t device_memory_bytes = 0;
  /// Layers that the device keeps and updates, at least 0; those from here on are the host's.
  std::int64_t offload_k = 0;
  /// Layers, at least 0, by which fetches may run ahead of the tasks that need them, where the
  /// memory allows it.
  std::int64_t prefetch_layers = 1;
};

enum class PlacedKind : std::uint8_t {
  task,   ///< a task of the step
  fetch,  ///< a copy of a data item from the host to the device
  evict,  ///< a copy of a data item from the device to the host
};

struct PlacedTask {
  PlacedKind kind = PlacedKind::task;
  /// Memory on whose side a task runs; unused for copies.
  PlacementSite site = PlacementSite::device;
  /// Index of the task, or of the copied data item.
  std::uint32_t source = 0;
  /// Indices of data of the placed step, which only order tasks.
  std::vector<Access> accesses;
};

inline constexpr std::int64_t kNotOnDevice = -1;

struct PlacedStep {
  /// In order of submission.
  std::vector<PlacedTask> tasks;
  /// Number of data items that the tasks' accesses name.
  std::uint32_t data = 0;
  /// By data item of the step: the beginning of its range in the device's memory, or kNotOnDevice.
  std::vector<std::int64_t> address_bytes;
  /// By data item of the step: where its value is between two steps.
  std::vector<PlacementSite> home;
  /// End of the highest range; at most device_memory_bytes.
  std::int64_t peak_bytes = 0;
};

/// Places `step`. Its accesses must name data of it; each data item has one access in a task.
/// invalid_argument where the step can never fit: names the task, the bytes that it needs at once,
/// and the limit.
Result<PlacedStep> place_step(const StepToPlace& step, const PlacementOptions& options);

}  // namespace hocket
