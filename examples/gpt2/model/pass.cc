#include "examples/gpt2/model/pass.h"

#include <array>
#include <string>

namespace hocket {
namespace {

std::size_t matrix_size(int rows, int columns) {
  return static_cast<std::size_t>(rows) * columns;
}

}  // namespace

PassMemory::PassMemory(BufferAllocator& allocator, const Gpt2Config& config, std::size_t of_batch)
    : batch(of_batch),
      gradients{BlockGradients(allocator, config), BlockGradients(allocator, config)} {
  for (Buffer* buffer : {&embedded, &normed, &dnormed})
    *buffer = allocator.allocate(BufferUse::activation, matrix_size(config.rows(), config.d_model));
  logits = allocator.allocate(BufferUse::activation, matrix_size(config.rows(), config.vocabulary));
  attention_scratch = allocator.allocate(
      BufferUse::activation, allocator.attention_memory(attention_shape(config)).scratch_size);
  statistics = allocator.allocate(BufferUse::statistics, matrix_size(config.rows(), 2));
  for (int layer = 0; layer < config.layers; ++layer) blocks.emplace_back(allocator, config);
}

std::vector<NamedBuffer> PassMemory::buffers() {
  // Each kept micro-batch has such memory.
  const std::string of = batch == 0 ? "" : "batch " + std::to_string(batch) + ".";
  std::vector<NamedBuffer> all = {
      {of + "embedded", &embedded},     {of + "normed", &normed},
      {of + "statistics", &statistics}, {of + "logits", &logits},
      {of + "dnormed", &dnormed},       {of + "attention_scratch", &attention_scratch}};
  const auto add = [&](const std::string& owner, const std::vector<NamedBuffer>& more) {
    for (const auto& [name, buffer] : more) all.push_back({of + owner + "." + name, buffer});
  };
  for (std::size_t i = 0; i < blocks.size(); ++i)
    add("block." + std::to_string(i), blocks[i].buffers());
  for (std::size_t i = 0; i < gradients.size(); ++i)
    add("gradients." + std::to_string(i), gradients[i].buffers());
  return all;
}

void PassMemory::attach(Submitter& submitter) {
  batch_id = submitter.add_data({}, "tokens " + std::to_string(batch));
  for (const auto& [name, buffer] : buffers()) buffer->attach(submitter, name);
}

Pass::Pass(const Shared& shared, PassMemory& memory, MicroBatch of, const LossPlaces& losses)
    : shared_(shared),
      memory_(memory),
      micro_batch_(of),
      loaded_(shared.backend.allocate_count(1)),
      losses_(losses),
      batch_task_("batch", "forward", "embedding", of.place()),
      lookup_tasks_("embedding.lookup", "embedding", of),
      embedding_tasks_("embedding", "embedding", of),
      head_tasks_("head", "head", of),
      loss_task_("loss", "forward", "head", of.place()),
      // In the embedding's region, though it could run early: gradients are added in the order of
      // the micro-batches, even when their backward passes overlap.
      table_task_("head.dw", "backward", "embedding", of.place()),
      final_norm_(shared.groups.back(), {shared.config.rows(), shared.config.d_model}, of) {
  const Gpt2Config& config = shared.config;
  for (std::size_t i = 0; i < memory.blocks.size(); ++i) {
    blocks_.emplace_back(config, shared.groups[1 + 2 * i], shared.groups[2 + 2 * i],
                         memory.blocks[i], of);
  }
  table_task_.place.dimensions =
      weight_gradient_dimensions(shared.backend, config.vocabulary, config.rows(),
                                 embedding().gradient(EmbeddingParameter::tokens), 0);
}

void Pass::attach() {
  for (Block& block : blocks_) block.attach();
  final_norm_.attach();
  embedding().attach_gradient(EmbeddingParameter::tokens, table_task_);
}

EmbeddingShape Pass::embedding_shape() const {
  const Gpt2Config& config = shared_.config;
  return {config.batch, config.sequence, config.vocabulary, config.d_model};
}

LinearShape Pass::head_shape() const {
  return {shared_.config.rows(), shared_.config.d_model, shared_.config.vocabulary};
}

void Pass::submit_forward(Submitter& submitter) {
  submit_embedding_forward(submitter);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    blocks_[i].submit_forward(submitter, memory_.stream(i));
  submit_head_forward(submitter);
}

void Pass::submit_backward(Submitter& submitter,
                           const std::function<void(ParameterGroup&)>& complete) {
  submit_head_backward(submitter);
  complete(final_group());
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    BlockGradients& own = memory_.gradients_of(i);
    blocks_[i].submit_mlp_backward(submitter, memory_.gradients_of(i + 1).in, own);
    complete(shared_.groups[2 + 2 * i]);
    blocks_[i].submit_attention_backward(submitter, memory_.stream(i), own,
                                         memory_.attention_scratch);
    complete(shared_.groups[1 + 2 * i]);
  }
  submit_embedding_backward(submitter);
  complete(embedding());
}

