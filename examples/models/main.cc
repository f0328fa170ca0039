// Trains a model that is written as maths (models/), data-parallel over its ranks, on hocket's
// scheduler: no line here knows what is in the model.
//
//   bin/train_model --tokens docs --option layers=2 --option width=128 --option heads=4
//       --option vocabulary=256 --option sequence=64 --steps 50          one rank, on bytes of text
//   bin/hocket run --ranks 2 -- bin/train_model …                        two ranks
//   bin/hocket tune -- bin/hocket run --ranks 2 -- bin/train_model …     tuned
//   bin/train_model --model llama …                                      another model
//   bin/train_model --preset 124m --weights model.safetensors --tokens train.bin --save
//   new.safetensors
//                                                                        GPT-2's published weights
//
// All else that it can do is that of examples/gpt2/main.cc. Prints, on rank 0, what the memory of a
// step is, the loss of each step and the time of iterations.

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "job/model/model_job.h"
#ifdef HOCKET_JOB_CUDA
#include "job/cuda/cuda_platform.h"
#endif

namespace hocket {
namespace {

constexpr std::size_t kShownValueBytes = 60;

/// The choice of a model on the command line.
struct ModelFlags {
  std::string preset;
  std::vector<std::string> values;  ///< "layers=2"
};

void add_model_flags(CLI::App& app, ModelFlags& flags, ModelJobOptions& options) {
  app.add_option("--model", options.model, "gpt2, llama or mixture")->capture_default_str();
  app.add_option("--preset", flags.preset, "A published size of it");
  app.add_option("--option", flags.values, "An option of the model, such as layers=2")
      ->allow_extra_args(false);
  app.add_option("--tokens", options.tokens,
                 "File or folder of tokens: text, or .bin as nanoGPT and llm.c write them")
      ->required();
  app.add_option("--weights", options.weights,
                 "Initial weights: safetensors of Hugging Face's transformers");
  app.add_option("--save", options.save, "File for the weights after the last step");
}

/// Returns the values of the model's options: those of the preset, and those that were given.
Result<OptionValues> read_values(const Model& model, const ModelFlags& flags) {
  OptionValues values;
  if (!flags.preset.empty()) {
    const auto preset = find_preset(model, flags.preset);
    if (!preset) return failure(preset.error().in("--preset"));
    values = (*preset)->values;
  }
  for (const std::string& text : flags.values) {
    const std::size_t equals = text.find('=');
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto read = equals == std::string::npos
                          ? std::from_chars_result{end, std::errc::invalid_argument}
                          : std::from_chars(text.data() + equals + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end) {
      return invalid("--option: expected NAME=NUMBER, such as layers=2, found \"" +
                     printable(text, kShownValueBytes) + "\"");
    }
    values[text.substr(0, equals)] = value;
  }
  return values;
}

Result<void> choose_model(const ModelFlags& flags, ModelJobOptions& options) {
  const auto model = find_model(options.model);
  if (!model) return failure(model.error().in("--model"));
  auto values = read_values(**model, flags);
  HOCKET_TRY(values);
  options.values = std::move(*values);
  return {};
}

int train(int argc, char** argv) {
  ModelJobOptions options{.run = {.program = "train_model"}};
  ModelFlags flags;
  CLI::App app("Trains a model that is written as maths, on hocket's scheduler");
  add_model_flags(app, flags, options);
  add_model_job_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (const auto chosen = choose_model(flags, options); !chosen) {
    std::fprintf(stderr, "train_model: %s\n", chosen.error().message.c_str());
    return 2;
  }
#ifdef HOCKET_JOB_CUDA
  return model_job_status(std::move(options), &cuda_platforms());
#else
  return model_job_status(std::move(options), nullptr);
#endif
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  return hocket::train(argc, argv);
}
