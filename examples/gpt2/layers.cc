#include "examples/gpt2/layers.h"

#include <array>

namespace hocket {

Linear::Linear(ParameterGroup& group, const std::string& name, std::size_t weight,
               const LinearShape& shape)
    : group_(group),
      names_(group.name() + "." + name),
      shape_(shape),
      weight_(group.values(weight)),
      bias_(group.values(weight + 1)),
      dweight_(group.gradient(weight)),
      dbias_(group.gradient(weight + 1)) {}

void Linear::submit_forward(Submitter& submitter, const Buffer& x, Buffer& y) const {
  submitter.compute({.name = names_.forward, .priority = group_.priorities().forward},
                    std::array{read(group_.parameters().id), read(x.id), write(y.id)},
                    [this, &x, &y] { linear_forward(shape_, x.values, weight_, bias_, y.values); });
}

void Linear::submit_backward_input(Submitter& submitter, const Buffer& dy, Buffer& dx) const {
  submitter.compute(
      {.name = names_.input_gradient, .priority = group_.priorities().backward},
      std::array{read(group_.parameters().id), read(dy.id), write(dx.id)},
      [this, &dy, &dx] { linear_backward_input(shape_, dy.values, weight_, dx.values); });
}

void Linear::submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& dy,
                                    Access gradients) const {
  submitter.compute(
      {.name = names_.weight_gradient, .priority = group_.priorities().weight_gradient},
      std::array{read(x.id), read(dy.id), gradients},
      [this, &x, &dy] { linear_backward_weight(shape_, x.values, dy.values, dweight_, dbias_); });
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
        layer_norm_forward(shape_, x.values, gain_, bias_, y.values, statistics.values);
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
        layer_norm_backward_input(shape_, x.values, gain_, statistics.values, dy.values,
                                  skip ? ConstFloats(skip->values) : ConstFloats(), dx.values);
      });
}

void LayerNorm::submit_backward_weight(Submitter& submitter, const Buffer& x,
                                       const Buffer& statistics, const Buffer& dy,
                                       Access gradients) const {
  submitter.compute(
      {.name = names_.weight_gradient, .priority = group_.priorities().weight_gradient},
      std::array{read(x.id), read(statistics.id), read(dy.id), gradients},
      [this, &x, &statistics, &dy] {
        layer_norm_backward_weight(shape_, x.values, statistics.values, dy.values, dgain_, dbias_);
      });
}

}  // namespace hocket
