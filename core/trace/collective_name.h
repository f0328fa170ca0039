#pragma once

// Recognises communication by the names in a trace: kernels of NCCL, RCCL, MSCCL, MSCCL++, oneCCL,
// HCCL, NVSHMEM and DeepEP, kernels that frameworks run over mapped memory of other devices, and
// operations of PyTorch's c10d and its backends. The table of names is in the source. Pure.

#include <optional>
#include <string_view>

#include "core/step/collective_kind.h"

namespace hocket {

/// Layer that a communication's name comes from. One operation may appear in all three.
enum class CommunicationSource {
  /// A kernel: the transfer itself.
  kernel,
  /// An operation of a c10d backend ("gloo:all_reduce"), from its start to its end.
  backend,
  /// A framework call that dispatches an operation ("c10d::allreduce_").
  dispatch,
};

struct CommunicationName {
  CommunicationSource source = CommunicationSource::kernel;
  /// Absent for point-to-point operations, whose names do not tell their ranks, and when the name
  /// does not tell.
  std::optional<CollectiveKind> collective;

  bool operator==(const CommunicationName&) const = default;
};

/// Classifies `name`; nullopt when it does not name communication.
std::optional<CommunicationName> communication_name(std::string_view name);

/// Returns the collective that `text` spells in any common way: "AllReduce", "all_reduce",
/// "_allgather_base".
std::optional<CollectiveKind> spelled_collective(std::string_view text);

/// Returns the kind that a point-to-point operation's name spells: "send", "isend",
/// "recv_any_source"; nothing where it may be several operations.
std::optional<CollectiveKind> spelled_message(std::string_view text);

/// Returns whether `name` is that of an operation between two ranks, or of several in one kernel.
bool names_messages(std::string_view name);

}  // namespace hocket
