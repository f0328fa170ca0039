#include "examples/gpt2/model.h"

#include <bit>
#include <limits>
#include <new>
#include <string>

#include "core/check.h"

namespace hocket {
namespace {

std::deque<ParameterGroup> make_groups(Backend& backend, const Gpt2Config& config,
                                       std::uint64_t seed) {
  const std::vector<GroupSpec> specs = parameter_groups(config);
  std::deque<ParameterGroup> groups;
  for (const GroupSpec& spec : specs)
    groups.emplace_back(backend, spec, groups.size(), specs.size(), seed);
  return groups;
}

/// Counts how many tasks access each piece of data, whose numbers are another submitter's.
class UseCounter final : public Submitter {
 public:
  DataId add_data() override {
    HOCKET_CHECK(false, "data is added before uses are counted");
    return {};
  }
  void compute(const TaskOptions&, std::span<const Access> accesses, TaskBody) override {
    for (const Access& access : accesses) {
      if (access.data.index >= uses.size()) uses.resize(access.data.index + 1);
      ++uses[access.data.index];
    }
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}

  std::vector<std::uint32_t> uses;
};

std::size_t matrix_size(int rows, int columns) {
  return static_cast<std::size_t>(rows) * columns;
}

}  // namespace

Result<std::unique_ptr<Gpt2>> Gpt2::create(const Gpt2Config& config, const TrainingOptions& options,
                                           const Text& text, Backend& backend) {
  if (const auto ok = validate(config); !ok) return failure(ok.error());
  if (const auto ok = validate(options); !ok) return failure(ok.error());
  if (text.size() <= static_cast<std::size_t>(config.sequence)) {
    return failure(ErrorCode::invalid_argument,
                   "model: sequence is " + std::to_string(config.sequence) + ", but the text has " +
                       std::to_string(text.size()) +
                       " bytes; give a text that is longer than a sequence");
  }
  if (text.largest_token() >= config.vocabulary) {
    return failure(ErrorCode::invalid_argument,
                   "model: vocabulary is " + std::to_string(config.vocabulary) +
                       ", but the text has the byte " + std::to_string(text.largest_token()) +
                       "; a vocabulary of 256 holds every byte");
  }
  const Error no_memory{ErrorCode::unavailable,
                        "model: " + workload(config).name + " takes about " +
                            std::to_string((memory_bytes(config) >> 20) + 1) +
                            " MiB of memory, which is not there; choose a smaller one"};
  // Asked first, since memory that does not exist may be granted and its use punished later.
  if (memory_bytes(config) > backend.memory_limit_bytes()) return failure(no_memory);
  try {
    return std::unique_ptr<Gpt2>(new Gpt2(config, options, text, backend));
  } catch (const std::bad_alloc&) {
    return failure(no_memory);
  }
}

Gpt2::Gpt2(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
           Backend& backend)
    : config_(config),
      options_(options),
      text_(text),
      backend_(backend),
      groups_(make_groups(backend, config, options.seed)),
      losses_(backend.allocate_losses(static_cast<std::size_t>(options.steps))),
      final_norm_(groups_.back(), {config.rows(), config.d_model}),
      gradients_{BlockGradients(backend, config), BlockGradients(backend, config)} {
  backend.allocate_batch(static_cast<std::size_t>(config.rows()));
  for (Buffer* buffer : {&embedded_, &normed_, &dnormed_})
    *buffer = backend.allocate(BufferUse::activation, matrix_size(config.rows(), config.d_model));
  for (Buffer* buffer : {&logits_, &dlogits_})
    *buffer =
        backend.allocate(BufferUse::activation, matrix_size(config.rows(), config.vocabulary));
  statistics_ = backend.allocate(BufferUse::statistics, matrix_size(config.rows(), 2));
  for (int layer = 0; layer < config.layers; ++layer) {
    blocks_.emplace_back(config, groups_[1 + 2 * layer], groups_[2 + 2 * layer]);
  }
}

EmbeddingShape Gpt2::embedding_shape() const {
  return {config_.batch, config_.sequence, config_.vocabulary, config_.d_model};
}

std::vector<Buffer*> Gpt2::step_buffers() {
  std::vector<Buffer*> buffers = {&embedded_, &normed_,  &statistics_,
                                  &logits_,   &dlogits_, &dnormed_};
  const auto add = [&](const std::vector<Buffer*>& more) {
    buffers.insert(buffers.end(), more.begin(), more.end());
  };
  for (Block& block : blocks_) add(block.buffers());
  for (BlockGradients& set : gradients_) add(set.buffers());
  return buffers;
}

void Gpt2::attach(Submitter& submitter) {
  batch_id_ = submitter.add_data();
  for (ParameterGroup& group : groups_) group.attach(submitter);
  const std::vector<Buffer*> buffers = step_buffers();
  for (Buffer* buffer : buffers) buffer->attach(submitter);
  UseCounter counter;
  submitter_ = &counter;
  submit_step(0);
  submitter_ = &submitter;
  backend_.attached(std::vector<const Buffer*>(buffers.begin(), buffers.end()), counter.uses);
}

void Gpt2::submit_step(std::int64_t step) {
  HOCKET_CHECK(submitter_, "the model is not attached");
  HOCKET_CHECK(step >= 0 && step < options_.steps, "the step is outside the training");
  submit_embedding_forward(step);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    blocks_[i].submit_forward(*submitter_, stream(i));
  submit_head_forward(step);

  submit_head_backward();
  groups_.back().submit_update(*submitter_, options_, step);
  submit_blocks_backward(step);
  submit_embedding_backward();
  embedding().submit_update(*submitter_, options_, step);
}

void Gpt2::submit_embedding_forward(std::int64_t step) {
  const std::uint32_t priority = embedding().priorities().forward;
  submitter_->compute(
      {.name = "batch", .priority = priority}, std::array{write(batch_id_)}, [this, step] {
        backend_.load_batch(step, [&](auto inputs, auto targets) {
          text_.draw({options_.seed, options_.rank, step}, config_.sequence, inputs, targets);
        });
      });
  submitter_->compute(
      {.name = "embedding.lookup", .priority = priority},
      std::array{read(batch_id_), read(embedding().parameters().id), write(embedded_.id)}, [this] {
        backend_.embedding_forward(embedding_shape(), token_table(),
                                   embedding().weights(EmbeddingParameter::positions), embedded_);
      });
}

void Gpt2::submit_head_forward(std::int64_t step) {
  const std::uint32_t priority = groups_.back().priorities().forward;
  final_norm_.submit_forward(*submitter_, stream(blocks_.size()), normed_, statistics_);
  submitter_->compute(
      {.name = "head", .priority = priority},
      std::array{read(embedding().parameters().id), read(normed_.id), write(logits_.id)},
      [this] { backend_.head_forward(head_shape(), normed_, token_table(), logits_); });
  submitter_->compute({.name = "loss", .priority = priority},
                      std::array{read(batch_id_), read(logits_.id), write(dlogits_.id)},
                      [this, step] {
                        backend_.cross_entropy(config_.vocabulary, logits_, dlogits_,
                                               losses_[static_cast<std::size_t>(step)]);
                      });
}

void Gpt2::submit_head_backward() {
  const Buffer& in = stream(blocks_.size());
  submitter_->compute(
      {.name = "head.dx", .priority = groups_.back().priorities().backward},
      std::array{read(embedding().parameters().id), read(dlogits_.id), write(dnormed_.id)},
      [this] { backend_.head_backward_input(head_shape(), dlogits_, token_table(), dnormed_); });
  final_norm_.submit_backward_input(*submitter_, in, statistics_, dnormed_, nullptr,
                                    gradients(blocks_.size()).in);
  final_norm_.submit_backward_weight(*submitter_, in, statistics_, dnormed_,
                                     write(groups_.back().gradients().id));
  // Part of the embedding's gradient, which is complete only at the end of the backward pass: no
  // hurry.
  submitter_->compute(
      {.name = "head.dw", .priority = embedding().priorities().weight_gradient},
      std::array{read(normed_.id), read(dlogits_.id), write(embedding().gradients().id)}, [this] {
        backend_.head_backward_weight(head_shape(), normed_, dlogits_,
                                      embedding().gradient(EmbeddingParameter::tokens));
      });
}

void Gpt2::submit_blocks_backward(std::int64_t step) {
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    blocks_[i].submit_mlp_backward(*submitter_, gradients(i + 1).in, gradients(i));
    groups_[2 + 2 * i].submit_update(*submitter_, options_, step);
    blocks_[i].submit_attention_backward(*submitter_, stream(i), gradients(i));
    groups_[1 + 2 * i].submit_update(*submitter_, options_, step);
  }
}

void Gpt2::submit_embedding_backward() {
  submitter_->compute(
      {.name = "embedding.dw", .priority = embedding().priorities().backward},
      std::array{read(batch_id_), read(gradients(0).in.id), update(embedding().gradients().id)},
      [this] {
        backend_.embedding_backward(embedding_shape(), gradients(0).in,
                                    embedding().gradient(EmbeddingParameter::tokens),
                                    embedding().gradient(EmbeddingParameter::positions));
      });
}

std::uint64_t Gpt2::parameters_hash() const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const ParameterGroup& group : groups_) {
    for (const float value : backend_.load(group.parameters())) {
      hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3u;
    }
  }
  return hash;
}

}  // namespace hocket
