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
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "client/start/client.h"
#include "core/base/statistics.h"
#include "core/host/topology_probe.h"
#include "core/partitioning/step_partition.h"
#include "core/sim/simulator.h"
#include "examples/gpt2/job/job_network.h"
#include "examples/gpt2/job/job_options.h"
#include "examples/gpt2/job/job_profile.h"
#include "examples/gpt2/job/layer_costs.h"
#include "examples/gpt2/job/offload_options.h"
#include "examples/gpt2/job/offloading.h"
#include "examples/gpt2/job/platform.h"
#include "examples/gpt2/job/profiling.h"
#include "examples/gpt2/job/step_recorder.h"
#include "examples/gpt2/job/training.h"
#include "examples/gpt2/job/watching.h"
#include "examples/gpt2/model/model.h"
#include "profiler/metrics/activity_meter.h"
#include "profiler/metrics/iterations.h"
#include "store/config_source.h"
#include "store/open.h"

extern "C" char* openblas_get_config(void);

namespace hocket {
namespace {

Result<Topology> topology_of(const JobNetwork& network) {
  auto topology = probe_topology();
  if (!topology) return topology;
  topology->link = network.name();
  const RankGrid grid = network.collective().grid();
  topology->world_size = network.collective().world_size();
  if (grid.hosts() > 1 && grid.ranks_per_host > 1)
    topology->ranks_per_host = network.collective().ranks_per_host();
  const std::string openblas = openblas_get_config();  // for example "OpenBLAS 0.3.21 NO_LAPACKE …"
  const auto begin = openblas.find(' ') + 1;
  topology->library_versions["openblas"] =
      openblas.substr(begin, openblas.find(' ', begin) - begin);
  return topology;
}

Result<FetchedConfig> fetch(const Topology& topology, const Workload& workload,
                            Collective& collective, const JobKind& kind) {
  const auto path = default_store_path();
  const RunnableValues can_run = what_it_can_run(kind);
  const auto source = path ? open_config_source(*path, can_run) : nullptr;
  return fetch_config(topology, workload, source.get(), collective, process_environment, can_run);
}

constexpr const char* kNoStaticOrder =
    "order=static: steps of a job that is tuned while it trains have a ballot, which the order of "
    "partitioned ones does not know; the order is negotiated";

void warn(const std::string& message) {
  std::fprintf(stderr, "gpt2: warning: %s\n", message.c_str());
}

struct Measured {
  std::vector<TraceEvent> events;
  std::int64_t warmup = 0;  ///< steps in `events` that are not measured
  ScheduleConfig config;    ///< the last configuration
  double explored = 0;      ///< share of the time spent on trying others
};

void say_live(const JobOptions& options, const std::string& line) {
  std::FILE* const to = options.json ? stderr : stdout;
  std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
}

/// Returns the live phase of a job that only accepts requests for profiles; `watch` receives rank
/// 0's link.
LivePhase requests_alone(const JobOptions& options, const RunReport& report, Watch& watch) {
  LivePhase live;
  const auto path = default_store_path();
  if (!path) {
    warn("requests for profiles are not seen: " + path.error().message);
    return live;
  }
  watch = watch_store(report, *path, warn);
  live.link = watch.link.get();
  live.options.tuning.job = watch.job;
  live.options.tuning.say = [&options](const std::string& line) { say_live(options, line); };
  return live;
}

/// Returns the live phase of a job that is tuned while it trains; `watch` receives rank 0's link.
Result<LivePhase> live_tuning(const JobOptions& options, const RunReport& report,
                              const FetchedConfig& fetched, const Training& training,
                              Watch& watch) {
  LivePhase live;
  if (training.collective.rank() != 0) return live;
  if (!options.watch) return requests_alone(options, report, watch);
  std::optional<StepDescription> description;
  if (!options.step.empty()) {
    auto step = read_fitting_step(training, options.step);
    if (step) {
      description = std::move(*step);
      live.options.static_order_of =
          [step =
               *description](const ScheduleConfig& config) -> Result<std::vector<std::uint32_t>> {
        if (is_partitioned(config)) return invalid(kNoStaticOrder);
        return static_order(step, config);
      };
    } else {
      warn("order=static is not tried: " + step.error().message);
    }
  }
  watch = watch_daemon(report, fetched, options.explore, description,
                       what_it_can_run({.ranks_per_host = training.collective.ranks_per_host(),
                                        .servers = training.servers,
                                        .is_updated_by_servers = options.training.update_on_servers,
                                        .is_placed = training.memory != nullptr,
                                        .is_watched = true,
                                        .has_step = description.has_value()}),
                       warn);
  live.link = watch.link.get();
  live.options.tuning.job = watch.job;
  live.options.tuning.version = fetched.version;
  live.options.tuning.explore = options.explore;
  live.options.tuning.say = [&options](const std::string& line) { say_live(options, line); };
  return live;
}

/// Returns the span that the job is to profile. For rank 0.
std::optional<ProfileSpan> span_to_profile(const JobOptions& options) {
  const auto text = process_environment("HOCKET_PROFILE");
  if (options.profiled.first_step < 0 && (!text || text->empty())) return std::nullopt;
  if (!options.record.empty()) {
    warn("no profile: --record is the scheduler's only observer");
    return std::nullopt;
  }
  if (options.profiled.first_step >= 0) return options.profiled;
  const auto span = parse_profile_span(*text);
  if (span) return *span;
  warn("no profile: HOCKET_PROFILE: " + span.error().message);
  return std::nullopt;
}

/// Begins the profile of the phase, if one is requested or may be requested.
Result<std::unique_ptr<JobProfile>> begin_profile(const JobOptions& options,
                                                  const Training& training, Phase& phase) {
  const bool asks = training.collective.rank() == 0;
  const auto span =
      agree_on_span(training.collective, asks ? span_to_profile(options) : std::nullopt);
  HOCKET_TRY(span);
  if (!*span && !takes_requests(options)) return nullptr;
  auto profile = std::make_unique<JobProfile>(training, warn);
  if (*span) {
    profile->watch(phase, **span);
  } else {
    profile->watch(phase);
  }
  return profile;
}

/// The trace sink of a run: records all of it and, in a live phase, measures the activity of
/// iterations. On a device it wants the tasks of some steps only.
class LiveTrace final : public TraceSink {
 public:
  void record(const TraceEvent& event) override {
    recorder.record(event);
    if (measures_activity) meter.record(event);
  }
  TraceDetail detail(std::int64_t step) const override { return sampled_detail(step, warmup); }

