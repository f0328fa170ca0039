#include "examples/gpt2/job/job_options.h"

#include <CLI/CLI.hpp>

#include "job/run/flags.h"

namespace hocket {
namespace {

void add_model_flags(CLI::App& app, JobOptions& options) {
  app.add_option("--layers", options.model.layers, "Transformer blocks")->capture_default_str();
  app.add_option("--heads", options.model.heads, "Attention heads")->capture_default_str();
  app.add_option("--d-model", options.model.d_model, "Width")->capture_default_str();
  app.add_option("--sequence", options.model.sequence, "Tokens a sequence")->capture_default_str();
  app.add_option("--batch", options.model.batch, "Sequences a rank and step, or micro-batch of it")
      ->capture_default_str();
  app.add_option("--micro-batches", options.training.micro_batches,
                 "Batches a step, whose gradients are added up")
      ->capture_default_str();
  app.add_flag("--shard-optimizer", options.training.shard_optimizer,
               "Keep the optimiser's moments of an equal share of the parameters on each rank");
  app.add_flag("--update-on-servers", options.training.update_on_servers,
               "Leave the optimiser's moments and steps to the parameter servers");
}

void add_training_flags(CLI::App& app, JobOptions& options) {
  app.add_option("--memory-limit", options.device.memory_limit_bytes,
                 "What the model may take, like 2GiB; without it what the machine has. With "
                 "--offload-k, what it may take of a CUDA device")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--steps", options.run.steps, "Training steps")->capture_default_str();
  app.add_option("--warmup", options.run.warmup, "Steps that are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--seed", options.training.seed, "Of parameters and batches")
      ->capture_default_str();
  app.add_option("--vocabulary", options.model.vocabulary,
                 "Rows of the token table, of which bytes use the first 256")
      ->capture_default_str();
}

void add_input_flags(CLI::App& app, JobOptions& options) {
  app.add_option("--precision", options.precision,
                 "Of activations and products: float32, or bfloat16 on a device")
      ->capture_default_str();
  app.add_option("--text", options.text, "File or folder of training text")
      ->capture_default_str()
      ->envname("HOCKET_TEXT");
}

/// Returns invalid_argument for options that contradict updates on servers.
Result<void> check_update(const JobOptions& options) {
  if (!options.training.update_on_servers) return {};
  const auto refused = [](const std::string& why) {
    return invalid("--update-on-servers: " + why);
  };
  if (options.device.device != "host") return refused("servers sum gradients of the host alone");
  if (options.training.shard_optimizer)
    return refused("the ranks then keep no moments to share; leave out --shard-optimizer");
  if (!options.run.profile.empty())
    return refused("--profile measures a step that the ranks update; leave one of them out");
  return {};
}

}  // namespace

std::optional<int> parse_arguments(int argc, char** argv, JobOptions& options) {
  options.text = HOCKET_DEFAULT_TEXT;
  CLI::App app("Trains a small GPT-2-style language model on hocket's scheduler");
  add_model_flags(app, options);
  add_training_flags(app, options);
  add_device_flags(app, options.device);
  add_input_flags(app, options);
  add_network_flags(app, options.network);
  app.add_flag("--json", options.json,
               "Print one JSON object with iterations, losses and the overlap bound");
  add_run_flags(app, options.run);
  // The job of a release knows no folder of its build.
  app.get_option("--text")->required(options.text.empty());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

Result<void> validate(const JobOptions& options) {
  HOCKET_TRY(check_update(options));
  HOCKET_TRY(check_steps(options.run));
  HOCKET_TRY(validate(options.network));
  return validate(options.device, options.run, options.network);
}

}  // namespace hocket
