#include "examples/gpt2/job/job_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "client/link/environment.h"
#include "core/base/text.h"
#include "job/run/device_options.h"
#include "job/training/step_measurement.h"

namespace hocket {
namespace {

/// Checks the options of a device of limited memory.
Result<void> check_offload(const JobOptions& options) {
  const auto layers = parse_offload_k(options.offload_k);
  HOCKET_TRY(layers);
  if (is_on_cuda(options) && !options.offload_k.empty() && !is_placed(options)) {
    return invalid(
        "--offload-k: a CUDA device keeps all layers unless its memory is limited; add "
        "--memory-limit SIZE, like 8GiB");
  }
  if (!is_placed(options)) {
    if (options.offload_k.empty()) return {};
    return invalid(
        "--offload-k: only a device of limited memory leaves layers to its host; add --device " +
        std::string(kOffloadDeviceForm) + ", or --device cuda and --memory-limit");
  }
  if (is_offload_device(options.device)) {
    const auto device = parse_offload_device(options.device);
    HOCKET_TRY(device);
  }
  if (layers->source != OffloadK::Source::measured) return {};
  if (!options.profile.empty())
    return invalid("--offload-k auto: --profile measures whatever offload_k is; leave it out");
  if (options.training.steps < steps_to_measure(options) + 2) {
    return invalid("--steps: " + std::to_string(options.training.steps) +
                   " steps leave nothing to measure after the " +
                   std::to_string(steps_to_measure(options)) +
                   " by which --offload-k auto decides; ask for at least " +
                   std::to_string(steps_to_measure(options) + 2));
  }
  return {};
}

/// Returns invalid_argument for options that a device does not support.
Result<void> check_device(const JobOptions& options) {
  if (!is_on_cuda(options)) return {};
  if (!options.network.link.empty())
    return invalid("--link: devices exchange sums by NCCL, whose link is not emulated");
  if (!options.record.empty())
    return invalid("--record: a device's tape could not be replayed; record on the host");
  return {};
}

/// Returns invalid_argument for options that contradict updates on servers.
Result<void> check_update(const JobOptions& options) {
  if (!options.training.update_on_servers) return {};
  const auto refused = [](const std::string& why) {
    return invalid("--update-on-servers: " + why);
  };
  if (options.device != "host") return refused("servers sum gradients of the host alone");
  if (options.training.shard_optimizer)
    return refused("the ranks then keep no moments to share; leave out --shard-optimizer");
  if (!options.profile.empty())
    return refused("--profile measures a step that the ranks update; leave one of them out");
  return {};
}

Result<void> check_steps(const JobOptions& options) {
  if (!options.profile.empty() && options.training.steps < kMinProfiledSteps) {
    return failure(ErrorCode::invalid_argument,
                   "--steps: " + std::to_string(options.training.steps) +
                       " steps are too few for a profile; ask for at least " +
                       std::to_string(kMinProfiledSteps));
  }
  if (options.training.steps < options.warmup + 2) {
    return failure(ErrorCode::invalid_argument,
                   "--steps: " + std::to_string(options.training.steps) +
                       " steps leave nothing to measure after " + std::to_string(options.warmup) +
                       " of warm-up and the last; ask for at least " +
                       std::to_string(options.warmup + 2));
  }
  return {};
}

}  // namespace

std::optional<int> parse_arguments(int argc, char** argv, JobOptions& options) {
  options.text = HOCKET_DEFAULT_TEXT;
  options.step = process_environment("HOCKET_STEP").value_or("");
  CLI::App app("Trains a small GPT-2-style language model on hocket's scheduler");
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
  app.add_option("--memory-limit", options.training.memory_limit_bytes,
                 "What the model may take, like 2GiB; without it what the machine has. With "
                 "--offload-k, what it may take of a CUDA device")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--steps", options.training.steps, "Training steps")->capture_default_str();
  app.add_option("--warmup", options.warmup, "Steps that are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--seed", options.training.seed, "Of parameters and batches")
      ->capture_default_str();
  app.add_option("--vocabulary", options.model.vocabulary,
                 "Rows of the token table, of which bytes use the first 256")
      ->capture_default_str();
  app.add_option("--device", options.device,
                 "Where to train: host, cuda, cuda:N, or emulated:SIZE[,link=RATE[,LATENCY]], a "
                 "device of so much memory beside the host")
      ->capture_default_str();
  app.add_option(
         "--offload-k", options.offload_k,
         "Layers that a device of limited memory keeps and updates: configured (offload_k of the "
         "configuration), auto (what first steps show to be best), or a number")
      ->capture_default_str();
  app.add_option("--precision", options.precision,
                 "Of activations and products: float32, or bfloat16 on a device")
      ->capture_default_str();
  app.add_option("--text", options.text, "File or folder of training text")
      ->capture_default_str()
      ->envname("HOCKET_TEXT");
  app.add_option("--link", options.network.link,
                 "Emulate this link of each rank: RATE[,LATENCY], like 500mbit,50us");
  app.add_option("--server-link", options.network.server_link,
                 "With --link: emulate this link of each parameter server; without it as --link");
  app.add_flag("--colocated-servers", options.network.colocated_servers,
               "With --link: parameter server s is on the host of rank s modulo the ranks, and "
               "shares its link");
  app.add_option("--timeout", options.network.timeout_seconds,
                 "Seconds after which a silent rank counts as gone")
      ->capture_default_str()
      ->check(CLI::Range(1, 86'400));
  app.add_flag("--json", options.json,
               "Print one JSON object with iterations, losses and the overlap bound");
  auto* profile = app.add_option(
      "--profile", options.profile,
      "Train to profile a step, and write its description to this file; nothing else is printed");
  app.add_option("--step", options.step,
                 "Step description that order=static follows (or HOCKET_STEP); without one it "
                 "profiles the warm-up");
  app.add_option("--record", options.record,
                 "Write what the scheduler decides to this tape, on rank r > 0 to FILE.r")
      ->excludes(profile);
  auto* profile_at =
      app.add_option("--profile-at", options.profiled.first_step,
                     "Profile iterations from this step on, on all ranks, into the store (or "
                     "HOCKET_PROFILE=at=STEP,iterations=N,interleave=N)")
          ->check(CLI::Range(0, 1'000'000'000))
          ->excludes(profile);
  app.add_option("--profile-iterations", options.profiled.steps, "Iterations that are profiled")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{1}, kMaxProfiledSteps))
      ->needs(profile_at);
  app.add_option("--profile-interleave", options.profiled.interleave,
                 "Profile this many in a row, with as many between that are not, and say what "
                 "profiling costs")
      ->check(CLI::Range(std::int64_t{1}, kMaxProfiledSteps))
      ->needs(profile_at);
  app.add_option(
         "--profile-level", options.profile_level,
         "What profiles record of a device: L0 (kernels and copies), L1 (and what ties them "
         "to tasks) or L2 (and waits)")
      ->capture_default_str();
  auto* on_request = app.add_flag(
      "--profile-on-request", options.profile_on_request,
      "Take requests of `hocket profile` out of the store; with --watch they come from the daemon");
  on_request->excludes(profile);
  auto* watch = app.add_flag("--watch", options.watch,
                             "Be tuned while training by the daemon that HOCKET_DAEMON names")
                    ->excludes(profile)
                    ->excludes(on_request);
  app.add_option_function<std::string>(
         "--explore",
         [&](const std::string& text) {
           const auto share = parse_percent(text, 50);
           if (!share) throw CLI::ValidationError("--explore", share.error().message);
           options.explore = *share;
         },
         "Share of the training time that trying candidates may cost (3%)")
      ->needs(watch);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

Result<void> validate(const JobOptions& options) {
  HOCKET_TRY(check_update(options));
  if (auto ok = check_steps(options); !ok) return ok;
  HOCKET_TRY(validate(options.network));
  HOCKET_TRY(check_offload(options));
  return check_device(options);
}

std::int64_t steps_to_measure(const JobOptions& options) {
  return std::max(options.warmup, kMinPlacedSteps);
}

bool is_placed(const JobOptions& options) {
  if (is_offload_device(options.device)) return true;
  return is_on_cuda(options) && !options.offload_k.empty() &&
         options.training.memory_limit_bytes > 0;
}

bool is_on_cuda(const JobOptions& options) {
  return options.device != "host" && !is_offload_device(options.device);
}

bool is_live(const JobOptions& options) {
  return options.watch || options.profile_on_request;
}

bool takes_requests(const JobOptions& options) {
  return is_live(options) && options.record.empty();
}

std::string level_to_profile(const JobOptions& options) {
  const auto asked = process_environment("HOCKET_PROFILE");
  const bool may_profile =
      options.profiled.first_step >= 0 || (asked && !asked->empty()) || takes_requests(options);
  return may_profile ? options.profile_level : "";
}

}  // namespace hocket
