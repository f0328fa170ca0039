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
// Prints, on rank 0, what the memory of a step is, the loss of each step and the time of
// iterations.

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/start/client.h"
#include "core/base/statistics.h"
#include "core/protocol/job_report.h"
#include "examples/models/options.h"
#include "job/graph/graph_model.h"
#include "job/run/job_run.h"
#include "job/run/job_start.h"
#include "job/run/watching.h"
#include "kernels/host/host_kernels.h"
#include "models/data/token_source.h"
#include "models/option.h"
#include "models/weights/hugging_face.h"
#include "profiler/metrics/iterations.h"

namespace hocket {
namespace {

void warn(const std::string& message) {
  std::fprintf(stderr, "train_model: warning: %s\n", message.c_str());
}

/// A rank of the job, made in the order of its methods.
class TrainingRank {
 public:
  TrainingRank(TrainOptions options, const Model& model, OptionValues values, TokenSource tokens)
      : options_(std::move(options)),
        declared_(model),
        values_(std::move(values)),
        tokens_(std::move(tokens)) {}

  Result<void> connect();
  Result<void> make_model();
  Result<void> configure();
  Result<void> train();

 private:
  bool is_first() const { return network_->collective().rank() == 0; }
  JobKind kind() const { return {.ranks_per_host = network_->collective().ranks_per_host()}; }
  RunMessages messages() const;
  Result<void> write_initial();
  void draw(std::int64_t step, std::string_view input, std::span<std::byte> bytes) const;
  Result<void> save();
  Result<void> report(const FinishedRun& run);

