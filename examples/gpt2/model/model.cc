#include "examples/gpt2/model/model.h"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <string>

#include "core/base/check.h"

namespace hocket {
namespace {

std::deque<ParameterGroup> make_groups(Backend& backend, const Gpt2Config& config,
                                       const TrainingOptions& options) {
  const std::vector<GroupSpec> specs = parameter_groups(config);
  std::deque<ParameterGroup> groups;
  for (const GroupSpec& spec : specs)
    groups.emplace_back(backend, spec, groups.size(), specs.size(), options);
  return groups;
}

/// Counts the tasks that access each piece of data; the data belong to another submitter.
class UseCounter final : public Submitter {
 public:
  explicit UseCounter(const RankGrid& grid) : grid_(grid) {}

  RankGrid grid() const override { return grid_; }
  DataId add_data(const DataPlace&, std::string_view) override {
    HOCKET_CHECK(false, "data is added before uses are counted");
    return {};
  }
  void compute(const TaskOptions&, std::span<const Access> accesses, TaskBody) override {
    count(accesses);
  }
  void compute_pieces(const TaskOptions&, std::span<const Access> accesses, PieceBody) override {
    count(accesses);
  }
  void all_reduce(const TaskOptions&, DataId, std::span<float>) override {}
  void reduce_scatter(const TaskOptions&, DataId, std::span<float>) override {}
  void all_gather(const TaskOptions&, DataId, std::span<float>) override {}

  std::uint32_t uses_of(DataId data) const {
    return data.index < uses_.size() ? uses_[data.index] : 0;
  }

 private:
  void count(std::span<const Access> accesses) {
    for (const Access& access : accesses) {
      if (access.data.index >= uses_.size()) uses_.resize(access.data.index + 1);
      ++uses_[access.data.index];
    }
  }

