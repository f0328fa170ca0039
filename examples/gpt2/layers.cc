#include "examples/gpt2/layers.h"

#include <array>

namespace hocket {

Linear::Linear(ParameterGroup& group, const std::string& name, std::size_t weight,
               const LinearShape& shape)
    : group_(group),
      names_(group.name() + "." + name),
      gelu_names_(group.name() + ".gelu"),
      add_name_(group.name() + ".add"),
      shape_(shape),
      weight_(group.weights(weight)),
      bias_(group.weights(weight + 1)),
      dweight_(group.gradient(weight)),
      dbias_(group.gradient(weight + 1)) {}

void Linear::submit_forward(Submitter& submitter, const Buffer& x, Buffer& y) const {
  submitter.compute(
      {.name = names_.forward, .priority = group_.priorities().forward},
      std::array{read(group_.parameters().id), read(x.id), write(y.id)},
      [this, &x, &y] { group_.backend().linear_forward(shape_, x, weight_, bias_, {}, y); });
}

void Linear::submit_forward(Submitter& submitter, const Buffer& x, const Buffer& residual,
                            Buffer& y) const {
  const std::uint32_t priority = group_.priorities().forward;
  if (group_.backend().fuses()) {
    submitter.compute(
        {.name = names_.forward, .priority = priority},
        std::array{read(group_.parameters().id), read(x.id), read(residual.id), write(y.id)},
        [this, &x, &residual, &y] {
          group_.backend().linear_forward(shape_, x, weight_, bias_, residual, y);
        });
    return;
  }
  submit_forward(submitter, x, y);
  submitter.compute({.name = add_name_, .priority = priority},
                    std::array{read(residual.id), update(y.id)},
                    [this, &residual, &y] { group_.backend().residual_add(residual, y); });
}

void Linear::submit_gelu_forward(Submitter& submitter, const Buffer& x, Buffer& before,
                                 Buffer& y) const {
  const std::uint32_t priority = group_.priorities().forward;
  if (group_.backend().fuses()) {
    submitter.compute(
        {.name = names_.forward, .priority = priority},
        std::array{read(group_.parameters().id), read(x.id), write(before.id), write(y.id)},
        [this, &x, &before, &y] {
          group_.backend().linear_gelu_forward(shape_, x, weight_, bias_, before, y);
        });
    return;
  }
  submit_forward(submitter, x, before);
  submitter.compute({.name = gelu_names_.forward, .priority = priority},
                    std::array{read(before.id), write(y.id)},
                    [this, &before, &y] { group_.backend().gelu_forward(before, y); });
}

void Linear::submit_backward_input(Submitter& submitter, const Buffer& dy, Buffer& dx) const {
  submitter.compute(
      {.name = names_.input_gradient, .priority = group_.priorities().backward},
      std::array{read(group_.parameters().id), read(dy.id), write(dx.id)},
      [this, &dy, &dx] { group_.backend().linear_backward_input(shape_, dy, weight_, dx); });
}

void Linear::submit_gelu_backward_input(Submitter& submitter, const Buffer& dy,
                                        const Buffer& before, Buffer& dx) const {
  const std::uint32_t priority = group_.priorities().backward;
  if (group_.backend().fuses()) {
    submitter.compute(
        {.name = names_.input_gradient, .priority = priority},
        std::array{read(group_.parameters().id), read(dy.id), read(before.id), write(dx.id)},
        [this, &dy, &before, &dx] {
          group_.backend().linear_gelu_backward_input(shape_, dy, weight_, before, dx);
        });
    return;
  }
  submit_backward_input(submitter, dy, dx);
  submitter.compute({.name = gelu_names_.input_gradient, .priority = priority},
                    std::array{read(before.id), update(dx.id)},
                    [this, &before, &dx] { group_.backend().gelu_backward(before, dx); });
}

void Linear::submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& dy,
                                    Access gradients) const {
  submitter.compute(
      {.name = names_.weight_gradient, .priority = group_.priorities().weight_gradient},
      std::array{read(x.id), read(dy.id), gradients}, [this, &x, &dy] {
        group_.backend().linear_backward_weight(shape_, x, dy, dweight_, dbias_);
      });
}

LayerNorm::LayerNorm(ParameterGroup& group, const LayerNormShape& shape)
    : group_(group),
      names_(group.name() + ".norm"),
      shape_(shape),
      gain_(group.values(BlockParameter::gain)),
      bias_(group.values(BlockParameter::bias)),
      dgain_(group.gradient(BlockParameter::gain)),
      dbias_(group.gradient(BlockParameter::bias)) {}

void LayerNorm::submit_forward(Submitter& submitter, const Buffer& x, Buffer& y,
                               Buffer& statistics) const {
  submitter.compute(
      {.name = names_.forward, .priority = group_.priorities().forward},
      std::array{read(group_.parameters().id), read(x.id), write(y.id), write(statistics.id)},
      [this, &x, &y, &statistics] {
        group_.backend().layer_norm_forward(shape_, x, gain_, bias_, y, statistics);
      });
}

void LayerNorm::submit_backward_input(Submitter& submitter, const Buffer& x,
                                      const Buffer& statistics, const Buffer& dy,
                                      const Buffer* skip, Buffer& dx) const {
  const std::array accesses{
      read(group_.parameters().id),    read(x.id), read(statistics.id), read(dy.id), write(dx.id),
      read(skip ? skip->id : DataId{})};
  submitter.compute(
      {.name = names_.input_gradient, .priority = group_.priorities().backward},
      std::span(accesses).first(skip ? 6 : 5), [this, &x, &statistics, &dy, skip, &dx] {
        group_.backend().layer_norm_backward_input(shape_, x, gain_, statistics, dy,
                                                   skip ? BufferSlice(*skip) : BufferSlice(), dx);
      });
}

void LayerNorm::submit_backward_weight(Submitter& submitter, const Buffer& x,
                                       const Buffer& statistics, const Buffer& dy,
                                       Access gradients) const {
  submitter.compute(
      {.name = names_.weight_gradient, .priority = group_.priorities().weight_gradient},
      std::array{read(x.id), read(statistics.id), read(dy.id), gradients},
      [this, &x, &statistics, &dy] {
        group_.backend().layer_norm_backward_weight(shape_, x, statistics, dy, dgain_, dbias_);
      });
}

}  // namespace hocket
