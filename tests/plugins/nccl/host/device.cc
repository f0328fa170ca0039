#include "tests/plugins/nccl/host/device.h"

#include <utility>

namespace hocket::nccl_host {
namespace {

/// Entries that NCCL's ring of kernel times has for each channel.
constexpr std::size_t kSlots = 64;

}  // namespace

Device::Device(RankContext& context, int communicators)
    : context_(context),
      clocks_(context.model, communicators),
      connected_(communicators),
      sequences_(communicators),
      handles_(kSlots) {
  if (context_.has_plugin) proxy_ = std::make_unique<Worker>();
  if (context_.options.run_ahead > 0) stream_ = std::make_unique<Worker>();
}

Device::~Device() {
  stream_.reset();
  report_late_kernels(0);
}

void Device::submit(std::function<void()> step) {
  if (is_aborted_) throw Aborted();
  if (stream_ == nullptr) {
    step();
    return;
  }
  stream_->add([this, step = std::move(step)] {
    if (!is_aborted_) step();
  });
  stream_->wait_until_at_most(context_.options.run_ahead);
}

void Device::compute(double us) {
  submit([this, us] {
    clocks_.compute(us * noise_factor(context_.options.noise, context_.options.seed,
                                      1000 + context_.rank, computations_++));
  });
}

void Device::wait(int communicator) {
  submit([this, communicator] { clocks_.wait(communicator); });
}

void Device::begin_iteration() {
  submit([this] {
    anchor_real_ns_ = now_ns();
    anchor_us_ = clocks_.computation_us();
  });
}

void Device::end_iteration(int iteration) {
  submit([this, iteration] {
    clocks_.wait_for_all();
    pause_until(clocks_.computation_us());
    ++context_.record.iterations;
    if (context_.rank != 0) return;
    context_.iteration_us[iteration] = clocks_.computation_us() - anchor_us_;
    context_.iteration_real_us[iteration] = static_cast<double>(now_ns() - anchor_real_ns_) / 1e3;
  });
  synchronize();
}

void Device::synchronize() {
  if (stream_ != nullptr) stream_->wait_until_at_most(0);
  if (is_aborted_) throw Aborted();
}

void Device::launch(std::shared_ptr<Plan> plan, std::function<void()> before) {
  submit([this, plan = std::move(plan), before = std::move(before)] {
    if (before != nullptr) before();
    for (const Launch& launch : plan->launches) {
      if (!is_aborted_) run(*plan->communicator, launch);
    }
  });
}

void Device::run(Communicator& communicator, const Launch& launch) {
  const Options& options = context_.options;
  const int index = communicator.index();
  double ready_us = clocks_.ready_us(index);
  if (context_.rank == options.late_rank) ready_us += options.late_us;
  pause_until(ready_us);
  const std::uint64_t sequence = ++sequences_[index];
  const auto outcome = communicator.group().meet(communicator.rank(),
                                                 {sequence, launch.shape, launch.choice, ready_us});
  if (!outcome) {
    is_aborted_ = true;
    return;
  }
  // Where ranks differ, all go on as the lowest one says; NCCL would hang.
  const Arrival& agreed = outcome->arrival;
  double duration_us =
      context_.model.true_us(agreed.shape, agreed.choice) *
      noise_factor(options.noise, options.seed, communicator.group().number(), sequence);
  bool& connected = connected_[index][agreed.choice.algorithm];
  if (!std::exchange(connected, true)) {
    duration_us += options.connect_us;
    if (communicator.rank() == 0) ++context_.record.first_uses;
  }
  const double end_us = outcome->start_us + duration_us;
  clocks_.occupy(index, ready_us, end_us, agreed.choice.channels);
  if (communicator.rank() == 0) count(communicator, agreed);
  if (context_.has_plugin) report_kernels(communicator, launch, ready_us, end_us);
}

void Device::count(const Communicator& communicator, const Arrival& agreed) {
  RankRecord& record = context_.record;
  const int used = record.choice_count;
  const int index = recorded_.try_emplace({agreed.shape, agreed.choice}, used).first->second;
  ++ran_;
  if (index < RankRecord::kChoices) {
    record.choices[index] = {agreed.shape, agreed.choice, record.choices[index].count + 1, ran_};
    if (index == used) ++record.choice_count;
  } else {
    ++record.unrecorded;
  }
  const auto [last, is_first] =
      last_choices_.try_emplace({communicator.index(), agreed.shape}, agreed.choice);
  if (!is_first && last->second != agreed.choice) ++record.switches;
  last->second = agreed.choice;
}

void Device::report_kernels(const Communicator& communicator, const Launch& launch, double begin_us,
                            double end_us) {
  // The tasks of an aggregate follow each other.
  const double each_us = (end_us - begin_us) / static_cast<double>(launch.tasks.size());
  for (const KernelTask& task : launch.tasks) {
    if ((task.task.mask & kKernelChannel) != 0) {
      late_.push_back({.context = communicator.profiler_context(),
                       .parent = task.event,
                       .channels = launch.choice.channels,
                       .begin_ns = gpu_ns(begin_us),
                       .end_ns = gpu_ns(begin_us + each_us),
                       .not_before_ns = context_.options.scale > 0 ? real_ns(end_us) : 0});
    }
    begin_us += each_us;
  }
  report_late_kernels(context_.options.proxy_lag);
}

void Device::report_late_kernels(std::size_t remaining) {
  while (late_.size() > remaining) {
    const KernelEvents events = late_.front();
    late_.pop_front();
    proxy_->add([this, events] { report(events); }, events.not_before_ns);
  }
}

void Device::report(const KernelEvents& events) {
  auto& handles = handles_[next_slot_++ % kSlots];
  for (int channel = 0; channel < events.channels; ++channel) {
    EventV5 event = {};
    event.type = kKernelChannel;
    event.parent = events.parent;
    event.kernel_channel = {static_cast<std::uint8_t>(channel), events.begin_ns};
    context_.profiler.start(events.context, &handles[channel], event);
  }
  for (int channel = 0; channel < events.channels; ++channel) {
    if (handles[channel] == nullptr) continue;
    StateArguments arguments{events.end_ns};
    context_.profiler.record_state(handles[channel], kKernelChannelStop, &arguments);
    context_.profiler.stop(handles[channel]);
  }
}

void Device::pause_until(double us) {
  if (context_.options.scale > 0) sleep_until_ns(real_ns(us));
}

std::int64_t Device::real_ns(double us) const {
  // Each iteration has its own anchor, so that a slow machine does not have to catch up.
  return anchor_real_ns_ +
         static_cast<std::int64_t>((us - anchor_us_) * context_.options.scale * 1e3);
}

std::uint64_t Device::gpu_ns(double us) const {
  const double scale = context_.options.scale > 0 ? context_.options.scale : 1;
  // Clocks of different GPUs are not set to the same time.
  return 1'700'000'000'000'000'000 + static_cast<std::uint64_t>(context_.rank) * 7'654'321'987 +
         static_cast<std::uint64_t>(us * scale * 1e3);
}

}  // namespace hocket::nccl_host
