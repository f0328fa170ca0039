#include <cstdio>

#include "plugins/nccl/abi/load_report.h"
#include "plugins/nccl/abi/log.h"
#include "plugins/nccl/abi/pending_profiler.h"
#include "plugins/nccl/abi/plugin.h"
#include "plugins/nccl/measure/event_handle.h"
#include "plugins/nccl/measure/nccl_names.h"

namespace hocket::nccl::abi {
namespace {

using measure::EventHandle;
using measure::SlotUse;

CommunicatorIdentity identity_of(const ProfilerOpening& opening) {
  CommunicatorIdentity identity;
  identity.comm_id = opening.comm_id;
  identity.rank = opening.rank;
  identity.ranks = opening.ranks;
  identity.nodes = opening.nodes;
  std::snprintf(identity.name, sizeof(identity.name), "%s",
                opening.comm_name == nullptr ? "" : opening.comm_name);
  return identity;
}

measure::MeasuredCollective announced(const CollectiveFieldsV5& fields, int ranks) {
  measure::MeasuredCollective collective;
  collective.sequence = fields.sequence_number;
  collective.function = measure::function_of(fields.function);
  collective.bytes = measure::collective_bytes(collective.function, fields.count,
                                               measure::bytes_of_datatype(fields.datatype), ranks);
  collective.algorithm = measure::algorithm_of(fields.algorithm);
  collective.protocol = measure::protocol_of(fields.protocol);
  // NCCL has no more channels than there are places. A larger number is an error, so not known.
  collective.channels = fields.channels <= measure::kChannels ? fields.channels : 0;
  return collective;
}

}  // namespace

void* Plugin::open_profiler(const ProfilerOpening& opening) {
  pending_profiler = {};
  void* context = communicators_.add();
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr) return nullptr;
  communicator->logger = opening.logger;
  communicator->comm_id = opening.comm_id;
  communicator->ranks = opening.ranks;
  communicator->knows_rank = opening.rank >= 0;
  communicator->event_mask = opening.event_mask;
  {
    const std::lock_guard lock(chain_mutex_);
    if (!profiler_storage_) {
      profiler_storage_ = ChainedProfiler::load(environment_, opening.version, opening.logger);
      if (*profiler_storage_) {
        chained_profiler_.store(&*profiler_storage_, std::memory_order_release);
      }
    }
  }
  if (const ChainedProfiler* profiler = chained_profiler_.load(std::memory_order_acquire)) {
    ProfilerOpening its = opening;
    its.event_mask = mask_.chained();
    void* chained = nullptr;
    const int result = profiler->init(its, &chained);
    communicator->chained_profiler.store(chained, std::memory_order_relaxed);
    communicator->has_chained_profiler.store(result == kSuccess, std::memory_order_release);
    if (result != kSuccess) {
      log_line(opening.logger, kLogWarning,
               "hocket: the profiler %s failed to start (result %d); it is not called",
               profiler->name(), result);
    }
  }
  report_load(environment_,
              {.what = "profiler",
               .interface = opening.version,
               .rank = opening.rank,
               .ranks = opening.ranks},
              opening.logger);
  mask_.attach(opening.event_mask);
  communicator->meter = meters_.take();
  if (communicator->meter != nullptr && opening.event_mask != nullptr) {
    communicator->meter->profiler_opened();
  }
  communicator->is_profiler_open.store(true, std::memory_order_release);
  communicator->calls =
      open_communicator(identity_of(opening), opening.logger, communicator->meter);
  pending_profiler = {this, context};
  return context;
}

void* Plugin::start_event(void* context, const EventDescriptorV5& descriptor) {
  mask_.refresh();
  if (descriptor.type == kCollectiveEvent) return start_collective(context, descriptor);
  if (descriptor.type == kKernelChannelEvent) return start_channel(context, descriptor);
  return start_other(context, descriptor);
}

void* Plugin::start_chained(void* context, const EventDescriptorV5& descriptor, void* parent) {
  const ChainedProfiler* profiler = chained_profiler_.load(std::memory_order_acquire);
  if (profiler == nullptr || !is_reported(mask_.chained_events(), descriptor.type)) return nullptr;
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr || !communicator->has_chained_profiler.load()) return nullptr;
  void* chained = communicator->chained_profiler.load();
  // The communicator may have been closed and its place reused between the two.
  if (communicators_.find(context) == nullptr) return nullptr;
  EventDescriptorV5 its = descriptor;
  its.parent = parent;
  return profiler->start_event(chained, its);
}

