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
// Prints, on rank 0:
//
//   configuration from default: partition 4194304 B, credit 16777216 B, 1 stream, fifo
//   step 0: loss 5.548
//   …
//   iteration 411.20 ms ± 1.31 (11 measured), exposed communication 206.10 ms, emulated link
//   500mbit

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/start/client.h"
#include "examples/gpt2/job/job_options.h"
#include "examples/gpt2/job/platform.h"
#include "examples/gpt2/job/summary.h"
#include "examples/gpt2/model/model.h"
#include "job/network/job_network.h"
#include "job/run/job_run.h"
#include "job/run/job_start.h"
#include "job/run/watching.h"
#include "job/training/offloading.h"
#include "job/training/step_measurement.h"
#include "profiler/metrics/iterations.h"
#include "profiler/metrics/layer_costs.h"

extern "C" char* openblas_get_config(void);

namespace hocket {
namespace {

void warn(const std::string& message) {
  std::fprintf(stderr, "gpt2: warning: %s\n", message.c_str());
}

std::string openblas_version() {
  const std::string config = openblas_get_config();  // for example "OpenBLAS 0.3.21 NO_LAPACKE …"
  const auto begin = config.find(' ') + 1;
  return config.substr(begin, config.find(' ', begin) - begin);
}

/// Returns whether a task computes the gradient of an input or of weights.
bool is_backward(std::string_view task) {
  return task.ends_with(".dx") || task.ends_with(".dw");
}

/// A rank of the job, made in the order of its methods.
class Job {
 public:
  Job(JobOptions options, const Text& text, OffloadK offload_k)
      : options_(std::move(options)), text_(text), offload_k_(offload_k) {}

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
  RunMessages messages() const;
  JobKind kind() const;
  Training training() const;
  Result<void> measure_step(const Training& training) const;
  /// Decides how many layers the device keeps, from the first steps.
  Result<MeasuredStep> measure_offload(const Training& training);
  Result<void> report(const FinishedRun& run);

