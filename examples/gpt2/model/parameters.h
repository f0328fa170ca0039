#pragma once

// The model's parameters in groups that are communicated together: token and position embedding,
// the attention and the MLP half of each block, and the final norm. A group's place is its index in
// that order, which is the order in which the forward pass needs them. Not thread-safe: tasks
// declare what they access.
//
// The gradients of a group are one buffer, which its collective sums. The tasks that compute them
// write separate ranges of it and need no order among each other, so each range is a piece of data
// of its own. They read the data of the whole buffer, which the collective and the update change;
// so they come after the previous step's update and before the collective.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/collective/optimizer_step.h"
#include "core/step/task.h"
#include "examples/gpt2/model/backend.h"
#include "examples/gpt2/model/config.h"
#include "examples/gpt2/model/layer_task.h"
#include "job/step/submitter.h"

namespace hocket {

struct ParameterSpec {
  std::size_t size = 0;
  float initial_mean = 0, initial_stddev = 0;
  bool decay = false;  ///< weight decay: for matrices, not for biases, norms and positions
};

struct GroupSpec {
  std::string name;
  std::string layer;              ///< as in region names: "embedding", "layer0", …, "head"
  std::int64_t layer_number = 0;  ///< position among the layers, in the order of the forward pass
  std::vector<ParameterSpec> parameters;

  std::size_t size() const;
};

// Indices of parameters in their group. Parameters come in pairs whose gradients the same tasks
// compute.
struct EmbeddingParameter {
  enum : std::size_t { tokens, positions };
};
/// Parameters of a block's attention (QKV, projection) or MLP (up, down). The final norm has the
/// first two.
struct BlockParameter {
  enum : std::size_t { gain, bias, first_weight, first_bias, second_weight, second_bias };
};

/// Returns the groups by place. Initial values are those of GPT-2: normal with deviation 0.02, and
/// 0.01 for positions (its released code); projections onto the residual stream are scaled by
/// 1/√(2·layers) (Radford et al., 2019, section 2.3).
std::vector<GroupSpec> parameter_groups(const Gpt2Config& config);

/// Priorities of a group's tasks; lower is more urgent. The backward pass comes first, since it
/// feeds the network: from the last group to the first, each with its weight gradients before the
/// next group begins, so that gradients leave as early as possible. Within a group, the path to
/// earlier groups comes first, since the weight gradients can run beside it. Updates and the next
/// forward pass follow, in forward order, which is the order in which the communication (by place)
/// delivers.
struct Priorities {
  Priorities(std::uint32_t place, std::uint32_t groups)
      : communication(place),
        backward(2 * (groups - 1 - place)),
        weight_gradient(backward + 1),
        forward(2 * groups + place) {}

  std::uint32_t communication, backward, weight_gradient;
  std::uint32_t forward;  ///< also that of the update
};

class ParameterGroup {
 public:
  /// Allocates and initialises the parameters, equal on every rank for the same seed. `groups` is
  /// the number of groups; `options` must outlive the group.
  ParameterGroup(Backend& backend, const GroupSpec& spec, std::size_t place, std::size_t groups,
                 const TrainingOptions& options);

  ParameterGroup(const ParameterGroup&) = delete;
  ParameterGroup& operator=(const ParameterGroup&) = delete;

  const std::string& name() const { return spec_.name; }
  const std::string& layer() const { return spec_.layer; }
  const Priorities& priorities() const { return priorities_; }
  Backend& backend() const { return backend_; }

  /// Return one parameter in float32, the parameter as operations compute with it, and its
  /// gradient, with the shapes of ops.h.
  BufferSlice values(std::size_t parameter) const { return slice(parameters_, parameter); }
  BufferSlice weights(std::size_t parameter) const { return slice(weights_, parameter); }
  BufferSlice gradient(std::size_t parameter) const { return slice(gradients_, parameter); }

  /// Tasks that read weights access the parameters, whose name stands for both.
  const Buffer& parameters() const { return parameters_; }
  const Buffer& gradients() const { return gradients_; }
  /// Returns the buffers that keep their values from step to step, in float32.
  std::vector<const Buffer*> kept_buffers() const {
    return {&parameters_, &first_moment_, &second_moment_};
  }

  /// Returns the data of the gradients of a parameter and of the other one of its pair.
  DataId gradient_data(std::size_t parameter) const { return gradient_data_[parameter / 2]; }
  /// Returns the access to them for the first task of a micro-batch that computes them.
  Access first_access(std::size_t parameter, MicroBatch of) const {
    const DataId data = gradient_data(parameter);
    return of.is_first() ? write(data) : hocket::update(data);
  }
  /// Sets the data of the slices of a task that computes them: first their own, then all.
  void attach_gradient(std::size_t parameter, LayerTask& task) const {
    task.attach({gradient_data(parameter), gradients_.id});
  }

  void attach(Submitter& submitter);

  /// Submits the all-reduce of the gradients and then the update with their mean. With a sharded
  /// optimiser (ZeRO stage 1, Rajbhandari et al., SC 2020, section 5.1), a rank receives only the
  /// sum of its own block and updates that; then all ranks gather the parameters and convert them
  /// to weights. With updates on servers, these keep the moments and a rank subtracts their steps;
  /// only in the host's memory.
  void submit_update(Submitter& submitter);

  /// Returns the bytes of the moments that this rank keeps.
  std::int64_t optimizer_bytes() const;

 private:
  /// A range of the group's elements.
  struct Elements {
    std::size_t begin = 0, end = 0;
  };

  BufferSlice slice(const Buffer& all, std::size_t parameter) const {
    return {all, offsets_[parameter], spec_.parameters[parameter].size};
  }
  void submit_served_update(Submitter& submitter);
  static Elements own_elements(std::size_t size, const TrainingOptions& options);
  void divide_update();
  void update(const TaskPiece& piece);

  Backend& backend_;
  GroupSpec spec_;
  const TrainingOptions& options_;
  const Elements own_;  ///< elements that this rank updates with moments of its own
  std::int64_t update_units_ = 1;
  Count updates_;
  OptimizerStep served_step_;  ///< the next one, of updates on servers
  LayerTask sum_task_, update_task_, gather_task_, round_task_;
  Priorities priorities_;
  std::vector<std::size_t> offsets_;
  Buffer parameters_, weights_, gradients_, first_moment_, second_moment_;
  std::vector<DataId> gradient_data_;  // by pair of parameters
};

}  // namespace hocket
