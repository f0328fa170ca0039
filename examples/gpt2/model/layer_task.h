#pragma once

// Names of a layer's tasks and their places in a step: the region of their layer and pass
// ("backward_layer1"), a micro-batch, and the dimensions along which they may be divided. Layers
// own them, since they must outlive the scheduler. Plain values.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "core/step/task.h"
#include "core/step/task_body.h"
#include "job/step/submitter.h"

namespace hocket {

/// One of a step's micro-batches. Their gradients are added in order.
struct MicroBatch {
  std::uint32_t index = 0, count = 1;

  bool is_first() const { return index == 0; }
  /// Returns the value of TaskPlace::micro_batch.
  std::uint32_t place() const { return count == 1 ? kNoMicroBatch : index; }
};

struct LayerTask {
  /// Describes a task of `pass` ("forward") in `layer` ("layer1").
  LayerTask(std::string task_name, const std::string& pass, const std::string& layer,
            std::uint32_t micro_batch = kNoMicroBatch)
      : name(std::move(task_name)),
        place{.region = pass + "_" + layer, .micro_batch = micro_batch, .dimensions = {}} {}

  TaskOptions options(std::uint32_t priority) const {
    return {.name = name, .priority = priority, .place = &place};
  }
  /// Sets the data of the slices, which every dimension with slices has in the same order.
  void attach(std::initializer_list<DataId> data) {
    for (Dimension& dimension : place.dimensions) {
      auto next = data.begin();
      for (DimensionSlice& slice : dimension.slices) slice.data = *next++;
    }
  }

  std::string name;
  TaskPlace place;
};

/// The tasks of an operation with parameters.
struct LayerTasks {
  LayerTasks(const std::string& name, const std::string& layer, MicroBatch of)
      : forward(name, "forward", layer, of.place()),
        input_gradient(name + ".dx", "backward", layer, of.place()),
        weight_gradient(name + ".dw", "backward", layer, of.place()) {}

  LayerTask forward, input_gradient, weight_gradient;
};

/// The piece of an undivided task; bodies stop at the last unit that exists.
inline constexpr TaskPiece kWholeTask{.dimension = 0, .begin = 0, .end = 1 << 30};

/// Submits `body`, which takes a TaskPiece. The task may be divided if it has dimensions.
template <class Body>
void submit_divisible(Submitter& submitter, const LayerTask& task, std::uint32_t priority,
                      std::span<const Access> accesses, Body body) {
  if (task.place.dimensions.empty()) {
    submitter.compute(task.options(priority), accesses, [body] { body(kWholeTask); });
  } else {
    submitter.compute_pieces(task.options(priority), accesses, std::move(body));
  }
}

}  // namespace hocket
