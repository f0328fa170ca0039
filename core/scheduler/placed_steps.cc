#include "core/scheduler/placed_steps.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace hocket {

Result<void> PlacedSteps::configure(const ScheduleConfig& config) {
  if (step_) {
    const auto placed = place_description(*step_, config);
    HOCKET_TRY(placed);
  }
  HOCKET_CHECK(held_.empty(), "the configuration changes between steps");
  config_ = config;
  step_.reset();
  return {};
}

void PlacedSteps::add_data(DataId data, const DataPlace& place, std::string_view name) {
  const auto number = static_cast<std::uint32_t>(data_.size());
  data_.push_back(data);
  if (data.index >= number_of_.size()) number_of_.resize(data.index + 1, kNotARange);
  number_of_[data.index] = number;
  held_step_.data.push_back(name.empty() ? "data " + std::to_string(number) : std::string(name));
  held_step_.data_places.push_back(place);
  std::uint32_t& whole = held_step_.data_places.back().range_of;
  if (whole != kNotARange) whole = number_of_[whole];
}

bool PlacedSteps::follows(const TaskSubmission& submission,
                          std::span<const Access> accesses) const {
  if (!step_ || followed_ < held_.size() || followed_ == step_->tasks.size()) return false;
  const StepTask& task = step_->tasks[followed_];
  const TaskOptions& options = submission.options;
  const std::int64_t updates_layer = options.place ? options.place->updates_layer : kNoLayer;
  const bool is_alike = task.name == options.name && task.priority == options.priority &&
                        task.bytes == submission.bytes &&
                        task.place.updates_layer == updates_layer &&
                        task.collective.has_value() == submission.is_collective &&
                        (!submission.is_collective || *task.collective == submission.kind());
  return is_alike &&
         std::ranges::equal(task.accesses, accesses, [&](const Access& a, const Access& b) {
           return a.mode == b.mode && a.data.index == number_of_[b.data.index];
         });
}

void PlacedSteps::record(const TaskSubmission& submission, std::span<const Access> accesses) {
  StepTask& task = held_step_.tasks.emplace_back();
  task.name = submission.options.name;
  task.priority = submission.options.priority;
  task.bytes = submission.bytes;
  if (submission.is_collective) task.collective = submission.kind();
  if (submission.options.place) task.place.updates_layer = submission.options.place->updates_layer;
  for (const Access& access : accesses)
    task.accesses.push_back({{number_of_[access.data.index]}, access.mode});
}

void PlacedSteps::submit(TaskSubmission&& submission, std::span<const Access> accesses) {
  if (follows(submission, accesses)) {
    ++followed_;
  } else {
    if (followed_ == held_.size()) record_followed();
    record(submission, accesses);
  }
  held_.push_back(std::move(submission));
}

void PlacedSteps::record_followed() {
  if (step_)
    held_step_.tasks.assign(step_->tasks.begin(),
                            step_->tasks.begin() + static_cast<std::ptrdiff_t>(followed_));
}

bool PlacedSteps::is_placed() const {
  return step_ && followed_ == held_.size() && followed_ == step_->tasks.size() &&
         step_->data.size() == held_step_.data.size();
}

Result<void> PlacedSteps::place() {
  if (followed_ == held_.size()) record_followed();
  HOCKET_TRY(dispatch_.synchronize());
  held_step_.device_memory_bytes = memory_.device_memory_bytes();
  auto placed = place_description(held_step_, config_);
  HOCKET_TRY(placed);
  placed_ = std::move(*placed);
  HOCKET_TRY(move_data());
  accesses_.clear();
  for (const StepTask& task : placed_.step.tasks) {
    std::vector<Access>& accesses = accesses_.emplace_back();
    for (const Access& access : task.accesses)
      accesses.push_back({id_of(access.data), access.mode});
  }
  step_ = held_step_;
  if (trace_) trace_->placed(*step_);
  return {};
}

Result<void> PlacedSteps::move_data() {
  std::vector<DataAddress> addresses;
  for (std::uint32_t number = 0; number < data_.size(); ++number) {
    const DataPlace& place = held_step_.data_places[number];
    if (place.bytes == 0 || place.range_of != kNotARange) continue;
    addresses.push_back({.data = data_[number],
                         .address_bytes = placed_.placed.address_bytes[number],
                         .home = placed_.placed.home[number]});
  }
  return memory_.place(addresses);
}

DataId PlacedSteps::id_of(DataId placed_data) {
  if (placed_data.index < data_.size()) return data_[placed_data.index];
  const std::size_t own = placed_data.index - data_.size();
  while (own >= own_data_.size()) own_data_.push_back(dispatch_.add_data());
  return own_data_[own];
}

TaskSubmission PlacedSteps::submission_of(std::size_t placed_task) {
  const PlacedTask& placed = placed_.placed.tasks[placed_task];
  const StepTask& task = placed_.step.tasks[placed_task];
  const auto accesses = static_cast<std::uint32_t>(accesses_[placed_task].size());
  if (placed.kind == PlacedKind::task) {
    TaskSubmission submission = std::move(held_[placed.source]);
    submission.options.lane = task.lane;
    submission.accesses = accesses;
    if (submission.is_collective) redirect(submission, placed.source);
    return submission;
  }
  auto known = known_names_.find(task.name);
  if (known == known_names_.end())
    known = known_names_.emplace(task.name, names_.emplace_back(task.name)).first;
  const DataId data = data_[placed.source];
  const bool fetches = placed.kind == PlacedKind::fetch;
  TaskSubmission copy{
      .options = {.name = known->second, .priority = task.priority, .lane = task.lane},
      .accesses = accesses,
      .bytes = step_->data_places[placed.source].bytes};
  copy.body = [memory = &memory_, data, fetches] {
    fetches ? memory->copy_to_device(data) : memory->copy_to_host(data);
  };
  return copy;
}

void PlacedSteps::redirect(TaskSubmission& collective, std::uint32_t source) const {
  const DataId data = data_[step_->tasks[source].accesses.front().data.index];
  const ValueSpan values = collective.special ? collective.special->work.values : collective.values;
  if (values.type() != ElementType::float32) {
    return dispatch_.fail({ErrorCode::invalid_argument,
                           "\"" + std::string(collective.options.name) + "\" has values of " +
                               std::string(to_string(values.type())) +
                               ": where steps are placed on a device and its host, collectives are "
                               "of float32 alone"});
  }
  if (!collective.special) {
    if (!collective.values.empty())
      collective.values = memory_.on_device(data, collective.values.as<float>());
    return;
  }
  auto special = std::make_unique<SpecialCollective>(*collective.special);
  special->work.values = memory_.on_device(data, special->work.values.as<float>());
  collective.special = std::move(special);
}

Result<void> PlacedSteps::end_step() {
  const auto placed = is_placed() ? Result<void>() : place();
  if (placed) {
    for (std::size_t task = 0; task < placed_.placed.tasks.size(); ++task)
      dispatch_.submit(submission_of(task), accesses_[task]);
  } else {
    dispatch_.fail(placed.error());
  }
  held_.clear();
  followed_ = 0;
  held_step_.tasks.clear();
  return dispatch_.end_step();
}

Result<void> PlacedSteps::launch(const std::shared_ptr<StepCapture>& step) {
  step->submit_to(*this);
  return end_step();
}

}  // namespace hocket
