#include "examples/gpt2/block.h"

#include <array>

namespace hocket {
namespace {

std::size_t stream_size(const Gpt2Config& config) {
  return static_cast<std::size_t>(config.rows()) * config.d_model;
}

AttentionShape attention_shape(const Gpt2Config& config) {
  return {config.batch, config.sequence, config.heads, config.d_model};
}

}  // namespace

BlockGradients::BlockGradients(Backend& backend, const Gpt2Config& config) {
  const auto activation = [&](std::size_t size) {
    return backend.allocate(BufferUse::activation, size);
  };
  for (Buffer* buffer : {&in, &attention_normed, &attended, &middle, &mlp_normed})
    *buffer = activation(stream_size(config));
  qkv = activation(3 * stream_size(config));
  up = activation(4 * stream_size(config));
  attention_scratch = activation(backend.attention_memory(attention_shape(config)).scratch_size);
}

std::vector<Buffer*> BlockGradients::buffers() {
  return {&in, &attention_normed, &qkv, &attended, &attention_scratch, &middle, &mlp_normed, &up};
}

void BlockGradients::attach(Submitter& submitter) {
  for (Buffer* buffer : buffers()) buffer->attach(submitter);
}

Block::Block(const Gpt2Config& config, ParameterGroup& attention, ParameterGroup& mlp)
    : attention_shape_(attention_shape(config)),
      attention_(attention),
      mlp_(mlp),
      heads_names_(attention.name() + ".heads"),
      attention_norm_(attention, {config.rows(), config.d_model}),
      mlp_norm_(mlp, {config.rows(), config.d_model}),
      qkv_(attention, "qkv", BlockParameter::first_weight,
           {config.rows(), config.d_model, 3 * config.d_model}),
      attention_projection_(attention, "projection", BlockParameter::second_weight,
                            {config.rows(), config.d_model, config.d_model}),
      up_(mlp, "up", BlockParameter::first_weight,
          {config.rows(), config.d_model, 4 * config.d_model}),
      down_(mlp, "down", BlockParameter::second_weight,
            {config.rows(), 4 * config.d_model, config.d_model}) {
  Backend& backend = attention.backend();
  const auto activation = [&](std::size_t size) {
    return backend.allocate(BufferUse::activation, size);
  };
  for (Buffer* buffer : {&attention_normed_, &attended_, &middle_, &mlp_normed_, &out_})
    *buffer = activation(stream_size(config));
  for (Buffer* buffer : {&attention_statistics_, &mlp_statistics_})
    *buffer = backend.allocate(BufferUse::statistics, 2 * static_cast<std::size_t>(config.rows()));
  qkv_out_ = activation(3 * stream_size(config));
  up_out_ = activation(4 * stream_size(config));
  gelu_out_ = activation(4 * stream_size(config));
  const AttentionMemory kept = backend.attention_memory(attention_shape_);
  attention_kept_ = backend.allocate(kept.kept_use, kept.kept_size);
}

std::vector<Buffer*> Block::buffers() {
  return {
      &attention_normed_, &attention_statistics_, &qkv_out_, &attention_kept_, &attended_, &middle_,
      &mlp_normed_,       &mlp_statistics_,       &up_out_,  &gelu_out_,       &out_};
}

void Block::attach(Submitter& submitter) {
  for (Buffer* buffer : buffers()) buffer->attach(submitter);
}

void Block::submit_forward(Submitter& submitter, const Buffer& in) {
  attention_norm_.submit_forward(submitter, in, attention_normed_, attention_statistics_);
  qkv_.submit_forward(submitter, attention_normed_, qkv_out_);
  submit_attention(submitter);
  attention_projection_.submit_forward(submitter, attended_, in, middle_);

  mlp_norm_.submit_forward(submitter, middle_, mlp_normed_, mlp_statistics_);
  up_.submit_gelu_forward(submitter, mlp_normed_, up_out_, gelu_out_);
  down_.submit_forward(submitter, gelu_out_, middle_, out_);
}

void Block::submit_mlp_backward(Submitter& submitter, const Buffer& dout,
                                BlockGradients& gradients) {
  const DataId written = mlp_.gradients().id;
  down_.submit_gelu_backward_input(submitter, dout, up_out_, gradients.up);
  down_.submit_backward_weight(submitter, gelu_out_, dout, write(written));
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
      std::array{read(qkv_out_.id), read(attention_kept_.id), read(attended_.id),
                 read(gradients.attended.id), write(gradients.attention_scratch.id),
                 write(gradients.qkv.id)},
      [this, &gradients] {
        attention_.backend().attention_backward(attention_shape_, qkv_out_, attention_kept_,
                                                attended_, gradients.attended,
                                                gradients.attention_scratch, gradients.qkv);
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
  submitter.compute({.name = heads_names_.forward, .priority = attention_.priorities().forward},
                    std::array{read(qkv_out_.id), write(attention_kept_.id), write(attended_.id)},
                    [this] {
                      attention_.backend().attention_forward(attention_shape_, qkv_out_,
                                                             attention_kept_, attended_);
                    });
}

}  // namespace hocket
