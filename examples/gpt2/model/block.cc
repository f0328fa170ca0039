#include "examples/gpt2/model/block.h"

#include <array>

namespace hocket {
namespace {

std::size_t stream_size(const Gpt2Config& config) {
  return static_cast<std::size_t>(config.rows()) * config.d_model;
}

}  // namespace

AttentionShape attention_shape(const Gpt2Config& config) {
  return {config.batch, config.sequence, config.heads, config.d_model};
}

BlockGradients::BlockGradients(BufferAllocator& allocator, const Gpt2Config& config) {
  const auto activation = [&](std::size_t size) {
    return allocator.allocate(BufferUse::activation, size);
  };
  for (Buffer* buffer : {&in, &attention_normed, &attended, &middle, &mlp_normed})
    *buffer = activation(stream_size(config));
  qkv = activation(3 * stream_size(config));
  up = activation(4 * stream_size(config));
}

std::vector<NamedBuffer> BlockGradients::buffers() {
  return {{"in", &in},         {"attention_normed", &attention_normed},
          {"qkv", &qkv},       {"attended", &attended},
          {"middle", &middle}, {"mlp_normed", &mlp_normed},
          {"up", &up}};
}

BlockActivations::BlockActivations(BufferAllocator& allocator, const Gpt2Config& config) {
  const auto activation = [&](std::size_t size) {
    return allocator.allocate(BufferUse::activation, size);
  };
  for (Buffer* buffer : {&attention_normed, &attended, &middle, &mlp_normed, &out})
    *buffer = activation(stream_size(config));
  for (Buffer* buffer : {&attention_statistics, &mlp_statistics})
    *buffer =
        allocator.allocate(BufferUse::statistics, 2 * static_cast<std::size_t>(config.rows()));
  qkv = activation(3 * stream_size(config));
  up = activation(4 * stream_size(config));
  gelu = activation(4 * stream_size(config));
  const AttentionMemory memory = allocator.attention_memory(attention_shape(config));
  attention_kept = allocator.allocate(memory.kept_use, memory.kept_size);
}

std::vector<NamedBuffer> BlockActivations::buffers() {
  return {{"attention_normed", &attention_normed},
          {"attention_statistics", &attention_statistics},
          {"qkv", &qkv},
          {"attention_kept", &attention_kept},
          {"attended", &attended},
          {"middle", &middle},
          {"mlp_normed", &mlp_normed},
          {"mlp_statistics", &mlp_statistics},
          {"up", &up},
          {"gelu", &gelu},
          {"out", &out}};
}

Block::Block(const Gpt2Config& config, ParameterGroup& attention, ParameterGroup& mlp,
             BlockActivations& kept, MicroBatch of)
    : attention_shape_(attention_shape(config)),
      attention_(attention),
      mlp_(mlp),
      kept_(kept),
      heads_tasks_(attention.name() + ".heads", attention.layer(), of),
      attention_norm_(attention, {config.rows(), config.d_model}, of),
      mlp_norm_(mlp, {config.rows(), config.d_model}, of),
      qkv_(attention, "qkv", BlockParameter::first_weight,
           {config.rows(), config.d_model, 3 * config.d_model}, of),
      attention_projection_(attention, "projection", BlockParameter::second_weight,
                            {config.rows(), config.d_model, config.d_model}, of),
      up_(mlp, "up", BlockParameter::first_weight,
          {config.rows(), config.d_model, 4 * config.d_model}, of),
      down_(mlp, "down", BlockParameter::second_weight,
            {config.rows(), 4 * config.d_model, config.d_model}, of) {}

void Block::attach() {
  for (LayerNorm* norm : {&attention_norm_, &mlp_norm_}) norm->attach();
  for (Linear* linear : {&qkv_, &attention_projection_, &up_, &down_}) linear->attach();
}

void Block::submit_forward(Submitter& submitter, const Buffer& in) {
  attention_norm_.submit_forward(submitter, in, kept_.attention_normed, kept_.attention_statistics);
  qkv_.submit_forward(submitter, kept_.attention_normed, kept_.qkv);
  submit_attention(submitter);
  attention_projection_.submit_forward(submitter, kept_.attended, in, kept_.middle);

  mlp_norm_.submit_forward(submitter, kept_.middle, kept_.mlp_normed, kept_.mlp_statistics);
  up_.submit_gelu_forward(submitter, kept_.mlp_normed, kept_.up, kept_.gelu);
  down_.submit_forward(submitter, kept_.gelu, kept_.middle, kept_.out);
}

void Block::submit_mlp_backward(Submitter& submitter, const Buffer& dout,
                                BlockGradients& gradients) {
  down_.submit_gelu_backward_input(submitter, dout, kept_.up, gradients.up);
  down_.submit_backward_weight(submitter, kept_.gelu, dout);
  up_.submit_backward_input(submitter, gradients.up, gradients.mlp_normed);
  up_.submit_backward_weight(submitter, kept_.mlp_normed, gradients.up);
  mlp_norm_.submit_backward_input(submitter, kept_.middle, kept_.mlp_statistics,
                                  gradients.mlp_normed, &dout, gradients.middle);
  mlp_norm_.submit_backward_weight(submitter, kept_.middle, kept_.mlp_statistics,
                                   gradients.mlp_normed);
}

void Block::submit_attention_backward(Submitter& submitter, const Buffer& in,
                                      BlockGradients& gradients, Buffer& scratch) {
  attention_projection_.submit_backward_input(submitter, gradients.middle, gradients.attended);
  attention_projection_.submit_backward_weight(submitter, kept_.attended, gradients.middle);
  submitter.compute(
      heads_tasks_.input_gradient.options(attention_.priorities().backward),
      std::array{read(kept_.qkv.id), read(kept_.attention_kept.id), read(kept_.attended.id),
                 read(gradients.attended.id), write(scratch.id), write(gradients.qkv.id)},
      [this, &gradients, &scratch] {
        attention_.backend().attention_backward(attention_shape_, kept_.qkv, kept_.attention_kept,
                                                kept_.attended, gradients.attended, scratch,
                                                gradients.qkv);
      });
  qkv_.submit_backward_input(submitter, gradients.qkv, gradients.attention_normed);
  qkv_.submit_backward_weight(submitter, kept_.attention_normed, gradients.qkv);
  attention_norm_.submit_backward_input(submitter, in, kept_.attention_statistics,
                                        gradients.attention_normed, &gradients.middle,
                                        gradients.in);
  attention_norm_.submit_backward_weight(submitter, in, kept_.attention_statistics,
                                         gradients.attention_normed);
}

void Block::submit_attention(Submitter& submitter) {
  submitter.compute(
      heads_tasks_.forward.options(attention_.priorities().forward),
      std::array{read(kept_.qkv.id), write(kept_.attention_kept.id), write(kept_.attended.id)},
      [this] {
        attention_.backend().attention_forward(attention_shape_, kept_.qkv, kept_.attention_kept,
                                               kept_.attended);
      });
}

}  // namespace hocket
