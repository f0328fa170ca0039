#pragma once

// The table from operations to the kernels that there are. Each device adds its own
// (kernels/host/host_kernels.h); whoever runs a graph finds all kernels before the first step, so
// that a missing one is an error at the start.
//
// One thread fills a table, any may read it.

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "core/base/result.h"
#include "kernels/kernel.h"

namespace hocket {

using MakeKernel = std::function<Result<std::unique_ptr<Kernel>>(const KernelSignature&)>;

/// The number types that tell kernels of a kind apart; those of other operands and results follow
/// from them.
struct KernelTypes {
  NumberType from = NumberType::float32;  ///< of the first operand that is no index, else of `to`
  NumberType to = NumberType::float32;    ///< of the first result

  auto operator<=>(const KernelTypes&) const = default;
};

KernelTypes types_of(const KernelSignature& signature);

class KernelTable {
 public:
  /// Requires that the table has no such kernel.
  void add(OperationKind kind, KernelTypes types, KernelDevice device, MakeKernel make);

  /// not_found with the operation, its types, the device, and the types that there are for it:
  /// "softmax of bfloat16[4, 8] has no kernel on the host, where there are those for float32;
  /// convert its operands". So it is for operations of the program of one rank.
  Result<MakeKernel> find(const KernelSignature& signature, KernelDevice device) const;

  /// Prepares a kernel. Also invalid_argument for sizes that it cannot handle.
  Result<std::unique_ptr<Kernel>> make(const KernelSignature& signature, KernelDevice device) const;

  /// Returns the types that there are for a kind.
  std::vector<KernelTypes> types(OperationKind kind, KernelDevice device) const;

 private:
  std::map<std::tuple<KernelDevice, OperationKind, KernelTypes>, MakeKernel> kernels_;
};

}  // namespace hocket
