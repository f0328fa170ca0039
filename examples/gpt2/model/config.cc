#include "examples/gpt2/model/config.h"

#include <cmath>
#include <initializer_list>
#include <string>

#include "examples/gpt2/model/parameters.h"

namespace hocket {
namespace {

struct IntegerField {
  const char* name;
  std::int64_t value, low, high;
};

struct RealField {
  const char* name;
  double value, low, high;
};

template <class Field>
Result<void> check_ranges(const char* what, std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value >= field.low && field.value <= field.high) continue;  // also false for NaN
    return failure(ErrorCode::invalid_argument, std::string(what) + ": " + field.name + " is " +
                                                    std::to_string(field.value) + ", allowed are " +
                                                    std::to_string(field.low) + " to " +
                                                    std::to_string(field.high));
  }
  return {};
}

}  // namespace

Result<void> validate(const Gpt2Config& config) {
  // The bounds keep every matrix dimension within BLAS's 32-bit integers.
  const auto ranges =
      check_ranges<IntegerField>("model", {{"layers", config.layers, 1, 512},
                                           {"heads", config.heads, 1, 256},
                                           {"d_model", config.d_model, 2, 16384},
                                           {"sequence", config.sequence, 1, 8192},
                                           {"batch", config.batch, 1, 8192},
                                           {"vocabulary", config.vocabulary, 2, 65536}});
  if (!ranges) return ranges;
  if (config.d_model % config.heads != 0) {
    return failure(ErrorCode::invalid_argument,
                   "model: d_model is " + std::to_string(config.d_model) +
                       ", which is not a multiple of heads (" + std::to_string(config.heads) + ")");
  }
  return {};
}

Result<void> validate(const TrainingOptions& options) {
  const auto integers = check_ranges<IntegerField>(
      "training", {{"steps", options.steps, 1, 10'000'000},
                   {"world_size", options.world_size, 1, 1'000'000},
                   {"rank", options.rank, 0, options.world_size - 1},
                   {"micro_batches", options.micro_batches, 1, 1024},
                   {"micro_batches_kept", options.micro_batches_kept, 1, options.micro_batches},
                   {"memory_limit_bytes", options.memory_limit_bytes, 0, INT64_MAX}});
  if (!integers) return integers;
  if (options.ranks_per_host < 1 || options.world_size % options.ranks_per_host != 0) {
    return failure(ErrorCode::invalid_argument, "training: ranks_per_host is " +
                                                    std::to_string(options.ranks_per_host) +
                                                    ", which does not divide world_size (" +
                                                    std::to_string(options.world_size) + ")");
  }
  const AdamW& adamw = options.adamw;
  return check_ranges<RealField>("training", {{"learning_rate", adamw.learning_rate, 0, 1},
                                              {"beta1", adamw.beta1, 0, 0.999999},
                                              {"beta2", adamw.beta2, 0, 0.999999},
                                              {"epsilon", adamw.epsilon, 1e-12, 1},
                                              {"weight_decay", adamw.weight_decay, 0, 1}});
}

Workload workload(const Gpt2Config& config) {
  Workload result;
  result.name = "gpt2-" + std::to_string(config.layers) + "x" + std::to_string(config.d_model) +
                "-s" + std::to_string(config.sequence) + "-b" + std::to_string(config.batch);
  for (const GroupSpec& group : parameter_groups(config)) {
    result.tensors.push_back({group.name, static_cast<std::int64_t>(group.size() * sizeof(float))});
  }
  return result;
}

Workload workload(const Gpt2Config& config, const TrainingOptions& options) {
  Workload result = workload(config);
  if (options.micro_batches > 1) result.name += "-m" + std::to_string(options.micro_batches);
  if (options.shard_optimizer) result.name += "-sharded";
  if (options.update_on_servers) result.name += "-served";
  return result;
}

}  // namespace hocket
