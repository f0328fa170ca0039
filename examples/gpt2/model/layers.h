#pragma once

// Layers with parameters. Each submits its operation as a task of the forward pass and as two
// independent tasks of the backward pass, one for the gradient of its input and one for that of its
// parameters. A layer serves one micro-batch of a step. Buffers and layers must not move until the
// tasks have run. One thread submits.

#include <cstddef>
#include <string>
#include <vector>

#include "core/step/task.h"
#include "examples/gpt2/model/layer_task.h"
#include "examples/gpt2/model/ops.h"
#include "examples/gpt2/model/parameters.h"
#include "job/step/submitter.h"

namespace hocket {

/// Returns the dimensions along which the gradient of a weight of `rows` rows may be divided: its
/// rows, which are contiguous from `weight` on and followed by a bias of `bias_bytes`; or the
/// `tokens` rows of the batch. Slices are of the gradient's own data and of all of the group's.
/// Empty if the backend does not divide.
std::vector<Dimension> weight_gradient_dimensions(const Backend& backend, int rows, int tokens,
                                                  const BufferSlice& weight,
                                                  std::size_t bias_bytes);
/// Returns the part of `whole` that a piece along one of these dimensions computes.
GradientPart gradient_part(const TaskPiece& piece, const GradientPart& whole);

class Linear {
 public:
  /// `weight` is the index of the weight in `group`; the bias follows it.
  Linear(ParameterGroup& group, const std::string& name, std::size_t weight,
         const LinearShape& shape, MicroBatch of);
  /// Requires that the group is attached.
  void attach() { group_.attach_gradient(index_, tasks_.weight_gradient); }

  void submit_forward(Submitter& submitter, const Buffer& x, Buffer& y) const;
  /// y += residual; in one task with the product where the backend fuses.
  void submit_forward(Submitter& submitter, const Buffer& x, const Buffer& residual,
                      Buffer& y) const;
  /// y = GELU(before); fused likewise.
  void submit_gelu_forward(Submitter& submitter, const Buffer& x, Buffer& before, Buffer& y) const;
  void submit_backward_input(Submitter& submitter, const Buffer& dy, Buffer& dx) const;
  /// Computes the gradient before the GELU whose input was `before`; fused likewise.
  void submit_gelu_backward_input(Submitter& submitter, const Buffer& dy, const Buffer& before,
                                  Buffer& dx) const;
  void submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& dy) const;

 private:
  ParameterGroup& group_;
  const MicroBatch micro_batch_;
  LayerTasks tasks_, gelu_tasks_;
  LayerTask add_task_;
  LinearShape shape_;
  const std::size_t index_;  // index of the weight
  BufferSlice weight_, bias_, dweight_, dbias_;
};

class LayerNorm {
 public:
  /// Gain and bias must be the first parameters of `group`.
  LayerNorm(ParameterGroup& group, const LayerNormShape& shape, MicroBatch of);
  void attach() { group_.attach_gradient(BlockParameter::gain, tasks_.weight_gradient); }

  void submit_forward(Submitter& submitter, const Buffer& x, Buffer& y, Buffer& statistics) const;
  /// `skip` (may be null) is the gradient that reaches x along the residual connection.
  void submit_backward_input(Submitter& submitter, const Buffer& x, const Buffer& statistics,
                             const Buffer& dy, const Buffer* skip, Buffer& dx) const;
  void submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& statistics,
                              const Buffer& dy) const;

 private:
  ParameterGroup& group_;
  const MicroBatch micro_batch_;
  LayerTasks tasks_;
  LayerNormShape shape_;
  BufferSlice gain_, bias_, dgain_, dbias_;
};

}  // namespace hocket
