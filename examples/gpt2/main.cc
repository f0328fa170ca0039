// Trains a small GPT-2-style language model, data-parallel over its ranks, on hocket's scheduler.
//
//   bin/gpt2 --steps 20                                         one rank
//   bin/hocket run --ranks 2 -- bin/gpt2 --link 500mbit         two ranks, emulated link
//   bin/hocket tune -- bin/hocket run --ranks 2 -- bin/gpt2     tuned
//   bin/hocket run --ranks 2 -- bin/gpt2 --profile step.json    describe a step, for hocket
//                                                               simulate and order=static
//   HOCKET_STEP=step.json bin/hocket run --ranks 2 -- bin/gpt2  use it for order=static
//   bin/hocket run --ranks 2 -- bin/gpt2 --record run.tape      record decisions for hocket tape
//   bin/hocket run --ranks 2 -- bin/gpt2 --profile-at 5         profile iterations into the store;
//                                                               or HOCKET_PROFILE=at=5
//   HOCKET_CONFIG='{"communication":"parameter_server"}'
//       bin/hocket run --ranks 2 --servers 2 -- bin/gpt2        gradients summed by servers; with
//                                                               --link RATE over emulated links
//       … --servers 2 -- bin/gpt2 --update-on-servers           and moments kept by them, too
//   bin/gpt2 --micro-batches 4 --steps 20                       four batches per step
//   bin/hocket run --ranks 2 -- bin/gpt2 --shard-optimizer      each rank keeps half the moments
//   bin/gpt2 --device cuda --precision bfloat16                 on a GPU
//   bin/gpt2 --device emulated:48MiB,link=8gbit --offload-k auto
//                                                               on an emulated device of so much
//                                                               memory, beside its host
//   HOCKET_DAEMON=http://127.0.0.1:7077 bin/hocket run --ranks 2 -- bin/gpt2 --steps 500 --watch
//                                                               tuned while it trains
//   bin/hocket run --ranks 2 -- bin/gpt2 --steps 500 --profile-on-request
//                                                               without a daemon: `hocket profile`
//                                                               sends requests through the store
//
// The model is models/gpt2.h, and the job is job/model/model_job.h, which says what it prints: what
// is here is the command line.

#include <CLI/CLI.hpp>
#include <string>

#include "job/model/model_job.h"
#ifdef HOCKET_JOB_CUDA
#include "job/cuda/cuda_platform.h"
#endif

namespace hocket {
namespace {

struct Gpt2Flags {
  int layers = 6, heads = 8, d_model = 256, sequence = 64, batch = 4, vocabulary = 256;
};

void add_model_flags(CLI::App& app, Gpt2Flags& flags, ModelJobOptions& options) {
  app.add_option("--layers", flags.layers, "Transformer blocks")->capture_default_str();
  app.add_option("--heads", flags.heads, "Attention heads")->capture_default_str();
  app.add_option("--d-model", flags.d_model, "Width")->capture_default_str();
  app.add_option("--sequence", flags.sequence, "Tokens a sequence")->capture_default_str();
  app.add_option("--batch", flags.batch, "Sequences a rank and step, or micro-batch of it")
      ->capture_default_str();
  app.add_option("--vocabulary", flags.vocabulary,
                 "Rows of the token table, of which bytes use the first 256")
      ->capture_default_str();
  app.add_option("--text", options.tokens, "File or folder of training text")
      ->capture_default_str()
      ->envname("HOCKET_TEXT");
}

void choose_model(const Gpt2Flags& flags, ModelJobOptions& options) {
  options.values = {{"layers", flags.layers},        {"heads", flags.heads},
                    {"width", flags.d_model},        {"sequence", flags.sequence},
                    {"positions", flags.sequence},   {"batch", flags.batch},
                    {"vocabulary", flags.vocabulary}};
  options.workload = "gpt2-" + std::to_string(flags.layers) + "x" + std::to_string(flags.d_model) +
                     "-s" + std::to_string(flags.sequence) + "-b" + std::to_string(flags.batch);
}

int train(int argc, char** argv) {
  ModelJobOptions options{.tokens = HOCKET_DEFAULT_TEXT, .run = {.program = "gpt2"}};
  Gpt2Flags flags;
  CLI::App app("Trains a small GPT-2-style language model on hocket's scheduler");
  add_model_flags(app, flags, options);
  add_model_job_flags(app, options);
  // The job of a release knows no folder of its build.
  app.get_option("--text")->required(options.tokens.empty());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  choose_model(flags, options);
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
