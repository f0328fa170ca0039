#include "examples/gpt2/block.h"

#include <array>

namespace hocket {
namespace {

std::size_t stream_size(const Gpt2Config& config) {
  return static_cast<std::size_t>(config.rows()) * config.d_model;
}

}  // namespace

BlockGradients::BlockGradients(const Gpt2Config& config)
    : in(stream_size(config)),
      attention_normed(stream_size(config)),
      qkv(3 * stream_size(config)),
      attended(stream_size(config)),
      attention_scratch(static_cast<std::size_t>(config.sequence) * config.sequence),
      middle(stream_size(config)),
      mlp_normed(stream_size(config)),
      up(4 * stream_size(config)) {}

void BlockGradients::attach(Submitter& submitter) {
  for (Buffer* buffer :
       {&in, &attention_normed, &qkv, &attended, &attention_scratch, &middle, &mlp_normed, &up}) {
    buffer->attach(submitter);
  }
}

Block::Block(const Gpt2Config& config, ParameterGroup& attention, ParameterGroup& mlp)
    : attention_shape_{config.batch, config.sequence, config.heads, config.d_model},
      attention_(attention),
      mlp_(mlp),
      heads_names_(attention.name() + ".heads"),
      gelu_names_(mlp.name() + ".gelu"),
      attention_add_name_(attention.name() + ".add"),
      mlp_add_name_(mlp.name() + ".add"),
      attention_norm_(attention, {config.rows(), config.d_model}),
      mlp_norm_(mlp, {config.rows(), config.d_model}),
      qkv_(attention, "qkv", BlockParameter::first_weight,
           {config.rows(), config.d_model, 3 * config.d_model}),
      attention_projection_(attention, "projection", BlockParameter::second_weight,
                            {config.rows(), config.d_model, config.d_model}),
      up_(mlp, "up", BlockParameter::first_weight,
          {config.rows(), config.d_model, 4 * config.d_model}),
      down_(mlp, "down", BlockParameter::second_weight,
            {config.rows(), 4 * config.d_model, config.d_model}),
      attention_normed_(stream_size(config)),
      attention_statistics_(2 * static_cast<std::size_t>(config.rows())),
      qkv_out_(3 * stream_size(config)),
      attention_weights_(static_cast<std::size_t>(config.rows()) * config.heads * config.sequence),
      attended_(stream_size(config)),
      middle_(stream_size(config)),
      mlp_normed_(stream_size(config)),
      mlp_statistics_(2 * static_cast<std::size_t>(config.rows())),
      up_out_(4 * stream_size(config)),
      gelu_out_(4 * stream_size(config)),
      out_(stream_size(config)) {}

void Block::attach(Submitter& submitter) {
  for (Buffer* buffer :
       {&attention_normed_, &attention_statistics_, &qkv_out_, &attention_weights_, &attended_,
        &middle_, &mlp_normed_, &mlp_statistics_, &up_out_, &gelu_out_, &out_}) {
    buffer->attach(submitter);
  }
}

void Block::submit_forward(Submitter& submitter, const Buffer& in) {
  attention_norm_.submit_forward(submitter, in, attention_normed_, attention_statistics_);
  qkv_.submit_forward(submitter, attention_normed_, qkv_out_);
  submit_attention(submitter);
  attention_projection_.submit_forward(submitter, attended_, middle_);
  submit_add(submitter, attention_, attention_add_name_, in, middle_);

  mlp_norm_.submit_forward(submitter, middle_, mlp_normed_, mlp_statistics_);
  up_.submit_forward(submitter, mlp_normed_, up_out_);
  submit_gelu(submitter);
  down_.submit_forward(submitter, gelu_out_, out_);
  submit_add(submitter, mlp_, mlp_add_name_, middle_, out_);
}

void Block::submit_mlp_backward(Submitter& submitter, const Buffer& dout,
                                BlockGradients& gradients) {
  const DataId written = mlp_.gradients().id;
  down_.submit_backward_input(submitter, dout, gradients.up);
  down_.submit_backward_weight(submitter, gelu_out_, dout, write(written));
  submitter.compute({.name = gelu_names_.input_gradient, .priority = mlp_.priorities().backward},
                    std::array{read(up_out_.id), update(gradients.up.id)},
                    [this, &gradients] { gelu_backward(up_out_.values, gradients.up.values); });
  up_.submit_backward_input(submitter, gradients.up, gradients.mlp_normed);
  up_.submit_backward_weight(submitter, mlp_normed_, gradients.up, update(written));
  mlp_norm_.submit_backward_input(submitter, middle_, mlp_statistics_, gradients.mlp_normed, &dout,
                                  gradients.middle);
  mlp_norm_.submit_backward_weight(submitter, middle_, mlp_statistics_, gradients.mlp_normed,
                                   update(written));
}

void Block::submit_attention_backward(Submitter& submitter, const Buffer& in,
                                      BlockGradients& gradients) {
  const DataId written = attention_.gradients().id;
  attention_projection_.submit_backward_input(submitter, gradients.middle, gradients.attended);
  attention_projection_.submit_backward_weight(submitter, attended_, gradients.middle,
                                               write(written));
  submitter.compute(
      {.name = heads_names_.input_gradient, .priority = attention_.priorities().backward},
      std::array{read(qkv_out_.id), read(attention_weights_.id), read(gradients.attended.id),
                 write(gradients.attention_scratch.id), write(gradients.qkv.id)},
      [this, &gradients] {
        attention_backward(attention_shape_, qkv_out_.values, attention_weights_.values,
                           gradients.attended.values, gradients.attention_scratch.values,
                           gradients.qkv.values);
      });
  qkv_.submit_backward_input(submitter, gradients.qkv, gradients.attention_normed);
  qkv_.submit_backward_weight(submitter, attention_normed_, gradients.qkv, update(written));
  attention_norm_.submit_backward_input(submitter, in, attention_statistics_,
                                        gradients.attention_normed, &gradients.middle,
                                        gradients.in);
  attention_norm_.submit_backward_weight(submitter, in, attention_statistics_,
                                         gradients.attention_normed, update(written));
}

void Block::submit_attention(Submitter& submitter) {
  submitter.compute(
      {.name = heads_names_.forward, .priority = attention_.priorities().forward},
      std::array{read(qkv_out_.id), write(attention_weights_.id), write(attended_.id)}, [this] {
        attention_forward(attention_shape_, qkv_out_.values, attention_weights_.values,
                          attended_.values);
      });
}

void Block::submit_gelu(Submitter& submitter) {
  submitter.compute({.name = gelu_names_.forward, .priority = mlp_.priorities().forward},
                    std::array{read(up_out_.id), write(gelu_out_.id)},
                    [this] { gelu_forward(up_out_.values, gelu_out_.values); });
}

void Block::submit_add(Submitter& submitter, const ParameterGroup& group, std::string_view name,
                       const Buffer& in, Buffer& out) {
  submitter.compute({.name = name, .priority = group.priorities().forward},
                    std::array{read(in.id), update(out.id)},
                    [&in, &out] { residual_add(in.values, out.values); });
}

}  // namespace hocket