void Pass::submit_embedding_forward(Submitter& submitter) {
  const std::uint32_t priority = embedding().priorities().forward;
  submitter.compute(batch_task_.options(priority), std::array{write(memory_.batch_id)},
                    [this] { backend().load_batch(memory_.batch, micro_batch_.index, loaded_); });
  submitter.compute(lookup_tasks_.forward.options(priority),
                    std::array{read(memory_.batch_id), read(embedding().parameters().id),
                               write(memory_.embedded.id)},
                    [this] {
                      backend().embedding_forward(
                          embedding_shape(), memory_.batch, token_table(),
                          embedding().weights(EmbeddingParameter::positions), memory_.embedded);
                    });
}

void Pass::submit_head_forward(Submitter& submitter) {
  const std::uint32_t priority = final_group().priorities().forward;
  final_norm_.submit_forward(submitter, memory_.stream(blocks_.size()), memory_.normed,
                             memory_.statistics);
  submitter.compute(head_tasks_.forward.options(priority),
                    std::array{read(embedding().parameters().id), read(memory_.normed.id),
                               write(memory_.logits.id)},
                    [this] {
                      backend().head_forward(head_shape(), memory_.normed, token_table(),
                                             memory_.logits);
                    });
  submitter.compute(loss_task_.options(priority),
                    std::array{read(memory_.batch_id), update(memory_.logits.id)}, [this] {
                      backend().cross_entropy(shared_.config.vocabulary, memory_.batch,
                                              memory_.logits, losses_);
                    });
}

void Pass::submit_head_backward(Submitter& submitter) {
  const Buffer& in = memory_.stream(blocks_.size());
  submitter.compute(head_tasks_.input_gradient.options(final_group().priorities().backward),
                    std::array{read(embedding().parameters().id), read(memory_.logits.id),
                               write(memory_.dnormed.id)},
                    [this] {
                      backend().head_backward_input(head_shape(), memory_.logits, token_table(),
                                                    memory_.dnormed);
                    });
  final_norm_.submit_backward_input(submitter, in, memory_.statistics, memory_.dnormed, nullptr,
                                    memory_.gradients_of(blocks_.size()).in);
  final_norm_.submit_backward_weight(submitter, in, memory_.statistics, memory_.dnormed);
}

void Pass::submit_embedding_backward(Submitter& submitter) {
  ParameterGroup& group = embedding();
  // Contributes to the embedding's gradient, which completes only now, so it is not urgent.
  submit_divisible(
      submitter, table_task_, group.priorities().weight_gradient,
      std::array{read(memory_.normed.id), read(memory_.logits.id), read(group.gradients().id),
                 group.first_access(EmbeddingParameter::tokens, micro_batch_)},
      [this](const TaskPiece& piece) {
        GradientPart whole = whole_table(head_shape());
        whole.add = !micro_batch_.is_first();
        backend().head_backward_weight(head_shape(), gradient_part(piece, whole), memory_.normed,
                                       memory_.logits,
                                       embedding().gradient(EmbeddingParameter::tokens));
      });
  submitter.compute(embedding_tasks_.weight_gradient.options(group.priorities().backward),
                    std::array{read(memory_.batch_id), read(memory_.gradients_of(0).in.id),
                               read(group.gradients().id),
                               update(group.gradient_data(EmbeddingParameter::tokens))},
                    [this] {
                      backend().embedding_backward(
                          embedding_shape(), memory_.batch, memory_.gradients_of(0).in,
                          embedding().gradient(EmbeddingParameter::tokens),
                          embedding().gradient(EmbeddingParameter::positions),
                          !micro_batch_.is_first());
                    });
}

}  // namespace hocket
