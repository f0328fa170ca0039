#include "examples/models/options.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include "core/base/text.h"
#include "job/run/flags.h"

namespace hocket {
namespace {

constexpr std::size_t kShownValueBytes = 60;

tl::unexpected<Error> wrong(const std::string& flag, const std::string& what) {
  return failure(ErrorCode::invalid_argument, flag + ": " + what);
}

}  // namespace

std::optional<int> parse_arguments(int argc, char** argv, TrainOptions& options) {
  CLI::App app("Trains a model that is written as maths, on hocket's scheduler");
  app.add_option("--model", options.model, "gpt2, llama or mixture")->capture_default_str();
  app.add_option("--preset", options.preset, "A published size of it");
  app.add_option("--option", options.values, "An option of the model, such as layers=2")
      ->allow_extra_args(false);
  app.add_option("--tokens", options.tokens,
                 "File or folder of tokens: text, or .bin as nanoGPT and llm.c write them")
      ->required();
  app.add_option("--weights", options.weights,
                 "Initial weights: safetensors of Hugging Face's transformers");
  app.add_option("--save", options.save, "File for the weights after the last step");
  app.add_option("--seed", options.seed, "Of parameters and batches")->capture_default_str();
  app.add_option("--optimiser", options.optimiser, "adamw or sgd")->capture_default_str();
  app.add_option("--rate", options.rate, "Learning rate")->capture_default_str();
  app.add_option("--weight-decay", options.passes.optimiser.weight_decay, "Of matrices")
      ->capture_default_str();
  app.add_option("--clip-norm", options.passes.optimiser.clip_norm,
                 "Most that the norm of all gradients may be; 0: any")
      ->capture_default_str();
  app.add_option("--micro-batches", options.passes.micro_batches.count,
                 "Batches a step, whose gradients are added up")
      ->capture_default_str();
  app.add_option("--slack", options.slack,
                 "Operations by which memory stays after its last use, so that operations of "
                 "several streams wait less for it")
      ->capture_default_str();
  app.add_option("--recompute", options.passes.recomputation.regions,
                 "Regions whose values are computed again, such as 'block*'")
      ->allow_extra_args(false);
  app.add_option("--steps", options.run.steps, "Training steps")->capture_default_str();
  app.add_option("--warmup", options.run.warmup, "Steps that are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  add_network_flags(app, options.network);
  app.add_flag("--json", options.json, "Print one JSON object with iterations and losses");
  add_run_flags(app, options.run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

Result<OptionValues> read_values(const Model& model, const TrainOptions& options) {
  OptionValues values;
  if (!options.preset.empty()) {
    const auto preset = find_preset(model, options.preset);
    if (!preset) return failure(preset.error().in("--preset"));
    values = (*preset)->values;
  }
  for (const std::string& text : options.values) {
    const std::size_t equals = text.find('=');
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto read = equals == std::string::npos
                          ? std::from_chars_result{end, std::errc::invalid_argument}
                          : std::from_chars(text.data() + equals + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end) {
      return wrong("--option", "expected NAME=NUMBER, such as layers=2, found \"" +
                                   printable(text, kShownValueBytes) + "\"");
    }
    values[text.substr(0, equals)] = value;
  }
  return values;
}

Result<PassOptions> read_passes(const TrainOptions& options, std::int64_t ranks) {
  PassOptions passes = options.passes;
  passes.needed.outputs = {"loss"};
  passes.optimiser.ranks = ranks;
  if (options.optimiser == "adamw")
    passes.optimiser.method = OptimiserMethod::adamw;
  else if (options.optimiser == "sgd")
    passes.optimiser.method = OptimiserMethod::sgd;
  else
    return wrong("--optimiser", "expected adamw or sgd, found \"" +
                                    printable(options.optimiser, kShownValueBytes) + "\"");
  return passes;
}

}  // namespace hocket
