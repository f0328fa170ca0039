#include "job/model/model_job.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/start/client.h"
#include "core/graph/passes/optimiser.h"
#include "core/graph/region.h"
#include "job/graph/graph_model.h"
#include "job/model/batches.h"
#include "job/model/platform.h"
#include "job/model/summary.h"
#include "job/network/job_network.h"
#include "job/run/job_run.h"
#include "job/run/job_start.h"
#include "job/run/watching.h"
#include "job/training/offloading.h"
#include "job/training/step_measurement.h"
#include "models/option.h"
#include "models/weights/hugging_face.h"
#include "profiler/metrics/iterations.h"
#include "profiler/metrics/layer_costs.h"

extern "C" char* openblas_get_config(void);

namespace hocket {
namespace {

std::string openblas_version() {
  const std::string config = openblas_get_config();  // for example "OpenBLAS 0.3.21 NO_LAPACKE …"
  const auto begin = config.find(' ') + 1;
  return config.substr(begin, config.find(' ', begin) - begin);
}

/// Returns the region of a task that is named as words_of() names operations; empty for others.
std::string_view region_of(std::string_view task) {
  constexpr std::string_view kIn = " in ";
  const std::size_t in = task.find(kIn);
  return in == std::string_view::npos ? std::string_view() : task.substr(in + kIn.size());
}

/// A rank of the job, made in the order of its methods.
class ModelJob {
 public:
  ModelJob(ModelJobOptions options, const Model& declared, Graph graph, Batches batches,
           OffloadK offload_k, const CudaPlatforms* cuda)
      : options_(std::move(options)),
        declared_(declared),
        graph_(std::move(graph)),
        batches_(std::move(batches)),
        offload_k_(offload_k),
        cuda_(cuda) {}

  /// Meets the other ranks.
  Result<void> connect();
  Result<void> open_device();
  /// Fetches the configuration to begin with.
  Result<void> configure();
  Result<void> make_model();
  /// Trains and reports, or with --profile measures a step.
  Result<void> train();

 private:
  bool is_first() const { return network_->collective().rank() == 0; }
  RankGrid grid() const {
    const Collective& collective = network_->collective();
    return {collective.world_size(), collective.ranks_per_host()};
  }
  void warn(const std::string& message) const {
    std::fprintf(stderr, "%s: warning: %s\n", options_.run.program.c_str(), message.c_str());
  }
  RunMessages messages() const;
  JobKind kind() const;
  Training training() const;
  std::string workload_name() const;
  OptimizerStep served_step() const;
  std::int64_t layers() const;
  Result<void> write_initial();
  Result<void> measure_step(const Training& training) const;
  /// Decides how many layers the device keeps, from the first steps.
  Result<MeasuredStep> measure_offload(const Training& training);
  Result<void> save() const;
  Result<std::uint64_t> parameters_hash() const;
  Result<void> report(const FinishedRun& run);

