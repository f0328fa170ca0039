// Predicts a step on a device of limited memory beside its host, for each number of layers that the
// device can keep:
//
//   bin/offload_prediction STEP.json [--config JSON]
//
// STEP.json is what `bin/gpt2 --device emulated:… --profile STEP.json` writes. Prints one JSON
// object: the candidates with the simulator's iteration time, the best of them, and the number that
// CoTrain's rule gives (core/sim/offload/offload_choice.h).

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/json.h"
#include "core/description/step_description.h"
#include "core/sim/offload/offload_choice.h"
#include "core/step/schedule_config.h"

namespace hocket {
namespace {

nlohmann::json to_json(const OffloadCandidate& candidate) {
  if (!candidate.fits())
    return {{"offload_k", candidate.offload_k}, {"why_not", candidate.why_not}};
  return {{"offload_k", candidate.offload_k},
          {"prefetch_layers", candidate.prefetch_layers},
          {"iteration_ns", candidate.iteration_ns},
          {"peak_bytes", candidate.peak_bytes}};
}

Result<nlohmann::json> predict(const std::string& path, const std::string& config_text) {
  const auto text = read_file(path);
  HOCKET_TRY(text);
  const auto step = parse_step_description(*text);
  if (!step) return failure(step.error().in(path));
  const auto config = config_text.empty() ? ScheduleConfig{} : parse_schedule_config(config_text);
  if (!config) return failure(config.error().in("--config"));
  const auto choice = choose_offload(*step, *config);
  HOCKET_TRY(choice);
  nlohmann::json document{{"cotrain_offload_k", cotrain_offload_k(*step)},
                          {"best", to_json(choice->chosen())}};
  for (const OffloadCandidate& candidate : choice->candidates)
    document["candidates"].push_back(to_json(candidate));
  return document;
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  std::string step, config;
  CLI::App app("Predicted iteration times by the number of layers that a device keeps");
  app.add_option("step", step, "Step description with a limit of the device's memory")->required();
  app.add_option("--config", config, "Configuration, as JSON");
  CLI11_PARSE(app, argc, argv);
  const auto document = hocket::predict(step, config);
  if (!document) {
    std::fprintf(stderr, "offload_prediction: %s\n", document.error().message.c_str());
    return 1;
  }
  std::printf("%s\n", document->dump().c_str());
  return 0;
}
