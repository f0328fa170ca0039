#pragma once

// Steps to place, for tests: models of layers as frameworks train them.

#include <cstdint>
#include <random>
#include <string>

#include "core/placement/step_placement.h"

namespace hocket {

struct ModelOfLayers {
  int layers = 3;
  int micro_batches = 1;
  /// Each layer's parameters, its gradients, its state, and what its forward pass leaves.
  std::int64_t parameter_bytes = 1024, state_bytes = 2048, activation_bytes = 512;
  /// The last layer uses the first one's parameters, too.
  bool is_tied = false;
};

/// Returns its step: forward, backward in reverse, and updates, each as soon as its gradient is
/// there.
inline StepToPlace step_of(const ModelOfLayers& model) {
  StepToPlace step;
  const auto add = [&](std::string name, std::int64_t bytes, std::int64_t layer = kNoLayer) {
    step.data.push_back({std::move(name), bytes, layer});
    return DataId{static_cast<std::uint32_t>(step.data.size()) - 1};
  };
  std::vector<DataId> parameters, states, gradients, activations;
  const DataId input = add("input", 256), loss = add("loss", 8);
  for (int l = 0; l < model.layers; ++l) {
    const std::string name = "layer." + std::to_string(l);
    parameters.push_back(add(name, model.parameter_bytes, l));
    states.push_back(add(name + ".state", model.state_bytes, l));
    gradients.push_back(add(name + ".gradient", model.parameter_bytes));
    activations.push_back(add(name + ".activation", model.activation_bytes));
  }
  const auto last = static_cast<std::size_t>(model.layers) - 1;
  for (int batch = 0; batch < model.micro_batches; ++batch) {
    for (std::size_t l = 0; l <= last; ++l) {
      TaskToPlace forward{
          "forward." + std::to_string(l),
          {read(parameters[l]), read(l == 0 ? input : activations[l - 1]), write(activations[l])}};
      if (model.is_tied && l == last && l > 0) forward.accesses.push_back(read(parameters[0]));
      step.tasks.push_back(std::move(forward));
    }
    step.tasks.push_back({"loss", {update(activations[last]), write(loss)}});
    for (std::size_t l = last + 1; l-- > 0;) {
      TaskToPlace backward{"backward." + std::to_string(l), {read(parameters[l])}};
      backward.accesses.push_back(update(activations[l]));
      if (l > 0) backward.accesses.push_back(update(activations[l - 1]));
      backward.accesses.push_back(batch == 0 ? write(gradients[l]) : update(gradients[l]));
      step.tasks.push_back(std::move(backward));
      if (batch + 1 < model.micro_batches) continue;
      step.tasks.push_back({"update." + std::to_string(l),
                            {update(parameters[l]), update(states[l]), read(gradients[l])},
                            static_cast<std::int64_t>(l)});
    }
  }
  return step;
}

/// Returns a step of random tasks. What the host updates touches its layer's data and others that
/// end with the step.
inline StepToPlace random_step(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  StepToPlace step;
  const auto layers = static_cast<std::int64_t>(1 + below(4));
  const auto items = static_cast<std::uint32_t>(2 + below(10));
  for (std::uint32_t i = 0; i < items; ++i) {
    step.data.push_back(
        {"item " + std::to_string(i),
         below(8) == 0 ? 0 : static_cast<std::int64_t>(256 * (1 + below(4))),
         below(3) == 0 ? kNoLayer
                       : static_cast<std::int64_t>(below(static_cast<std::uint64_t>(layers)))});
  }
  std::vector<bool> is_written(items);  // data that end with the step are written first
  const auto tasks = 1 + below(20);
  for (std::uint64_t t = 0; t < tasks; ++t) {
    TaskToPlace task{"task " + std::to_string(t), {}};
    if (below(3) == 0)
      task.updates_layer = static_cast<std::int64_t>(below(static_cast<std::uint64_t>(layers)));
    for (std::uint32_t i = 0; i < items; ++i) {
      if (below(3) != 0) continue;
      const DataToPlace& item = step.data[i];
      if (task.updates_layer != kNoLayer && item.layer != kNoLayer &&
          item.layer != task.updates_layer)
        continue;
      auto mode = static_cast<AccessMode>(below(3));
      if (item.layer == kNoLayer && item.bytes > 0 && !is_written[i]) mode = AccessMode::write;
      is_written[i] = true;
      task.accesses.push_back({DataId{i}, mode});
    }
    step.tasks.push_back(std::move(task));
  }
  return step;
}

}  // namespace hocket