void* Plugin::start_collective(void* context, const EventDescriptorV5& descriptor) {
  void* chained = start_chained(context, descriptor, descriptor.parent);
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr || !communicator->is_profiler_open.load(std::memory_order_acquire) ||
      communicator->meter == nullptr) {
    return passed_on(chained);
  }
  communicator->meter->launched(descriptor.collective.sequence_number);
  if (communicator->meter->events() != Events::timed) return passed_on(chained);
  measure::MeasuredCollective collective = announced(descriptor.collective, communicator->ranks);
  if (communicator->meter->renumber(collective)) {
    if (void* handle = communicator->meter->start_collective(collective, chained)) return handle;
  }
  return chained != nullptr ? passed_on(chained) : measure::handle_without_slot();
}

void* Plugin::start_channel(void* context, const EventDescriptorV5& descriptor) {
  if (!measure::is_own(descriptor.parent)) {
    return passed_on(start_chained(context, descriptor, descriptor.parent));
  }
  const EventHandle parent = measure::to_handle(descriptor.parent);
  measure::CollectiveMeter* meter = meters_.at(parent.meter);
  if (meter == nullptr || parent.is_channel) return measure::handle_without_slot();
  SlotUse use(meter->slots(), parent);
  if (!use) return measure::handle_without_slot();
  const KernelChannelFields& fields = descriptor.kernel_channel;
  void* chained = nullptr;
  if (use.chained() != nullptr && !use.has_started(fields.channel)) {
    chained = start_chained(context, descriptor, use.chained());
  }
  return use.start_channel(fields.channel, fields.start_ns, chained);
}

void* Plugin::start_other(void* context, const EventDescriptorV5& descriptor) {
  if (!measure::is_own(descriptor.parent)) {
    return passed_on(start_chained(context, descriptor, descriptor.parent));
  }
  // An event of the proxy thread that belongs to a collective. Without the collective the chained
  // profiler cannot place it.
  const EventHandle parent = measure::to_handle(descriptor.parent);
  measure::CollectiveMeter* meter = meters_.at(parent.meter);
  if (meter == nullptr) return nullptr;
  SlotUse use(meter->slots(), parent);
  if (!use) return nullptr;
  return passed_on(start_chained(context, descriptor, use.chained()));
}

void* Plugin::passed_on(void* chained_handle) {
  if (!measure::is_own(chained_handle)) return chained_handle;
  // It could not be told from ours. No address looks like this, only a number by accident.
  chained_profiler_.load(std::memory_order_acquire)->stop_event(chained_handle);
  return nullptr;
}

void Plugin::stop_event(void* handle) {
  if (handle == nullptr) return;
  const ChainedProfiler* profiler = chained_profiler_.load(std::memory_order_acquire);
  if (!measure::is_own(handle)) {
    if (profiler != nullptr) profiler->stop_event(handle);
    return;
  }
  const EventHandle own = measure::to_handle(handle);
  measure::CollectiveMeter* meter = meters_.at(own.meter);
  if (meter == nullptr) return;
  SlotUse use(meter->slots(), own);
  if (!use) return;
  void* chained = use.chained();
  use.end();
  if (chained != nullptr) profiler->stop_event(chained);
}

void Plugin::record_event_state(void* handle, int state, EventStateArguments* arguments) {
  if (handle == nullptr) return;
  const ChainedProfiler* profiler = chained_profiler_.load(std::memory_order_acquire);
  if (!measure::is_own(handle)) {
    if (profiler != nullptr) profiler->record_event_state(handle, state, arguments);
    return;
  }
  const EventHandle own = measure::to_handle(handle);
  measure::CollectiveMeter* meter = meters_.at(own.meter);
  if (meter == nullptr) return;
  SlotUse use(meter->slots(), own);
  if (!use) return;
  if (void* chained = use.chained()) profiler->record_event_state(chained, state, arguments);
  if (state == kKernelChannelStop && arguments != nullptr) {
    use.stop_channel(arguments->kernel_channel_stop_ns);
  }
}

void Plugin::close_profiler(void* context) {
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr || !communicator->is_profiler_open.load()) return;
  if (communicator->meter != nullptr) communicator->meter->profiler_closed();
  mask_.detach(communicator->event_mask);
  if (communicator->has_chained_profiler.exchange(false)) {
    chained_profiler_.load(std::memory_order_acquire)
        ->finalize(communicator->chained_profiler.load());
  }
  if (communicators_.close(*communicator, communicator->is_profiler_open)) {
    close(context, *communicator);
  }
}

}  // namespace hocket::nccl::abi