  JobOptions options_;
  const Text& text_;
  const OffloadK offload_k_;
  const SteadyClock clock_;
  std::optional<JobNetwork> network_;
  std::unique_ptr<Platform> platform_;
  int servers_ = 0;  ///< parameter servers that sum gradients
  FetchedConfig fetched_;
  RunReport report_;
  std::unique_ptr<Gpt2> model_;
};

Result<void> Job::connect() {
  auto network = connect_job(options_.network, clock_);
  HOCKET_TRY(network);
  network_.emplace(std::move(*network));
  const Collective& collective = network_->collective();
  options_.training.rank = collective.rank();
  options_.training.world_size = collective.world_size();
  options_.training.ranks_per_host = collective.ranks_per_host();
  auto topology = probe_topology(*network_);
  HOCKET_TRY(topology);
  topology->library_versions["openblas"] = openblas_version();
  report_.topology = std::move(*topology);
  return {};
}

Result<void> Job::open_device() {
  const auto type = parse_element_type(options_.precision);
  HOCKET_TRY(type);
  // If steps are placed on a CUDA device, the limit is the device's, not the model's.
  const bool limits_cuda = is_on_cuda(options_.device) && is_placed(options_.device);
  const std::int64_t limit_bytes = options_.device.memory_limit_bytes;
  options_.training.memory_limit_bytes = limits_cuda ? 0 : limit_bytes;
  auto platform = open_platform({.device = options_.device.device,
                                 .type = *type,
                                 .local_rank = network_->local_rank(),
                                 .servers = network_->servers(),
                                 .placed_memory_bytes = limits_cuda ? limit_bytes : 0,
                                 .profile_level = level_to_profile(options_.run)},
                                network_->collective(), clock_, warn);
  HOCKET_TRY(platform);
  platform_ = std::move(*platform);
  platform_->describe(report_.topology);
  // Servers do not take the collectives of a sharded optimizer.
  servers_ = options_.training.shard_optimizer ? 0 : platform_->servers();
  if (options_.training.update_on_servers && servers_ == 0) {
    return invalid(
        "--update-on-servers: the job has no parameter servers; start it with hocket run "
        "--servers N, or set HOCKET_SERVERS");
  }
  return {};
}

Result<void> Job::configure() {
  report_.workload = workload(options_.model, options_.training);
  auto fetched = fetch_config(report_.topology, report_.workload, network_->collective(), kind());
  HOCKET_TRY(fetched);
  fetched_ = std::move(*fetched);
  report_.config = fetched_.config;
  if (offload_k_.source == OffloadK::Source::given) report_.config.offload_k = offload_k_.layers;
  if (options_.training.update_on_servers)
    report_.config.communication = Communication::parameter_server;
  report_.config_source = fetched_.source;
  if (!is_first()) return {};
  for (const auto& warning : fetched_.warnings) warn(warning);
  const std::int64_t layers = options_.model.layers + 2;  // with the embedding and the head
  const std::string offload =
      is_placed(options_.device) ? describe_offload(report_.config, offload_k_, layers) : "";
  std::fprintf(stderr, "configuration from %s (%s): %s\n", fetched_.source.c_str(),
               fetched_.detail.c_str(), describe_config(report_.config, offload).c_str());
  return {};
}

Result<void> Job::make_model() {
  options_.training.micro_batches_kept =
      std::min(report_.config.micro_batches_kept, options_.training.micro_batches);
  options_.training.steps_as_graphs =
      is_on_cuda(options_.device) && report_.config.step_issue == StepIssue::graph;
  auto model = Gpt2::create(options_.model, options_.training, text_, platform_->backend());
  HOCKET_TRY(model);
  model_ = std::move(*model);
  return {};
}

RunMessages Job::messages() const {
  return {.warn = warn, .say = [to = options_.json ? stderr : stdout](const std::string& line) {
            std::fprintf(to, "%s\n", line.c_str());
            std::fflush(to);
          }};
}

JobKind Job::kind() const {
  return {.ranks_per_host = network_->collective().ranks_per_host(),
          .servers = servers_,
          .is_updated_by_servers = options_.training.update_on_servers,
          .is_placed = platform_->memory() != nullptr};
}

Training Job::training() const {
  return {.model = *model_,
          .collective = network_->collective(),
          .clock = clock_,
          .make_executor = [this] { return platform_->make_executor(); },
          .recorder = platform_->recorder(),
          .memory = platform_->memory(),
          .servers = servers_,
          .step_done =
              [this](std::int64_t step) {
                if (!is_first() || options_.json) return;
                std::printf("step %lld: loss %.4f\n", static_cast<long long>(step),
                            static_cast<double>(model_->loss(step)));
              }};
}

Result<void> Job::train() {
  const Training training = this->training();
  const bool is_measured = offload_k_.source == OffloadK::Source::measured;
  HOCKET_TRY(check_config(training, report_.config, is_measured));
  if (!options_.run.profile.empty()) return measure_step(training);
  const auto before = is_measured ? measure_offload(training) : MeasuredStep();
  HOCKET_TRY(before);
  const auto run = hocket::train_job(options_.run,
                                     {.report = report_,
                                      .fetched = fetched_,
                                      .before = *before,
                                      .kind = kind(),
                                      .on_device = is_on_cuda(options_.device)},
                                     training, messages());
  HOCKET_TRY(run);
  return is_first() ? report(*run) : Result<void>();
}

Result<void> Job::measure_step(const Training& training) const {
  auto step = profile_step(training, report_.config, options_.run.steps);
  HOCKET_TRY(step);
  if (!is_first()) return {};
  step->name = report_.workload.name;
  step->source = "profile of " + std::to_string(options_.run.steps) +
                 " steps of examples/gpt2, batch " + std::to_string(options_.model.batch) +
                 ", sequence " + std::to_string(options_.model.sequence) + ", " +
                 std::to_string(training.collective.world_size()) +
                 " ranks, link: " + report_.topology.link;
  // Links that are emulated are known better than from the parts that crossed them.
  if (network_->emulated_server_links()) step->servers = network_->emulated_server_links();
  return write_step(*step, options_.run.profile);
}

Result<MeasuredStep> Job::measure_offload(const Training& training) {
  auto decision = decide_offload(training, report_.config, steps_to_measure(options_.run));
  HOCKET_TRY(decision);
  if (is_first()) messages().say(decision->reason);
  report_.config = std::move(decision->config);
  return std::move(decision->measured);
}

Result<void> Job::report(const FinishedRun& run) {
  report_.config = run.config;
  report_.iterations = measure_iterations(run.events, run.warmup);
  std::vector<LayerCost> layers;
  // The bound is that of a ring.
  if (network_->emulated_link() && report_.config.communication == Communication::all_reduce) {
    layers = layer_costs(run.events, report_.workload,
                         {.warmup = run.warmup,
                          .world_size = network_->collective().world_size(),
                          .link = *network_->emulated_link(),
                          .is_backward = is_backward});
  }
  print_summary(options_, report_, *model_, layers, run.explored);
  return write_report(report_);
}

Result<void> run(JobOptions options) {
  HOCKET_TRY(validate(options));
  connect_ranges(options.device.device, level_to_profile(options.run));
  // Checked before the ranks meet: if a rank left later, the others would fail for another reason.
  if (options.run.watch) HOCKET_TRY(check_daemon_to_watch());
  HOCKET_TRY(validate(options.model));
  const auto text = Text::load(options.text, static_cast<std::size_t>(options.model.sequence) + 1);
  HOCKET_TRY(text);
  const auto offload_k = parse_offload_k(options.device.offload_k);
  HOCKET_TRY(offload_k);
  options.training.steps = options.run.steps;
  Job job(std::move(options), *text, *offload_k);
  HOCKET_TRY(job.connect());
  HOCKET_TRY(job.open_device());
  HOCKET_TRY(job.configure());
  HOCKET_TRY(job.make_model());
  return job.train();
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::JobOptions options;
  if (const auto status = hocket::parse_arguments(argc, argv, options)) return *status;
  const auto ok = hocket::run(std::move(options));
  if (ok) return 0;
  std::fprintf(stderr, "gpt2: %s\n", ok.error().message.c_str());
  return ok.error().code == hocket::ErrorCode::invalid_argument ? 2 : 1;
}
