#pragma once

// What the names in a trace say about communication: the kernels of NCCL, and the operations of
// PyTorch's c10d and of its backends. Pure.

#include <optional>
#include <string_view>

#include "core/step/collective_kind.h"

namespace hocket {

/// Where a name of communication comes from. One operation may be seen in all three.
enum class CommunicationSource {
  kernel,    ///< a kernel of NCCL or RCCL: the transfer itself
  backend,   ///< an operation of a c10d backend ("gloo:all_reduce"), from its start to its end
  dispatch,  ///< a framework's call that hands an operation over ("c10d::allreduce_")
};

struct CommunicationName {
  CommunicationSource source = CommunicationSource::kernel;
  std::optional<CollectiveKind> collective;  ///< none: sends and the like, or not told by the name

  bool operator==(const CommunicationName&) const = default;
};

/// None when `name` is of no communication.
std::optional<CommunicationName> communication_name(std::string_view name);

/// The collective that `text` spells in any of the usual ways: "AllReduce", "all_reduce",
/// "_allgather_base".
std::optional<CollectiveKind> spelled_collective(std::string_view text);

}  // namespace hocket
