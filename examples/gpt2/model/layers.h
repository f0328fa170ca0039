#pragma once

// Layers with parameters: each submits its operation as a task of the forward pass and as two of
// the backward pass, one for its input's gradient and one for its parameters', which do not depend
// on each other. A layer works for one of a step's micro-batches. Buffers and layers must keep
// their place until the tasks have run. One thread submits.

#include <cstddef>
#include <string>
#include <vector>

#include "core/step/task.h"
#include "examples/gpt2/model/layer_task.h"
#include "examples/gpt2/model/ops.h"
#include "examples/gpt2/model/parameters.h"
#include "examples/gpt2/model/submitter.h"

namespace hocket {

/// Along which the gradient of a weight of `rows` rows may be divided: its rows, whose bytes lie
/// one after the other from `weight` on, a bias of `bias_bytes` behind them; or the rows of the
/// batch, of which there are `tokens`. None where the backend does not divide.
std::vector<Dimension> weight_gradient_dimensions(const Backend& backend, int rows, int tokens,
                                                  const BufferSlice& weight,
                                                  std::size_t bias_bytes);
/// What a piece along one of them computes, of a weight that `whole` is all of.
GradientPart gradient_part(const TaskPiece& piece, const GradientPart& whole);

class Linear {
 public:
  /// `weight` is the index of the weight in `group`; the bias follows it.
  Linear(ParameterGroup& group, const std::string& name, std::size_t weight,
         const LinearShape& shape, MicroBatch of);
  /// The group is attached.
  void attach() { tasks_.weight_gradient.attach(group_.gradients().id); }

  void submit_forward(Submitter& submitter, const Buffer& x, Buffer& y) const;
  /// y += residual, and where the backend fuses in one task with the product.
  void submit_forward(Submitter& submitter, const Buffer& x, const Buffer& residual,
                      Buffer& y) const;
  /// y = GELU(before), the same way.
  void submit_gelu_forward(Submitter& submitter, const Buffer& x, Buffer& before, Buffer& y) const;
  void submit_backward_input(Submitter& submitter, const Buffer& dy, Buffer& dx) const;
  /// To the gradient before the GELU that was taken of `before`, the same way.
  void submit_gelu_backward_input(Submitter& submitter, const Buffer& dy, const Buffer& before,
                                  Buffer& dx) const;
  /// `gradients` is the access to the group's gradients: the first writer in a step overwrites, the
  /// others update.
  void submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& dy,
                              Access gradients) const;

 private:
  ParameterGroup& group_;
  const MicroBatch micro_batch_;
  LayerTasks tasks_, gelu_tasks_;
  LayerTask add_task_;
  LinearShape shape_;
  BufferSlice weight_, bias_, dweight_, dbias_;
};

class LayerNorm {
 public:
  /// Gain and bias are the first parameters of `group`.
  LayerNorm(ParameterGroup& group, const LayerNormShape& shape, MicroBatch of);
  void attach() { tasks_.weight_gradient.attach(group_.gradients().id); }

  void submit_forward(Submitter& submitter, const Buffer& x, Buffer& y, Buffer& statistics) const;
  /// `skip` (may be null) is the gradient that reaches x around the norm.
  void submit_backward_input(Submitter& submitter, const Buffer& x, const Buffer& statistics,
                             const Buffer& dy, const Buffer* skip, Buffer& dx) const;
  void submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& statistics,
                              const Buffer& dy, Access gradients) const;

 private:
  ParameterGroup& group_;
  const MicroBatch micro_batch_;
  LayerTasks tasks_;
  LayerNormShape shape_;
  BufferSlice gain_, bias_, dgain_, dbias_;
};

}  // namespace hocket