  ModelJobOptions options_;
  const Model& declared_;
  const Graph graph_;  ///< of the forward pass
  Batches batches_;
  const OffloadK offload_k_;
  const CudaPlatforms* const cuda_;
  const SteadyClock clock_;
  std::optional<JobNetwork> network_;
  std::unique_ptr<Platform> platform_;
  int servers_ = 0;  ///< parameter servers that sum gradients
  FetchedConfig fetched_;
  RunReport report_;
  std::unique_ptr<GraphModel> model_;
};

Result<void> ModelJob::connect() {
  auto network = connect_job(options_.network, clock_);
  HOCKET_TRY(network);
  network_.emplace(std::move(*network));
  auto topology = probe_topology(*network_);
  HOCKET_TRY(topology);
  topology->library_versions["openblas"] = openblas_version();
  report_.topology = std::move(*topology);
  return {};
}

Result<void> ModelJob::open_device() {
  // If steps are placed on a CUDA device, the limit is the device's, not the model's.
  const bool limits_cuda = is_on_cuda(options_.device) && is_placed(options_.device);
  auto platform = open_platform(
      {.device = options_.device.device,
       .local_rank = network_->local_rank(),
       .servers = network_->servers(),
       .placed_memory_bytes = limits_cuda ? options_.device.memory_limit_bytes : 0,
       .profile_level = level_to_profile(options_.run)},
      cuda_, network_->collective(), clock_, [this](const std::string& message) { warn(message); });
  HOCKET_TRY(platform);
  platform_ = std::move(*platform);
  platform_->describe(report_.topology);
  if (limits_cuda) options_.device.memory_limit_bytes = 0;
  // Servers do not take the collectives of a sharded optimizer.
  servers_ = options_.shard_optimizer ? 0 : platform_->servers();
  if (!options_.update_on_servers || servers_ > 0) return {};
  return invalid(
      "--update-on-servers: the job has no parameter servers; start it with hocket run "
      "--servers N, or set HOCKET_SERVERS");
}

std::string ModelJob::workload_name() const {
  std::string name = options_.workload;
  if (name.empty()) {
    name = options_.model;
    for (const auto& [option, value] : options_.values) name += "-" + option + option_text(value);
  }
  const std::int64_t micro_batches = options_.passes.micro_batches.count;
  if (micro_batches > 1) name += "-m" + std::to_string(micro_batches);
  if (!options_.passes.recomputation.regions.empty()) name += "-recomputed";
  if (options_.shard_optimizer) name += "-sharded";
  if (options_.update_on_servers) name += "-served";
  return name;
}

std::int64_t ModelJob::layers() const {
  const GraphTasks tasks(graph_);
  std::int64_t layers = 0;
  for (const Operation& operation : graph_.operations())
    if (operation.kind == OperationKind::parameter)
      layers = std::max(layers, tasks.layer_number(operation) + 1);
  return layers;
}

Result<void> ModelJob::configure() {
  report_.workload = {.name = workload_name(), .tensors = gradient_groups(graph_)};
  auto fetched = fetch_config(report_.topology, report_.workload, network_->collective(), kind());
  HOCKET_TRY(fetched);
  fetched_ = std::move(*fetched);
  report_.config = fetched_.config;
  if (offload_k_.source == OffloadK::Source::given) report_.config.offload_k = offload_k_.layers;
  if (options_.update_on_servers) report_.config.communication = Communication::parameter_server;
  report_.config_source = fetched_.source;
  if (!is_first()) return {};
  for (const auto& warning : fetched_.warnings) warn(warning);
  const std::string offload =
      is_placed(options_.device) ? describe_offload(report_.config, offload_k_, layers()) : "";
  std::fprintf(stderr, "configuration from %s (%s): %s\n", fetched_.source.c_str(),
               fetched_.detail.c_str(), describe_config(report_.config, offload).c_str());
  return {};
}

OptimizerStep ModelJob::served_step() const {
  const OptimiserOptions& optimiser = options_.passes.optimiser;
  return {.kind = OptimizerKind::adamw,
          .gradient_scale = 1.0 / static_cast<double>(grid().ranks),
          .learning_rate = options_.rate,
          .beta1 = optimiser.beta1,
          .beta2 = optimiser.beta2,
          .epsilon = optimiser.epsilon};
}

Result<void> ModelJob::make_model() {
  const auto passes = passes_of(options_, grid().ranks);
  HOCKET_TRY(passes);
  auto step = run_passes(graph_, "fusion", *passes);
  HOCKET_TRY(step);
  GraphModelOptions options{
      .grid = grid(),
      .rank = network_->collective().rank(),
      .steps = options_.run.steps,
      .slack_operations = options_.slack,
      .micro_batches_kept =
          std::min<std::int64_t>(report_.config.micro_batches_kept, passes->micro_batches.count),
      .memory_limit_bytes = options_.device.memory_limit_bytes,
      .shards_optimiser = options_.shard_optimizer,
      .placed = platform_->placed(),
      .run_on_host = platform_->run_on_host(),
      .draw = [this](std::int64_t number, std::string_view input, std::span<std::byte> bytes) {
        batches_.draw(network_->collective().rank(), number, input, bytes);
      }};
  if (options_.update_on_servers) options.served = served_step();
  auto model =
      GraphModel::create(std::move(*step), platform_->kernels(), platform_->kernel_device(),
                         platform_->kernel_memory(), std::move(options));
  if (!model) return failure(model.error().in("model"));
  model_ = std::move(*model);
  if (is_first() && !platform_->placed()) {
    const MemoryPlan& plan = model_->prepared().plan();
    std::fprintf(stderr, "memory of a step: parameters %lld bytes, other values %lld bytes\n",
                 static_cast<long long>(plan.parameter_bytes),
                 static_cast<long long>(plan.arena_bytes));
  }
  return write_initial();
}

Result<void> ModelJob::write_initial() {
  std::optional<WeightFiles> files;
  if (!options_.weights.empty()) {
    auto opened = WeightFiles::open(options_.weights);
    HOCKET_TRY(opened);
    files.emplace(std::move(*opened));
  }
  for (const Operation& operation : graph_.operations()) {
    if (operation.kind != OperationKind::parameter) continue;
    const Shape& shape = graph_.type(operation.first_result).shape;
    std::vector<float> values(
        static_cast<std::size_t>(graph_.type(operation.first_result).count()));
    if (files) {
      HOCKET_TRY(read_hugging_face(*files, {options_.model, operation.name, shape}, 0, values));
    } else {
      draw_initial(declared_.initial(options_.values, operation.name, shape), options_.seed,
                   operation.name, 0, values);
    }
    HOCKET_TRY(model_->write(operation.name, std::as_bytes(std::span(values))));
  }
  return {};
}

RunMessages ModelJob::messages() const {
  return {.warn = [this](const std::string& message) { warn(message); },
          .say =
              [to = options_.json ? stderr : stdout](const std::string& line) {
                std::fprintf(to, "%s\n", line.c_str());
                std::fflush(to);
              }};
}

JobKind ModelJob::kind() const {
  return {.ranks_per_host = network_->collective().ranks_per_host(),
          .servers = servers_,
          .is_updated_by_servers = options_.update_on_servers,
          .is_placed = platform_->placed() != nullptr};
}

Training ModelJob::training() const {
  return {.model = *model_,
          .collective = network_->collective(),
          .clock = clock_,
          .make_executor = [this] { return platform_->make_executor(); },
          .recorder = platform_->recorder(),
          .memory = platform_->placed(),
          .servers = servers_,
          .step_done =
              [this](std::int64_t step) {
                if (!is_first() || options_.json) return;
                std::printf("step %lld: loss %.4f\n", static_cast<long long>(step),
                            static_cast<double>(model_->output("loss", step)));
              }};
}

Result<void> ModelJob::train() {
  const Training training = this->training();
  const bool is_measured = offload_k_.source == OffloadK::Source::measured;
  HOCKET_TRY(check_config(training, report_.config, is_measured));
  if (!options_.run.profile.empty()) return measure_step(training);
  const auto before = is_measured ? measure_offload(training) : MeasuredStep();
  HOCKET_TRY(before);
  const auto run = train_job(options_.run,
                             {.report = report_,
                              .fetched = fetched_,
                              .before = *before,
                              .kind = kind(),
                              .on_device = is_on_cuda(options_.device)},
                             training, messages());
  HOCKET_TRY(run);
  if (!is_first()) return {};
  if (!options_.save.empty()) HOCKET_TRY(save());
  return report(*run);
}

Result<void> ModelJob::measure_step(const Training& training) const {
  auto step = profile_step(training, report_.config, options_.run.steps);
  HOCKET_TRY(step);
  if (!is_first()) return {};
  step->name = report_.workload.name;
  const Shape& tokens = graph_.type(*graph_.leaf("tokens")).shape;
  step->source = "profile of " + std::to_string(options_.run.steps) + " steps of " +
                 options_.run.program + ", batch " + std::to_string(tokens.front()) +
                 ", sequence " + std::to_string(tokens.back()) + ", " +
                 std::to_string(training.collective.world_size()) +
                 " ranks, link: " + report_.topology.link;
  // Links that are emulated are known better than from the parts that crossed them.
  if (network_->emulated_server_links()) step->servers = network_->emulated_server_links();
  return write_step(*step, options_.run.profile);
}

Result<MeasuredStep> ModelJob::measure_offload(const Training& training) {
  auto decision = decide_offload(training, report_.config, steps_to_measure(options_.run));
  HOCKET_TRY(decision);
  if (is_first()) messages().say(decision->reason);
  report_.config = std::move(decision->config);
  return std::move(decision->measured);
}

Result<void> ModelJob::save() const {
  std::vector<std::byte> bytes;  // of the parameter that is written
  Result<void> read;
  const auto written =
      write_hugging_face(options_.save, options_.model, graph_, [&](std::string_view name) {
        auto values = model_->read(name);
        if (!values) read = failure(values.error());
        if (values) bytes = std::move(*values);
        return std::span(reinterpret_cast<const float*>(bytes.data()),
                         bytes.size() / sizeof(float));
      });
  HOCKET_TRY(read);
  return written;
}

/// Returns the FNV-1a hash (64 bits, over 32-bit words) of all parameters.
Result<std::uint64_t> ModelJob::parameters_hash() const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Operation& operation : graph_.operations()) {
    if (operation.kind != OperationKind::parameter) continue;
    const auto bytes = model_->read(operation.name);
    HOCKET_TRY(bytes);
    for (std::size_t i = 0; i < bytes->size(); i += sizeof(std::uint32_t)) {
      std::uint32_t word = 0;
      std::memcpy(&word, bytes->data() + i, sizeof word);
      hash = (hash ^ word) * 0x100000001b3u;
    }
  }
  return hash;
}

