#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "plugins/nccl/abi/load_report.h"
#include "plugins/nccl/abi/log.h"
#include "plugins/nccl/abi/pending_profiler.h"
#include "plugins/nccl/abi/plugin.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

int to_int(std::size_t count) {
  return static_cast<int>(std::min<std::size_t>(count, std::numeric_limits<int>::max()));
}

}  // namespace

Plugin& process_plugin() {
  static Plugin* const plugin =
      new Plugin([](const char* name) -> const char* { return std::getenv(name); });
  return *plugin;
}

extern "C" int hocket_nccl_tuners() {
  return process_plugin().opened_tuners();
}

Communicator* Plugin::joined_profiler(const TunerOpening& opening, void*& context) {
  context = take_pending_profiler(this);
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr) return nullptr;
  // A profiler is taken once, and found only while it is open, so no other tuner can have it.
  const bool is_same = communicator->ranks == to_int(opening.ranks) &&
                       (opening.comm_id == 0 || communicator->comm_id == opening.comm_id);
  return is_same ? communicator : nullptr;
}

void* Plugin::open_tuner(const TunerOpening& opening) {
  void* context = nullptr;
  Communicator* communicator = joined_profiler(opening, context);
  const bool is_new = communicator == nullptr;
  if (is_new) {
    context = communicators_.add();
    communicator = communicators_.find(context);
    if (communicator == nullptr) return nullptr;
    communicator->logger = opening.logger;
    communicator->comm_id = opening.comm_id;
    communicator->ranks = to_int(opening.ranks);
  }
  {
    const std::lock_guard lock(chain_mutex_);
    if (!tuner_storage_) {
      tuner_storage_ = ChainedTuner::load(environment_, opening.version, opening.logger);
      if (*tuner_storage_) chained_tuner_.store(&*tuner_storage_, std::memory_order_release);
    }
  }
  if (const ChainedTuner* tuner = chained_tuner_.load(std::memory_order_acquire)) {
    const int result = tuner->init(opening, &communicator->chained_tuner);
    communicator->has_chained_tuner = result == kSuccess;
    if (result != kSuccess) {
      log_line(opening.logger, kLogWarning,
               "hocket: the tuner %s failed to start (result %d); it is not called", tuner->name(),
               result);
    }
  }
  if (is_new) {
    communicator->meter = meters_.take();
    CommunicatorIdentity identity;
    identity.comm_id = opening.comm_id;
    identity.ranks = to_int(opening.ranks);
    identity.nodes = to_int(opening.nodes);
    communicator->calls = open_communicator(identity, opening.logger, communicator->meter);
  }
  communicator->reports_call = has_load_report(environment_);
  report_load(environment_,
              {.what = "tuner", .interface = opening.version, .ranks = to_int(opening.ranks)},
              opening.logger);
  opened_.fetch_add(1, std::memory_order_relaxed);
  communicator->is_tuner_open.store(true, std::memory_order_release);
  return context;
}

void Plugin::collective_info(void* context, const CollectiveCall& call, const CostTable& table,
                             int* channels) {
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr || !communicator->is_tuner_open.load(std::memory_order_acquire) ||
      table.cost_us == nullptr || table.algorithms <= 0 || table.protocols <= 0) {
    return;
  }
  int ignored = 0;
  if (channels == nullptr) channels = &ignored;
  if (communicator->reports_call) {
    communicator->reports_call = false;
    report_load(environment_, {.what = "call"}, communicator->logger);
  }
  mask_.refresh();
  if (communicator->has_chained_tuner) call_chained_tuner(*communicator, call, table, channels);
  if (communicator->meter != nullptr) communicator->meter->called();
  if (communicator->calls != nullptr && communicator->knows_rank) {
    communicator->calls->decide(call, table, channels);
  }
}

void Plugin::call_chained_tuner(const Communicator& communicator, const CollectiveCall& call,
                                const CostTable& table, int* channels) {
  // Enough for NCCL's 7 × 3. More is passed on as well, but not restored.
  std::array<float, 128> before;
  const std::size_t count = std::min(before.size(), static_cast<std::size_t>(table.algorithms) *
                                                        static_cast<std::size_t>(table.protocols));
  std::copy_n(table.cost_us, count, before.begin());
  const int channels_before = *channels;
  const ChainedTuner& tuner = *chained_tuner_.load(std::memory_order_acquire);
  const int result =
      tuner.get_coll_info()(communicator.chained_tuner, call.function, call.bytes, call.operations,
                            reinterpret_cast<float**>(table.cost_us), table.algorithms,
                            table.protocols, call.is_registered ? 1 : 0, channels);
  const bool has_failed = result != kSuccess;
  if (has_failed) *channels = channels_before;
  for (std::size_t i = 0; i < count; ++i) {
    // NCCL forbids a combination that it has no transport for, and would fail if it took it.
    if (has_failed || before[i] < 0) table.cost_us[i] = before[i];
  }
  if (has_failed && !has_warned_of_tuner_.exchange(true)) {
    log_line(communicator.logger, kLogWarning,
             "hocket: the tuner %s failed for a collective (result %d); its word is ignored then",
             tuner.name(), result);
  }
}

void Plugin::close_tuner(void* context) {
  Communicator* communicator = communicators_.find(context);
  if (communicator == nullptr || !communicator->is_tuner_open.load()) return;
  if (communicator->has_chained_tuner) {
    chained_tuner_.load(std::memory_order_acquire)->finalize(communicator->chained_tuner);
    communicator->has_chained_tuner = false;
  }
  if (communicators_.close(*communicator, communicator->is_tuner_open)) {
    close(context, *communicator);
  }
}

void Plugin::close(void* context, Communicator& communicator) {
  measure::CollectiveMeter* meter = communicator.meter;
  if (communicator.calls != nullptr) communicator.calls->closed();
  communicators_.remove(context);
  if (meter != nullptr) meters_.give_back(meter);
}

}  // namespace hocket::nccl::abi