  const RankGrid grid_;
  // by data
  std::vector<std::uint32_t> uses_;
};

std::string mebibytes(std::int64_t bytes) {
  return std::to_string((bytes >> 20) + 1) + " MiB";
}

Error no_memory(const Gpt2Config& config, const TrainingOptions& options, Backend& backend) {
  return {ErrorCode::unavailable, "model: " + workload(config).name + " takes about " +
                                      mebibytes(memory_bytes(config, options, backend)) +
                                      " of memory, which is not there; choose a smaller one"};
}

std::int64_t memory_limit_bytes(const TrainingOptions& options, const Backend& backend) {
  const std::int64_t there = backend.memory_limit_bytes();
  return options.memory_limit_bytes > 0 ? std::min(options.memory_limit_bytes, there) : there;
}

Result<void> check_memory(const Gpt2Config& config, TrainingOptions options, Backend& backend) {
  const std::int64_t limit = memory_limit_bytes(options, backend);
  const std::int64_t asked = options.micro_batches_kept;
  if (memory_bytes(config, options, backend) <= limit) return {};
  options.micro_batches_kept = 1;
  const std::int64_t spare = limit - memory_bytes(config, options, backend);
  if (spare < 0) return failure(no_memory(config, options, backend));
  const std::int64_t each = micro_batch_bytes(config, options, backend);
  return failure(ErrorCode::invalid_argument,
                 "field \"micro_batches_kept\": the activations of " + std::to_string(asked) +
                     " micro-batches take about " + mebibytes(asked * each) +
                     ", for which the memory is not there; keep at most " +
                     std::to_string(1 + spare / each));
}

}  // namespace

Result<std::unique_ptr<Gpt2>> Gpt2::create(const Gpt2Config& config, const TrainingOptions& options,
                                           const Text& text, Backend& backend) {
  HOCKET_TRY(validate(config));
  HOCKET_TRY(validate(options));
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
  const Result<void> fits = check_memory(config, options, backend);
  // Checked beforehand, since the system may grant memory that does not exist and fail on its use.
  HOCKET_TRY(fits);
  try {
    return std::unique_ptr<Gpt2>(new Gpt2(config, options, text, backend));
  } catch (const std::bad_alloc&) {
    return failure(no_memory(config, options, backend));
  }
}

Gpt2::Gpt2(const Gpt2Config& config, const TrainingOptions& options, const Text& text,
           Backend& backend)
    : config_(config),
      options_(options),
      text_(text),
      backend_(backend),
      groups_(make_groups(backend, config, options_)),
      losses_(backend.allocate_losses(
          static_cast<std::size_t>(options.steps * options.micro_batches))) {
  const auto kept = static_cast<std::size_t>(options.micro_batches_kept);
  const auto count = static_cast<std::uint32_t>(options.micro_batches);
  backend.allocate_batches(kept, static_cast<std::size_t>(config.rows()), count);
  for (std::size_t i = 0; i < kept; ++i) memories_.emplace_back(backend, config, i);
  for (std::uint32_t i = 0; i < count; ++i) {
    const LossPlaces losses{
        .first = losses_.data() + i, .stride = count, .steps = backend.allocate_count(1)};
    passes_.emplace_back(Pass::Shared{config_, groups_, backend_}, memories_[i % kept],
                         MicroBatch{.index = i, .count = count}, losses);
  }
}

void Gpt2::attach(Submitter& submitter) {
  for (ParameterGroup& group : groups_) group.attach(submitter);
  for (PassMemory& memory : memories_) memory.attach(submitter);
  for (Pass& pass : passes_) pass.attach();
  UseCounter counter(submitter.grid());
  submitter_ = &counter;
  submit_tasks();
  submitter_ = &submitter;
  std::vector<UsedBuffer> used;
  for (PassMemory& memory : memories_) {
    for (const auto& [name, buffer] : memory.buffers()) {
      // With a single block, only one of the two alternating sets of gradients is used.
      const std::uint32_t uses = counter.uses_of(buffer->id);
      if (uses > 0) used.push_back({buffer, uses});
    }
  }
  std::vector<const Buffer*> kept, gradients;
  for (const ParameterGroup& group : groups_) {
    for (const Buffer* buffer : group.kept_buffers()) kept.push_back(buffer);
    gradients.push_back(&group.gradients());
  }
  backend_.attached({.within_step = used, .kept = kept, .gradients = gradients});
}

void Gpt2::draw(std::int64_t step) {
  HOCKET_CHECK(drawn_ < options_.steps, "there are more steps than the training has");
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const BatchTokens batch = backend_.drawn_batch(i, drawn_);
    const std::int64_t number = step * std::ssize(passes_) + static_cast<std::int64_t>(i);
    text_.draw({options_.seed, options_.rank, number}, config_.sequence, batch.inputs,
               batch.targets);
  }
  ++drawn_;
}

void Gpt2::submit_tasks() {
  HOCKET_CHECK(submitter_, "the model is not attached");
  for (Pass& pass : passes_) {
    pass.submit_forward(*submitter_);
    const bool is_last = &pass == &passes_.back();
    pass.submit_backward(*submitter_, [&](ParameterGroup& group) {
      if (is_last) group.submit_update(*submitter_);
    });
  }
}

std::span<float> Gpt2::losses_of(std::int64_t step) const {
  return losses_.subspan(static_cast<std::size_t>(step) * passes_.size(), passes_.size());
}

float Gpt2::loss(std::int64_t step) const {
  const std::span<const float> losses = losses_of(step);
  return std::accumulate(losses.begin(), losses.end(), 0.0f) / static_cast<float>(losses.size());
}

std::vector<float> Gpt2::losses() const {
  std::vector<float> all;
  for (std::int64_t step = 0; step < options_.steps; ++step) all.push_back(loss(step));
  return all;
}

std::int64_t Gpt2::optimizer_bytes() const {
  std::int64_t bytes = 0;
  for (const ParameterGroup& group : groups_) bytes += group.optimizer_bytes();
  return bytes;
}

MicroBatchMemory Gpt2::micro_batch_memory() const {
  if (options_.micro_batches == 1 || !backend_.keeps_step_buffers()) return {};
  const std::int64_t each = micro_batch_bytes(config_, options_, backend_);
  const std::int64_t others =
      memory_bytes(config_, options_, backend_) - options_.micro_batches_kept * each;
  return {.bytes_each = each, .limit_bytes = memory_limit_bytes(options_, backend_) - others};
}

const Buffer& Gpt2::head_input() const {
  return memories_[(passes_.size() - 1) % memories_.size()].normed;
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