Result<void> ModelJob::report(const FinishedRun& run) {
  report_.config = run.config;
  report_.iterations = measure_iterations(run.events, run.warmup);
  TrainedSummary trained{.losses = {},
                         .optimizer_bytes = model_->optimiser_bytes(),
                         .layers = {},
                         .explored = run.explored};
  const auto hash = parameters_hash();
  HOCKET_TRY(hash);
  trained.parameters_hash = *hash;
  for (std::int64_t step = 0; step < options_.run.steps; ++step)
    trained.losses.push_back(model_->output("loss", step));
  // The bound is that of a ring.
  if (network_->emulated_link() && report_.config.communication == Communication::all_reduce) {
    trained.layers = layer_costs(
        run.events, report_.workload,
        {.warmup = run.warmup,
         .world_size = network_->collective().world_size(),
         .link = *network_->emulated_link(),
         .tensor_of = [](std::string_view task) { return part_of_model(region_of(task)); },
         .is_backward =
             [](std::string_view task) {
               return has_mark(region_of(task), kBackward) && !has_mark(region_of(task), kUpdate);
             }});
  }
  print_summary(options_, report_, trained);
  return write_report(report_);
}

/// Checks that weights can be read and saved, before the ranks train.
Result<void> check_weights(const Graph& graph, const ModelJobOptions& options) {
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

}  // namespace

