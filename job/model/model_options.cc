#include "job/model/model_options.h"

#include <CLI/CLI.hpp>

#include "core/base/text.h"
#include "job/run/flags.h"

namespace hocket {
namespace {

constexpr std::size_t kShownValueBytes = 60;

void add_optimiser_flags(CLI::App& app, ModelJobOptions& options) {
  app.add_option("--optimiser", options.optimiser, "adamw or sgd")->capture_default_str();
  app.add_option("--rate", options.rate, "Learning rate")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--weight-decay", options.passes.optimiser.weight_decay, "Of matrices")
      ->capture_default_str();
  app.add_option("--clip-norm", options.passes.optimiser.clip_norm,
                 "Most that the norm of all gradients may be; 0: any")
      ->capture_default_str();
  app.add_flag("--shard-optimizer", options.shard_optimizer,
               "Keep the optimiser's moments of an equal share of the parameters on each rank");
  app.add_flag("--update-on-servers", options.update_on_servers,
               "Leave the optimiser's moments and steps to the parameter servers");
}

void add_step_flags(CLI::App& app, ModelJobOptions& options) {
  app.add_option("--micro-batches", options.passes.micro_batches.count,
                 "Batches a step, whose gradients are added up")
      ->capture_default_str();
  app.add_option("--precision", options.precision,
                 "Of activations and products: float32, or bfloat16 on a device")
      ->capture_default_str();
  app.add_option("--recompute", options.passes.recomputation.regions,
                 "Regions whose values are computed again, such as 'block*'")
      ->allow_extra_args(false);
  app.add_option("--slack", options.slack,
                 "Operations by which memory stays after its last use, so that operations of "
                 "several streams wait less for it")
      ->capture_default_str();
  app.add_option("--memory-limit", options.device.memory_limit_bytes,
                 "What the model may take, like 2GiB; without it what the machine has. With "
                 "--offload-k, what it may take of a CUDA device")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--steps", options.run.steps, "Training steps")->capture_default_str();
  app.add_option("--warmup", options.run.warmup, "Steps that are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--seed", options.seed, "Of parameters and batches")->capture_default_str();
}

/// Returns invalid_argument for options that contradict updates on servers.
Result<void> check_update(const ModelJobOptions& options) {
  if (!options.update_on_servers) return {};
  const auto refused = [](const std::string& why) {
    return invalid("--update-on-servers: " + why);
  };
  if (options.device.device != "host") return refused("servers sum gradients of the host alone");
  if (options.shard_optimizer)
    return refused("the ranks then keep no moments to share; leave out --shard-optimizer");
  if (!options.run.profile.empty())
    return refused("--profile measures a step that the ranks update; leave one of them out");
  if (options.optimiser != "adamw") return refused("servers make steps of adamw alone");
  if (options.passes.optimiser.clip_norm > 0)
    return refused("servers see the sums of one part at a time; leave out --clip-norm");
  return {};
}

}  // namespace

void add_model_job_flags(CLI::App& app, ModelJobOptions& options) {
  add_optimiser_flags(app, options);
  add_step_flags(app, options);
  add_device_flags(app, options.device);
  add_network_flags(app, options.network);
  app.add_flag("--json", options.json,
               "Print one JSON object with iterations, losses and the overlap bound");
  add_run_flags(app, options.run);
}

Result<void> validate(const ModelJobOptions& options) {
  HOCKET_TRY(check_update(options));
  HOCKET_TRY(check_steps(options.run));
  HOCKET_TRY(validate(options.network));
  HOCKET_TRY(validate(options.device, options.run, options.network));
  HOCKET_TRY(passes_of(options, 1));
  const bool is_float32 = options.precision == "float32";
  if (is_on_cuda(options.device)) {
    if (is_float32 || !is_placed(options.device)) return {};
    return invalid("--precision: steps are placed in float32 alone; leave out bfloat16");
  }
  if (is_float32) return {};
  return invalid(
      "--precision: the host computes in float32 alone; with bfloat16 use --device cuda");
}

Result<PassOptions> passes_of(const ModelJobOptions& options, std::int64_t ranks) {
  PassOptions passes = options.passes;
  passes.needed.outputs = {"loss"};
  passes.optimiser.ranks = ranks;
  passes.optimiser.sums = options.shard_optimizer || is_placed(options.device);
  if (options.update_on_servers) {
    passes.optimiser.method = OptimiserMethod::served;
    passes.optimiser.served_rate = options.rate;
  } else if (options.optimiser == "adamw") {
    passes.optimiser.method = OptimiserMethod::adamw;
  } else if (options.optimiser == "sgd") {
    passes.optimiser.method = OptimiserMethod::sgd;
  } else {
    return invalid("--optimiser: expected adamw or sgd, found \"" +
                   printable(options.optimiser, kShownValueBytes) + "\"");
  }
  if (options.precision == "bfloat16") {
    passes.precision.computes = NumberType::bfloat16;
  } else if (options.precision != "float32") {
    return invalid("--precision: expected float32 or bfloat16, found \"" +
                   printable(options.precision, kShownValueBytes) + "\"");
  }
  return passes;
}

}  // namespace hocket