  TraceRecorder recorder;
  ActivityMeter meter;
  bool measures_activity = false;
  std::int64_t warmup = 0;
};

/// Trains all steps but those that `before` has trained.
Result<Measured> train(const JobOptions& options, const RunReport& report,
                       const FetchedConfig& fetched, const Training& training,
                       const MeasuredStep& before) {
  const ScheduleConfig& config = report.config;
  Measured measured{{}, options.warmup, config, 0};
  Watch watch;
  LivePhase live;
  if (is_live(options)) {
    auto tuning = live_tuning(options, report, fetched, training, watch);
    HOCKET_TRY(tuning);
    live = std::move(*tuning);
  }
  Phase phase{config, before.from_step, options.training.steps, {}, false};
  const bool knows_steps = !is_live(options) || !is_partitioned(config);
  // Over servers each rank keeps an order of its own.
  const bool is_static = config.order == CollectiveOrder::static_order &&
                         config.communication != Communication::parameter_server;
  if (is_static && !knows_steps) warn(kNoStaticOrder);
  if (is_static && knows_steps) {
    auto order = find_static_order(training, config, options.step, before, options.warmup, warn);
    HOCKET_TRY(order);
    phase.options.static_order = std::move(order->parts);
    phase.first_step = order->from_step;
  }
  // A new phase begins with nothing in flight.
  const std::int64_t left = phase.end_step - phase.first_step;
  if (phase.first_step > 0) measured.warmup = left > 2 ? 1 : 0;
  LiveTrace trace;
  TraceRecorder& recorder = trace.recorder;
  trace.warmup = measured.warmup;
  phase.options.trace = &trace;
  std::set<std::int64_t> before_pause;  // traced steps whose iteration contains a pause
  const auto iteration_ns = [&](std::int64_t step) -> std::optional<std::int64_t> {
    const std::int64_t traced = step - phase.first_step;  // each phase counts from 0
    const auto begin_ns = recorder.step_start_ns(traced);
    const auto end_ns = recorder.step_start_ns(traced + 1);
    if (traced < measured.warmup || !begin_ns || !end_ns) return std::nullopt;
    if (before_pause.contains(traced)) return std::nullopt;
    return *end_ns - *begin_ns;
  };
  Training watched = training;
  std::optional<IterationLog> log;
  if (training.collective.rank() == 0) {
    log.emplace();
    watched.step_done = [&](std::int64_t step) {
      training.step_done(step);
      if (const auto ns = iteration_ns(step - 1)) log->add(*ns);
    };
    live.iteration_ns = iteration_ns;
  }
  if (is_live(options)) {
    live.activity = [&](std::int64_t step) { return trace.meter.take(step - phase.first_step); };
    trace.measures_activity = true;
    phase.options.static_order = with_ballot(std::move(phase.options.static_order),
                                             training.collective.world_size(), config);
    if (training.memory && training.collective.rank() == 0) {
      // Recorded now, since the model cannot be recorded while it trains.
      live.measured = [step = described_step(training),
                       said = std::optional<ScheduleConfig>()](LiveJob& job) mutable {
        if (said == job.config()) return;
        said = job.config();
        const auto values = placement_values(step, job.config());
        if (!values) return;
        for (const auto& [name, value] : kPlacementFields)
          job.measured(std::string(name), static_cast<double>((*values).*value));
      };
    }
    live.done = [&](const LiveJob& job) {
      measured.config = job.config();
      measured.explored = job.explored();
    };
    phase.live = &live;
  }
  const auto profile = begin_profile(options, training, phase);
  HOCKET_TRY(profile);
  const auto save_profile = [&] {
    (*profile)->save(report, default_store_path(),
                     [&](const std::string& line) { say_live(options, line); });
  };
  if (takes_requests(options)) {
    live.options.on_profile = [&](std::int64_t first_step, std::int64_t steps) {
      (*profile)->request(first_step, steps);
    };
    live.pauses = [&](std::int64_t step) {
      if ((*profile)->is_due(step)) before_pause.insert(step - 1);
      return (*profile)->is_due(step);
    };
    live.paused = save_profile;
  }
  const auto why = why_task_by_task(phase, is_on_cuda(options), training.collective.world_size());
  if (why && training.collective.rank() == 0)
    warn("step_issue=graph: " + *why + "; steps go task by task");
  HOCKET_TRY(options.record.empty() ? run_phase(watched, phase)
                                    : run_recorded_phase(watched, phase, options.record));
  if (*profile) save_profile();
  measured.events = recorder.events();
  return measured;
}

/// Trains all steps for a step description, which rank 0 writes; `servers` is what is known of the
/// links to parameter servers.
Result<void> profile(const JobOptions& options, const RunReport& report, const Training& training,
                     const std::optional<StepServers>& servers) {
  auto description = profile_step(training, report.config, options.training.steps);
  HOCKET_TRY(description);
  if (training.collective.rank() != 0) return {};
  description->name = report.workload.name;
  description->source = "profile of " + std::to_string(options.training.steps) +
                        " steps of examples/gpt2, batch " + std::to_string(options.model.batch) +
                        ", sequence " + std::to_string(options.model.sequence) + ", " +
                        std::to_string(training.collective.world_size()) +
                        " ranks, link: " + report.topology.link;
  // Links that are emulated are known better than from the parts that crossed them.
  if (servers) description->servers = servers;
  return write_step(*description, options.profile);
}

/// Returns how many layers a device of limited memory keeps; empty for others.
std::string describe_offload(const ScheduleConfig& config, const JobOptions& options) {
  if (!is_placed(options)) return "";
  const std::int64_t layers = options.model.layers + 2;  // with the embedding and the head
  std::string text = ", offload_k ";
  if (parse_offload_k(options.offload_k)->source == OffloadK::Source::measured) {
    text += "to be measured";
  } else if (config.offload_k >= layers) {
    text += "of all " + std::to_string(layers) + " layers";
  } else {
    text += std::to_string(config.offload_k) + " of " + std::to_string(layers) + " layers";
  }
  return text + ", prefetch_layers " + std::to_string(config.prefetch_layers);
}

std::string describe(const ScheduleConfig& config, const JobOptions& options) {
  std::string text = "partition " + std::to_string(config.partition_bytes) + " B, credit " +
                     std::to_string(config.credit_bytes) + " B, " + std::to_string(config.streams) +
                     (config.streams == 1 ? " stream, " : " streams, ") +
                     std::string(to_string(config.order));
  if (config.communication == Communication::parameter_server) text += ", parameter servers";
  // Lists the knobs that partition steps, if they have effect.
  const nlohmann::json values = knob_values(config);
  for (const std::string& name : changed_knobs(unpartitioned(config), config)) {
    const nlohmann::json& value = values.at(name);
    text += ", " + name + " " + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (config.step_issue == StepIssue::graph) text += ", steps as graphs";
  return text + describe_offload(config, options);
}

/// Checks that the configuration can partition or place the job's steps, before any step runs.
Result<void> check_steps(const Training& training, const ScheduleConfig& config,
                         bool is_measured_first) {
  if (training.memory) {
    // The number of layers that fit shows when it is decided.
    if (is_measured_first && !is_partitioned(config)) return {};
    const auto placed = check_placement(training, config);
    return placed ? placed : failure(placed.error().in("configuration"));
  }
  if (!is_partitioned(config)) return {};
  const auto partitioned = partition_step(record_step(training.model), config);
  if (!partitioned) return failure(partitioned.error().in("configuration"));
  return {};
}

void print_summary(const JobOptions& options, const RunReport& report, const Gpt2& model,
                   const std::vector<LayerCost>& layers, double explored) {
  std::vector<double> wall_ns, exposed_ns;
  for (const Iteration& iteration : report.iterations) {
    wall_ns.push_back(static_cast<double>(iteration.wall_ns));
    if (!iteration.is_whole) exposed_ns.push_back(static_cast<double>(iteration.exposed_ns));
  }
  if (options.json) {
    auto document = to_json(report);
    document["losses"] = model.losses();
    document["optimizer_bytes"] = model.optimizer_bytes();
    document["parameters_hash"] = model.parameters_hash();
    if (options.watch) document["explored"] = explored;
    if (!layers.empty()) {
      document["bound_ns"] = overlap_bound_ns(layers);
      document["overlap_efficiency"] =
          overlap_efficiency(layers, static_cast<std::int64_t>(median(wall_ns)));
      for (const LayerCost& layer : layers) {
        document["layers"].push_back({{"name", layer.name},
                                      {"forward_ns", layer.forward_ns},
                                      {"backward_ns", layer.backward_ns},
                                      {"communication_ns", layer.communication_ns}});
      }
    }
    std::printf("%s\n", document.dump().c_str());
    return;
  }
  std::printf("iteration %.2f ms ± %.2f (%zu measured), ", median(wall_ns) / 1e6,
              spread(wall_ns) / 1e6, wall_ns.size());
  // Unknown for steps that ran as a whole.
  if (!exposed_ns.empty()) std::printf("exposed communication %.2f ms, ", median(exposed_ns) / 1e6);
  const Topology& topology = report.topology;
  const std::string on = is_placed(options) ? ", on device " + topology.accelerator : "";
  std::printf("%s%s\n",
              topology.link.starts_with("emulated")
                  ? ("emulated link " + topology.link.substr(9)).c_str()
                  : topology.link.c_str(),
              on.c_str());
  if (options.training.shard_optimizer) {
    std::printf("sharded optimiser: %lld bytes on this rank\n",
                static_cast<long long>(model.optimizer_bytes()));
  }
}

Result<void> run(JobOptions options) {
  if (auto ok = validate(options); !ok) return ok;
  connect_ranges(options.device, level_to_profile(options));
  if (options.watch) {
    // Checked before the ranks meet: if a rank left later, the others would fail for another
    // reason.
    HOCKET_TRY(check_daemon_to_watch());
  }
  if (auto ok = validate(options.model); !ok) return ok;
  const auto text = Text::load(options.text, static_cast<std::size_t>(options.model.sequence) + 1);
  HOCKET_TRY(text);

  const SteadyClock clock;
  const auto network = connect_job(options, clock);
  HOCKET_TRY(network);
  Collective& collective = network->collective();
  options.training.rank = collective.rank();
  options.training.world_size = collective.world_size();
  options.training.ranks_per_host = collective.ranks_per_host();
  auto topology = topology_of(*network);
  HOCKET_TRY(topology);
  const auto type = parse_element_type(options.precision);
  HOCKET_TRY(type);
  // Where steps are placed on a CUDA device, the limit is the device's, not the model's.
  const bool limits_cuda = is_on_cuda(options) && is_placed(options);
  const std::int64_t limit_bytes = options.training.memory_limit_bytes;
  if (limits_cuda) options.training.memory_limit_bytes = 0;
  const auto platform = open_platform({.device = options.device,
                                       .type = *type,
                                       .local_rank = network->local_rank(),
                                       .servers = network->servers(),
                                       .placed_memory_bytes = limits_cuda ? limit_bytes : 0,
                                       .profile_level = level_to_profile(options)},
                                      collective, clock, warn);
  HOCKET_TRY(platform);
  (*platform)->describe(*topology);

  RunReport report{.topology = *topology,
                   .workload = workload(options.model, options.training),
                   .config = {},
                   .config_source = {},
                   .iterations = {}};
  const auto offload_k = parse_offload_k(options.offload_k);
  HOCKET_TRY(offload_k);
  // Servers do not take the collectives of a sharded optimizer.
  const int servers = options.training.shard_optimizer ? 0 : (*platform)->servers();
  if (options.training.update_on_servers && servers == 0) {
    return invalid(
        "--update-on-servers: the job has no parameter servers; start it with hocket run "
        "--servers N, or set HOCKET_SERVERS");
  }
  const auto fetched = fetch(report.topology, report.workload, collective,
                             {.ranks_per_host = collective.ranks_per_host(),
                              .servers = servers,
                              .is_updated_by_servers = options.training.update_on_servers,
                              .is_placed = (*platform)->memory() != nullptr});
  HOCKET_TRY(fetched);
  report.config = fetched->config;
  if (offload_k->source == OffloadK::Source::given) report.config.offload_k = offload_k->layers;
  if (options.training.update_on_servers)
    report.config.communication = Communication::parameter_server;
  report.config_source = fetched->source;
  if (collective.rank() == 0) {
    for (const auto& warning : fetched->warnings) warn(warning);
    std::fprintf(stderr, "configuration from %s (%s): %s\n", fetched->source.c_str(),
                 fetched->detail.c_str(), describe(report.config, options).c_str());
  }
  options.training.micro_batches_kept =
      std::min(report.config.micro_batches_kept, options.training.micro_batches);
  options.training.steps_as_graphs =
      is_on_cuda(options) && report.config.step_issue == StepIssue::graph;
  const auto model = Gpt2::create(options.model, options.training, *text, (*platform)->backend());
  HOCKET_TRY(model);
  const Training training{.model = **model,
                          .collective = collective,
                          .clock = clock,
                          .make_executor = [&] { return (*platform)->make_executor(); },
                          .recorder = (*platform)->recorder(),
                          .memory = (*platform)->memory(),
                          .servers = servers,
                          .step_done =
                              [&](std::int64_t step) {
                                if (collective.rank() != 0 || options.json) return;
                                const auto loss = (*model)->loss(step);
                                std::printf("step %lld: loss %.4f\n", static_cast<long long>(step),
                                            static_cast<double>(loss));
                              }};
  const bool is_measured_first = offload_k->source == OffloadK::Source::measured;
  HOCKET_TRY(check_steps(training, report.config, is_measured_first));
  if (!options.profile.empty())
    return profile(options, report, training, network->emulated_server_links());
  MeasuredStep before;
  if (is_measured_first) {
    auto decision = decide_offload(training, report.config, steps_to_measure(options));
    HOCKET_TRY(decision);
    if (collective.rank() == 0) say_live(options, decision->reason);
    report.config = std::move(decision->config);
    before = std::move(decision->measured);
  }
  const auto measured = train(options, report, *fetched, training, before);
  HOCKET_TRY(measured);
  if (collective.rank() != 0) return {};
  report.config = measured->config;
  report.iterations = measure_iterations(measured->events, measured->warmup);
  std::vector<LayerCost> layers;
  // The bound is that of a ring.
  if (network->emulated_link() && report.config.communication == Communication::all_reduce) {
    layers = layer_costs(measured->events, measured->warmup, report.workload,
                         collective.world_size(), *network->emulated_link());
  }
  print_summary(options, report, **model, layers, measured->explored);
  return write_report(report);
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::JobOptions options;
  if (const auto status = hocket::parse_arguments(argc, argv, options)) return *status;
  const auto ok = hocket::run(options);
  if (ok) return 0;
  std::fprintf(stderr, "gpt2: %s\n", ok.error().message.c_str());
  return ok.error().code == hocket::ErrorCode::invalid_argument ? 2 : 1;
}