  const TrainOptions options_;
  const Model& declared_;
  const OptionValues values_;
  const TokenSource tokens_;
  const SteadyClock clock_;
  std::int64_t vocabulary_ = 0, sequence_ = 0;
  std::optional<JobNetwork> network_;
  std::unique_ptr<GraphModel> model_;
  FetchedConfig fetched_;
  RunReport report_;
};

Result<void> TrainingRank::connect() {
  auto network = connect_job(options_.network, clock_);
  HOCKET_TRY(network);
  network_.emplace(std::move(*network));
  auto topology = probe_topology(*network_);
  HOCKET_TRY(topology);
  report_.topology = std::move(*topology);
  return {};
}

Result<void> TrainingRank::make_model() {
  const Collective& collective = network_->collective();
  const RankGrid grid{collective.world_size(), collective.ranks_per_host()};
  const auto graph = declared_.build(values_);
  HOCKET_TRY(graph);
  sequence_ = graph->type(*graph->leaf("tokens")).shape.back();
  vocabulary_ = graph->type(*graph->output("logits")).shape.back();
  HOCKET_TRY(tokens_.check_window(sequence_));
  const auto passes = read_passes(options_, grid.ranks);
  HOCKET_TRY(passes);
  auto step = run_passes(*graph, "fusion", *passes);
  HOCKET_TRY(step);
  report_.workload.name = options_.model;
  for (const auto& [name, value] : values_)
    report_.workload.name += "-" + name + option_text(value);
  report_.workload.tensors = gradient_groups(*step);
  KernelTable kernels;
  add_host_kernels(kernels);
  auto model = GraphModel::create(
      std::move(*step), kernels, KernelDevice::host, host_kernel_memory(),
      {.grid = grid,
       .steps = options_.run.steps,
       .slack_operations = options_.slack,
       .draw = [this](std::int64_t number, std::string_view input, std::span<std::byte> bytes) {
         draw(number, input, bytes);
       }});
  HOCKET_TRY(model);
  model_ = std::move(*model);
  return write_initial();
}

Result<void> TrainingRank::write_initial() {
  std::optional<WeightFiles> files;
  if (!options_.weights.empty()) {
    auto opened = WeightFiles::open(options_.weights);
    HOCKET_TRY(opened);
    files.emplace(std::move(*opened));
  }
  const Graph& graph = model_->prepared().graph();
  for (const Operation& operation : graph.operations()) {
    if (operation.kind != OperationKind::parameter || is_optimiser_state(operation.name)) continue;
    const Shape& shape = graph.type(operation.first_result).shape;
    const std::span<std::byte> bytes = model_->values(operation.name);
    const std::span values(reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float));
    if (files) {
      HOCKET_TRY(read_hugging_face(*files, {options_.model, operation.name, shape}, 0, values));
    } else {
      draw_initial(declared_.initial(values_, operation.name, shape), options_.seed, operation.name,
                   0, values);
    }
  }
  return {};
}

void TrainingRank::draw(std::int64_t step, std::string_view input,
                        std::span<std::byte> bytes) const {
  const auto write = [&](const auto& value) { std::memcpy(bytes.data(), &value, sizeof value); };
  if (input == "rate") return write(static_cast<float>(options_.rate));
  if (input == "step") return write(static_cast<std::int32_t>(step + 1));
  const int rank = network_->collective().rank();
  if (input == "key") {
    return write(std::array{
        static_cast<std::int32_t>(options_.seed * 65'537 + static_cast<std::uint64_t>(rank)),
        static_cast<std::int32_t>(step)});
  }
  std::vector<std::int32_t> inputs(bytes.size() / sizeof(std::int32_t)), targets(inputs.size());
  const auto drawn =
      tokens_.draw({options_.seed, rank, step}, sequence_, vocabulary_, inputs, targets);
  // Checked when the job began; a file that became another meanwhile must not look like data.
  if (!drawn) std::ranges::fill(input == "tokens" ? inputs : targets, -1);
  std::memcpy(bytes.data(), (input == "tokens" ? inputs : targets).data(), bytes.size());
}

Result<void> TrainingRank::configure() {
  auto fetched = fetch_config(report_.topology, report_.workload, network_->collective(), kind());
  HOCKET_TRY(fetched);
  fetched_ = std::move(*fetched);
  report_.config = fetched_.config;
  report_.config_source = fetched_.source;
  if (!is_first()) return {};
  for (const auto& warning : fetched_.warnings) warn(warning);
  std::fprintf(stderr, "configuration from %s (%s): %s\n", fetched_.source.c_str(),
               fetched_.detail.c_str(), describe_config(report_.config, "").c_str());
  const MemoryPlan& plan = model_->prepared().plan();
  std::fprintf(stderr, "memory of a step: parameters %lld bytes, other values %lld bytes\n",
               static_cast<long long>(plan.parameter_bytes),
               static_cast<long long>(plan.arena_bytes));
  return {};
}

RunMessages TrainingRank::messages() const {
  return {.warn = warn, .say = [to = options_.json ? stderr : stdout](const std::string& line) {
            std::fprintf(to, "%s\n", line.c_str());
            std::fflush(to);
          }};
}

Result<void> TrainingRank::train() {
  const Training training{.model = *model_,
                          .collective = network_->collective(),
                          .clock = clock_,
                          .step_done = [this](std::int64_t step) {
                            if (!is_first() || options_.json) return;
                            std::printf("step %lld: loss %.4f\n", static_cast<long long>(step),
                                        static_cast<double>(model_->output("loss", step)));
                          }};
  HOCKET_TRY(check_config(training, report_.config, false));
  const auto run =
      train_job(options_.run,
                {.report = report_, .fetched = fetched_, .before = MeasuredStep(), .kind = kind()},
                training, messages());
  HOCKET_TRY(run);
  if (!is_first()) return {};
  if (!options_.save.empty()) HOCKET_TRY(save());
  return report(*run);
}

Result<void> TrainingRank::save() {
  // Without the parameters that the optimiser adds.
  const auto graph = declared_.build(values_);
  HOCKET_TRY(graph);
  return write_hugging_face(options_.save, options_.model, *graph, [this](std::string_view name) {
    const std::span<std::byte> bytes = model_->values(name);
    return std::span(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
  });
}

Result<void> TrainingRank::report(const FinishedRun& run) {
  report_.config = run.config;
  report_.iterations = measure_iterations(run.events, run.warmup);
  std::vector<double> wall_ns;
  for (const Iteration& iteration : report_.iterations)
    wall_ns.push_back(static_cast<double>(iteration.wall_ns));
  if (options_.json) {
    auto document = to_json(report_);
    for (std::int64_t step = 0; step < options_.run.steps; ++step)
      document["losses"].push_back(model_->output("loss", step));
    std::printf("%s\n", document.dump().c_str());
  } else {
    std::printf("iteration %.2f ms ± %.2f (%zu measured)\n", median(wall_ns) / 1e6,
                spread(wall_ns) / 1e6, wall_ns.size());
  }
  return write_report(report_);
}

/// Checks that the tokens are ones that the model has, before the ranks meet.
Result<void> check_tokens(const Graph& graph, const TrainOptions& options,
                          const TokenSource& tokens) {
  const auto logits = graph.output("logits");
  if (!graph.leaf("tokens") || !logits)
    return invalid("--model: " + options.model + " takes no tokens; expected a language model");
  const std::int64_t vocabulary = graph.type(*logits).shape.back(),
                     largest = tokens.largest_token();
  if (largest < vocabulary) return {};
  return invalid("--tokens: there is the token " + std::to_string(largest) +
                 ", and the vocabulary is " + std::to_string(vocabulary) +
                 "; give --option vocabulary=" + std::to_string(largest + 1));
}

/// Checks that weights can be read and saved, before the ranks train.
Result<void> check_weights(const Graph& graph, const TrainOptions& options) {
  for (const auto& [flag, path] :
       {std::pair("--weights", &options.weights), std::pair("--save", &options.save)}) {
    if (path->empty()) continue;
    for (const Operation& operation : graph.operations()) {
      if (operation.kind != OperationKind::parameter ||
          hugging_face_name(options.model, operation.name))
        continue;
      return invalid(std::string(flag) + ": Hugging Face's files have no names for " +
                     options.model + "; there are those of gpt2 and llama");
    }
  }
  return {};
}

Result<void> run(TrainOptions options) {
  HOCKET_TRY(check_steps(options.run));
  HOCKET_TRY(validate(options.network));
  // Checked before the ranks meet: if a rank left later, the others would fail for another reason.
  if (options.run.watch) HOCKET_TRY(check_daemon_to_watch());
  const auto model = find_model(options.model);
  if (!model) return failure(model.error().in("--model"));
  auto values = read_values(**model, options);
  HOCKET_TRY(values);
  auto tokens = TokenSource::open(options.tokens);
  HOCKET_TRY(tokens);
  const auto graph = (*model)->build(*values);
  HOCKET_TRY(graph);
  HOCKET_TRY(check_tokens(*graph, options, *tokens));
  HOCKET_TRY(check_weights(*graph, options));
  TrainingRank rank(std::move(options), **model, std::move(*values), std::move(*tokens));
  HOCKET_TRY(rank.connect());
  HOCKET_TRY(rank.make_model());
  HOCKET_TRY(rank.configure());
  return rank.train();
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::TrainOptions options;
  if (const auto status = hocket::parse_arguments(argc, argv, options)) return *status;
  const auto ok = hocket::run(std::move(options));
  if (ok) return 0;
  std::fprintf(stderr, "train_model: %s\n", ok.error().message.c_str());
  return ok.error().code == hocket::ErrorCode::invalid_argument ? 2 : 1;
}