Result<void> train_model(ModelJobOptions options, const CudaPlatforms* cuda) {
  HOCKET_TRY(validate(options));
  if (cuda && is_on_cuda(options.device)) cuda->connect_ranges(level_to_profile(options.run));
  // Checked before the ranks meet: if a rank left later, the others would fail for another reason.
  if (options.run.watch) HOCKET_TRY(check_daemon_to_watch());
  const auto declared = find_model(options.model);
  if (!declared) return failure(declared.error().in("--model"));
  auto graph = (*declared)->build(options.values);
  HOCKET_TRY(graph);
  const auto tokens = TokenSource::open(options.tokens);
  HOCKET_TRY(tokens);
  auto batches = Batches::create(
      *graph, *tokens, {.seed = options.seed, .rate = options.rate, .model = options.model});
  HOCKET_TRY(batches);
  HOCKET_TRY(check_weights(*graph, options));
  const auto offload_k = parse_offload_k(options.device.offload_k);
  HOCKET_TRY(offload_k);
  ModelJob job(std::move(options), **declared, std::move(*graph), std::move(*batches), *offload_k,
               cuda);
  HOCKET_TRY(job.connect());
  HOCKET_TRY(job.open_device());
  HOCKET_TRY(job.configure());
  HOCKET_TRY(job.make_model());
  return job.train();
}

int model_job_status(ModelJobOptions options, const CudaPlatforms* cuda) {
  const std::string program = options.run.program;
  const auto trained = train_model(std::move(options), cuda);
  if (trained) return 0;
  std::fprintf(stderr, "%s: %s\n", program.c_str(), trained.error().message.c_str());
  return trained.error().code == ErrorCode::invalid_argument ? 2 : 1;
}

}  // namespace hocket
