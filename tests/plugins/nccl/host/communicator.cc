#include "tests/plugins/nccl/host/communicator.h"

#include <signal.h>

#include <cstring>

namespace hocket::nccl_host {

Communicator::Communicator(RankContext& context, int index, const Membership& place,
                           std::uint64_t id, ProcessGroup& group)
    : context_(context), index_(index), place_(place), id_(id), group_(group) {
  synchronize();
  if (context_.has_plugin) {
    has_profiler_ = context_.profiler.acquire();
    if (has_profiler_) {
      // Names are optional; NCCL passes null for none.
      const CommunicatorSpec& spec = context_.options.workload.communicators[index_];
      const char* name = spec.parent < 0 ? spec.name.c_str() : nullptr;
      // NCCL goes on after an error, with the context as it is.
      context_.profiler.init(&profiler_context_, id_, name, nodes(), ranks(), rank());
      context_.record.profiler_version = context_.profiler.version();
    }
    has_tuner_ = context_.tuner.acquire(opened_tuner_);
    if (has_tuner_) {
      context_.record.tuner_version = context_.tuner.version();
      const Result result = context_.tuner.init(&tuner_context_, id_, ranks(), nodes());
      if (result != 0) {
        report(Violation::failed_init, "init returned " + std::to_string(result));
        has_tuner_ = false;
      }
    }
  }
  try {
    synchronize();
  } catch (const Aborted&) {
    destroy();
    throw;
  }
}

void Communicator::synchronize() {
  if (!group_.meet(rank(), {})) throw Aborted();
}

void Communicator::destroy() {
  group_.leave(rank());
  if (has_tuner_) {
    const Result result = context_.tuner.finalize(tuner_context_);
    if (result != 0) {
      report(Violation::failed_finalize, "finalize returned " + std::to_string(result));
    }
    context_.tuner.release(opened_tuner_);
  }
  if (has_profiler_) {
    if (profiler_context_ != nullptr) context_.profiler.finalize(profiler_context_);
    context_.profiler.release();
  }
}

std::uint64_t Communicator::split_id(int split_count, int color) const {
  return mix(mix(id_ ^ mix(split_count)) ^ static_cast<std::uint64_t>(color));
}

void Communicator::inject_faults() {
  const std::uint64_t call = context_.record.decisions++;
  for (const Fault& fault : context_.options.faults) {
    if (fault.rank != context_.rank || fault.call != call) continue;
    if (fault.kind == FaultKind::kill) raise(SIGKILL);
    if (fault.kind == FaultKind::stop) {
      context_.record.stop_ms = fault.duration_ms;
      raise(SIGSTOP);
    }
  }
}

Choice Communicator::decide(const Shape& shape, int pipe_ops) {
  inject_faults();
  CostTable table;
  context_.model.predict(shape, pipe_ops, table);
  const Choice usual = CostModel::smallest(table);
  int channels = 0;
  if (has_tuner_) ask_tuner(shape, pipe_ops, table, channels);
  Choice choice = CostModel::smallest(table);
  if (choice.algorithm < 0) {
    report(Violation::nothing_allowed, "no entry of the table is left");
    choice = usual;
  }
  choice.channels = channels == 0 ? context_.model.default_channels(shape, choice)
                                  : context_.model.clamp_channels(choice.algorithm, channels);
  if (choice.channels < 1 || choice.channels > context_.model.max_channels()) {
    report(Violation::invalid_channels, std::to_string(channels) + " channels");
    choice.channels = 1;
  }
  return choice;
}

void Communicator::ask_tuner(const Shape& shape, int pipe_ops, CostTable table, int& channels) {
  static const std::int64_t overhead_ns = clock_overhead_ns();
  CostTable before;
  std::memcpy(before, table, sizeof(before));
  context_.record.is_deciding = true;
  const std::int64_t begin_ns = now_ns();
  const Result result =
      context_.tuner.get_coll_info(tuner_context_, shape.function, shape.bytes, pipe_ops, table,
                                   context_.options.registered, &channels);
  context_.record.decision.add(now_ns() - begin_ns - overhead_ns);
  context_.record.is_deciding = false;
  ++context_.record.tuner_calls;
  bool is_usable = result == 0;
  if (!is_usable) {
    // The collective would fail.
    report(Violation::error_returned, "getCollInfo returned " + std::to_string(result));
  }
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int p = 0; p < kProtocols; ++p) {
      if (before[a][p] != -1 || table[a][p] == -1) continue;
      report(Violation::changed_disallowed,
             std::string("wrote to ") + algorithm_name(a) + "/" + protocol_name(p));
      is_usable = false;
    }
  }
  if (is_usable) return;
  std::memcpy(table, before, sizeof(before));
  channels = 0;
}

void Communicator::report(Violation violation, const std::string& what) {
  ++context_.record.violations[static_cast<int>(violation)];
  context_.violations.add(std::string(name_of(violation)) + ": rank " +
                          std::to_string(context_.rank) + ", communicator " +
                          context_.options.workload.communicators[index_].name + ", decision " +
                          std::to_string(context_.record.decisions) + ": " + what);
}

}  // namespace hocket::nccl_host
