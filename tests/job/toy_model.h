#pragma once

// A model of two layers with a few parameters each, for tests of the library of jobs. Its gradients
// are sums over the ranks. One thread.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "job/step/trained_model.h"

namespace hocket {

class ToyModel final : public TrainedModel {
 public:
  explicit ToyModel(RankGrid grid = {}) : grid_(grid) {}

  void attach(Submitter& submitter) override {
    submitter_ = &submitter;
    input_id_ = submitter.add_data({.bytes = sizeof input_, .is_transient = false}, "input");
    for (Layer& layer : layers_) {
      const DataPlace place{.bytes = sizeof layer.weights};
      layer.weights_id = submitter.add_data(place, layer.name);
      layer.gradient_id = submitter.add_data(place, layer.gradient_name);
    }
  }

  void draw(std::int64_t step) override { drawn_ = step; }

  void submit_tasks() override {
    for (const Layer& layer : layers_) {
      submitter_->compute({.name = layer.forward_name},
                          std::array{read(layer.weights_id), update(input_id_)},
                          [this] { input_ += 1; });
    }
    for (std::uint32_t i = 2; i-- > 0;) {
      Layer& layer = layers_[i];
      submitter_->compute({.name = layer.backward_name, .priority = i},
                          std::array{read(input_id_), write(layer.gradient_id)},
                          [&layer] { layer.gradient.fill(1); });
      submitter_->all_reduce({.name = layer.name, .priority = i}, layer.gradient_id,
                             layer.gradient);
      submitter_->compute({.name = layer.update_name, .priority = i},
                          std::array{read(layer.gradient_id), update(layer.weights_id)}, [&layer] {
                            for (std::size_t j = 0; j < layer.weights.size(); ++j)
                              layer.weights[j] += layer.gradient[j];
                          });
    }
  }

  DataId first_gradient() override { return layers_.back().gradient_id; }
  RankGrid grid() const override { return grid_; }
  bool divides() const override { return false; }
  MicroBatchMemory micro_batch_memory() const override { return memory; }

  /// Returns a weight of the first layer: the sum of all gradients so far.
  float weight() const { return layers_.front().weights.front(); }
  std::int64_t last_drawn() const { return drawn_; }

  MicroBatchMemory memory;

 private:
  struct Layer {
    std::string_view name, gradient_name, forward_name, backward_name, update_name;
    std::array<float, 4> weights = {}, gradient = {};
    DataId weights_id = {}, gradient_id = {};
  };

  const RankGrid grid_;
  Submitter* submitter_ = nullptr;
  float input_ = 0;
  DataId input_id_;
  std::array<Layer, 2> layers_ = {
      Layer{"low", "low.gradient", "low.forward", "low.backward", "low.update"},
      Layer{"high", "high.gradient", "high.forward", "high.backward", "high.update"}};
  std::int64_t drawn_ = -1;
};

}  // namespace hocket
