#include "core/scheduler/scheduler.h"

#include <utility>

#include "core/base/check.h"
#include "core/programs/fold_order.h"
#include "core/programs/program_check.h"
#include "core/scheduler/dispatch/dispatch.h"
#include "core/scheduler/partitioned_steps.h"
#include "core/scheduler/placed_steps.h"
#include "core/scheduler/plain_steps.h"
#include "core/scheduler/schedule.h"
#include "core/scheduler/step_capture.h"
#include "core/scheduler/step_form.h"
#include "core/scheduler/task_submission.h"
#include "core/scheduler/whole_steps.h"

namespace hocket {

static_assert(Scheduler::kStepsAhead == Dispatch::kStepsAhead);

namespace {

CollectiveWork work_in_group(CollectiveKind kind, ValueSpan values, CollectiveGroup group,
                             std::size_t peer = 0) {
  return {.kind = kind, .group = group, .values = values, .peer = peer};
}

}  // namespace

Scheduler::Scheduler(const ScheduleConfig& config, Executor& executor, SchedulerOptions options)
    : executor_(executor),
      is_observed_(options.observer != nullptr),
      dispatch_(std::make_unique<Dispatch>(schedule_of(config, std::move(options.static_order)),
                                           !is_partitioned(config), executor, options.trace,
                                           options.observer, options.memory != nullptr)) {
  if (options.memory) {
    HOCKET_CHECK(executor.runs_lanes(), "this executor runs no placed steps");
    placed_ = std::make_unique<PlacedSteps>(*dispatch_, *options.memory, options.trace);
  }
  if (auto ok = check_servers(config, executor.servers(), placed_ != nullptr); !ok)
    dispatch_->fail(ok.error());
  sink_ = form_ = &form_of(dispatch_->schedule());
  // The form knows no step yet, so the configuration fits.
  (void)form_->configure(config);
}

Scheduler::~Scheduler() {
  // Ends first what still runs and uses the other members.
  dispatch_.reset();
}

Schedule Scheduler::schedule_of(const ScheduleConfig& config,
                                std::optional<std::vector<std::uint32_t>> static_order) const {
  return hocket::schedule_of(config, std::move(static_order), rank(), world_size(),
                             executor_.servers());
}

StepForm& Scheduler::form_of(const Schedule& schedule) {
  if (placed_) return *placed_;
  const bool partitions = is_partitioned(schedule.config);
  std::unique_ptr<StepForm>& tasks = partitions ? partitioned_ : plain_;
  if (!tasks && partitions) tasks = std::make_unique<PartitionedSteps>(*dispatch_, grid());
  if (!tasks) tasks = std::make_unique<PlainSteps>(*dispatch_);
  if (!launches_whole_steps(schedule)) return *tasks;
  std::unique_ptr<StepForm>& whole = partitions ? whole_partitioned_ : whole_plain_;
  if (!whole) whole = std::make_unique<WholeSteps>(*dispatch_, *tasks);
  return *whole;
}

bool Scheduler::launches_whole_steps(const Schedule& schedule) const {
  return schedule.config.step_issue == StepIssue::graph && executor_.runs_whole_steps() &&
         !schedule.announces && !is_observed_;
}

Result<void> Scheduler::reconfigure(const ScheduleConfig& config,
                                    std::optional<std::vector<std::uint32_t>> static_order) {
  HOCKET_CHECK(!capturing_ && !dispatch_->is_submitting(),
               "the configuration changes between steps");
  HOCKET_TRY(validate(config));
  HOCKET_TRY(check_servers(config, executor_.servers(), placed_ != nullptr));
  Schedule schedule = schedule_of(config, std::move(static_order));
  StepForm& form = form_of(schedule);
  if (form.renames_data() || form_->renames_data()) HOCKET_TRY(dispatch_->synchronize());
  HOCKET_TRY(form.configure(config));
  HOCKET_TRY(dispatch_->configure(std::move(schedule), form.follows_static_order()));
  sink_ = form_ = &form;
  return {};
}

DataId Scheduler::add_data(const DataPlace& place, std::string_view name) {
  const DataId data = dispatch_->add_data();
  form_->add_data(data, place, name);
  return data;
}

void Scheduler::compute(const TaskOptions& options, std::span<const Access> accesses,
                        TaskBody body) {
  sink_->submit({.options = options,
                 .accesses = static_cast<std::uint32_t>(accesses.size()),
                 .body = std::move(body)},
                accesses);
}

void Scheduler::compute_pieces(const TaskOptions& options, std::span<const Access> accesses,
                               PieceBody body) {
  HOCKET_CHECK(options.place && !options.place->dimensions.empty(),
               "a computation in pieces needs a dimension");
  auto pieces = std::make_shared<const PieceBody>(std::move(body));
  const std::int64_t all = options.place->dimensions.front().extent;
  sink_->submit({.options = options,
                 .accesses = static_cast<std::uint32_t>(accesses.size()),
                 .body = [pieces, all] { (*pieces)({.dimension = 0, .begin = 0, .end = all}); },
                 .pieces = pieces},
                accesses);
}

void Scheduler::all_reduce(const TaskOptions& options, DataId data, ValueSpan values) {
  submit_collective(options, data, values, CollectiveKind::all_reduce);
}

void Scheduler::optimizer_step(const TaskOptions& options, DataId data, ValueSpan values,
                               const OptimizerStep& step) {
  submit_collective(options, data, values, CollectiveKind::all_reduce, &step);
}

void Scheduler::reduce_scatter(const TaskOptions& options, DataId data, ValueSpan values) {
  submit_collective(options, data, values, CollectiveKind::reduce_scatter);
}

void Scheduler::all_gather(const TaskOptions& options, DataId data, ValueSpan values) {
  submit_collective(options, data, values, CollectiveKind::all_gather);
}

void Scheduler::submit_collective(const TaskOptions& options, DataId data, ValueSpan values,
                                  CollectiveKind kind, const OptimizerStep* optimizer) {
  TaskSubmission submission{.options = options,
                            .is_collective = true,
                            .accesses = 1,
                            .bytes = static_cast<std::int64_t>(values.size_bytes()),
                            .optimizer = optimizer};
  if (kind == CollectiveKind::all_reduce) {
    submission.values = values;
  } else {
    SpecialCollective special{.is_scattered = true};
    special.work.kind = kind;
    special.work.values = values;
    submission.special = std::make_unique<SpecialCollective>(std::move(special));
  }
  const Access access = update(data);
  sink_->submit(std::move(submission), {&access, 1});
}

void Scheduler::all_reduce(const TaskOptions& options, DataId data, ValueSpan values,
                           CollectiveGroup group) {
  if (group == CollectiveGroup::world) return all_reduce(options, data, values);
  const Access access = update(data);
  submit_of_some(options, {&access, 1}, work_in_group(CollectiveKind::all_reduce, values, group));
}

void Scheduler::reduce_scatter(const TaskOptions& options, DataId data, ValueSpan values,
                               CollectiveGroup group) {
  if (group == CollectiveGroup::world) return reduce_scatter(options, data, values);
  const Access access = update(data);
  submit_of_some(options, {&access, 1},
                 work_in_group(CollectiveKind::reduce_scatter, values, group));
}

void Scheduler::all_gather(const TaskOptions& options, DataId data, ValueSpan values,
                           CollectiveGroup group) {
  if (group == CollectiveGroup::world) return all_gather(options, data, values);
  const Access access = update(data);
  submit_of_some(options, {&access, 1}, work_in_group(CollectiveKind::all_gather, values, group));
}

void Scheduler::send(const TaskOptions& options, DataId data, ValueSpan values,
                     CollectiveGroup group, std::size_t peer) {
  const Access access = read(data);
  submit_of_some(options, {&access, 1}, work_in_group(CollectiveKind::send, values, group, peer));
}

void Scheduler::receive(const TaskOptions& options, DataId data, ValueSpan values,
                        CollectiveGroup group, std::size_t peer) {
  const Access access = write(data);
  submit_of_some(options, {&access, 1},
                 work_in_group(CollectiveKind::receive, values, group, peer));
}

void Scheduler::broadcast(const TaskOptions& options, DataId data, ValueSpan values,
                          CollectiveGroup group, std::size_t root) {
  const Mesh* const mesh = executor_.mesh();
  const bool is_root = mesh != nullptr && group_members(*mesh, group, rank()).own == root;
  const Access access = is_root ? read(data) : write(data);
  submit_of_some(options, {&access, 1},
                 work_in_group(CollectiveKind::broadcast, values, group, root));
}

void Scheduler::shift(const TaskOptions& options, DataId sent, ValueSpan values, DataId received,
                      ValueSpan received_values, CollectiveGroup group, std::size_t distance) {
  CollectiveWork work = work_in_group(CollectiveKind::shift, values, group, distance);
  work.received = received_values;
  const Access accesses[] = {read(sent), write(received)};
  submit_of_some(options, accesses, work);
}

void Scheduler::all_to_all(const TaskOptions& options, DataId sent, DataId received,
                           const AllToAll& exchange, CollectiveGroup group) {
  CollectiveWork work = work_in_group(CollectiveKind::all_to_all, exchange.sent, group);
  work.received = exchange.received;
  work.sent_counts = exchange.sent_counts;
  work.received_counts = exchange.received_counts;
  const std::int64_t members = executor_.mesh() == nullptr ? 1 : executor_.mesh()->size_of(group);
  const auto most_bytes =
      static_cast<std::int64_t>(exchange.most_values * exchange.sent.element_bytes());
  const Access accesses[] = {read(sent), write(received)};
  submit_of_some(options, accesses, work, members * most_bytes);
}

std::optional<Error> Scheduler::why_not_some() const {
  const auto refused = [](const std::string& why) {
    return Error{
        ErrorCode::invalid_argument,
        "the step has messages, broadcasts, all-to-alls, shifts or collectives in groups of some "
        "axes; " +
            why};
  };
  if (executor_.mesh() == nullptr)
    return refused("the collectives of this executor are of all ranks alone");
  if (form_ != plain_.get() && form_ != whole_plain_.get()) {
    return refused(
        "set bucket_bytes, primitive, group_ranks, compute_parts, micro_batches, regions and "
        "offload_k to their defaults, since such a step is neither partitioned nor placed");
  }
  if (dispatch_->schedule().announces)
    return refused("set order=fifo or order=static, since rank 0 does not take part in all of it");
  return std::nullopt;
}

void Scheduler::submit_of_some(const TaskOptions& options, std::span<const Access> accesses,
                               const CollectiveWork& work,
                               std::optional<std::int64_t> divided_bytes) {
  if (auto error = why_not_some()) return dispatch_->fail(std::move(*error));
  const Mesh& mesh = *executor_.mesh();
  const std::int64_t members = mesh.size_of(work.group);
  HOCKET_CHECK(work.group.tier == GroupTier::whole, "a whole set of axes");
  HOCKET_CHECK(std::cmp_less(work.peer, members), "a member of the group");
  auto special = std::make_unique<SpecialCollective>();
  special->work = work;
  special->is_scattered = work.kind == CollectiveKind::reduce_scatter ||
                          work.kind == CollectiveKind::all_gather ||
                          work.kind == CollectiveKind::all_to_all;
  special->blocks = static_cast<int>(members);
  special->divided_bytes =
      divided_bytes.value_or(static_cast<std::int64_t>(work.values.size_bytes()));
  TaskSubmission submission{.options = options,
                            .is_collective = true,
                            .accesses = static_cast<std::uint32_t>(accesses.size()),
                            .bytes = special->divided_bytes,
                            .special = std::move(special)};
  sink_->submit(std::move(submission), accesses);
}

Result<void> Scheduler::end_step() {
  HOCKET_CHECK(!capturing_, "a step cannot end while it is captured");
  return form_->end_step();
}

void Scheduler::begin_capture() {
  HOCKET_CHECK(!capturing_, "a step is being captured already");
  capturing_ = std::make_shared<StepCapture>();
  sink_ = capturing_.get();
}

std::shared_ptr<Scheduler::Capture> Scheduler::end_capture() {
  HOCKET_CHECK(capturing_ && capturing_->has_tasks(), "nothing was captured");
  capturing_->finish();
  sink_ = form_;
  return std::exchange(capturing_, nullptr);
}

CommunicationProgram Scheduler::program_of(StepCapture& step, const Mesh& mesh,
                                           const Result<void>& state) const {
  CommunicationProgram program;
  std::optional<Error> refused;
  if (!state) refused = state.error();
  if (!refused && step.is_of_some()) refused = why_not_some();
  const Schedule& schedule = dispatch_->schedule();
  const std::int64_t partition_bytes = schedule.config.partition_bytes;
  // The order is that of the tasks that replace those of a step that is partitioned.
  const bool follows_order =
      schedule.static_order.exists() && (form_ == plain_.get() || form_ == whole_plain_.get());
  // A step without communications leaves the order for the next one.
  const auto order = step.step()->collectives() == 0 ? std::vector<std::uint32_t>()
                                                     : schedule.static_order.collectives();
  if (!refused && follows_order)
    refused = schedule.static_order.check(*step.step(), partition_bytes);
  if (!refused && follows_order) {
    if (auto ok = check_own_order(*step.step(), order); !ok) refused = ok.error();
  }
  if (refused) {
    program.refusal = refused->message;
    return program;
  }
  if (schedule.announces) program.order = BeginOrder::negotiated;
  if (follows_order) {
    program.order = BeginOrder::static_order;
    program.part_order = order;
  }
  program.partition_bytes = partition_bytes;
  program.communications = step.communications(mesh, rank());
  return program;
}

Result<void> Scheduler::check(const std::shared_ptr<Capture>& step) {
  HOCKET_CHECK(!capturing_, "steps are compared when they are captured");
  Collective* const collective = executor_.host_collective();
  if (!collective)
    return invalid("steps are compared over collectives of hosts, which this executor has not");
  const Result<void> state = dispatch_->synchronize();
  const Mesh& mesh = executor_.mesh() ? *executor_.mesh() : collective->mesh();
  return check_job(program_of(*step, mesh, state), mesh, *collective);
}

Result<void> Scheduler::launch(const std::shared_ptr<Capture>& step) {
  HOCKET_CHECK(!capturing_, "a step cannot be launched while one is captured");
  if (step->is_of_some()) {
    if (auto error = why_not_some()) {
      dispatch_->fail(std::move(*error));
      return dispatch_->synchronize();
    }
  }
  dispatch_->flush();
  return form_->launch(step);
}

Result<void> Scheduler::synchronize() {
  return dispatch_->synchronize();
}

}  // namespace hocket
