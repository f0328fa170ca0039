#pragma once

// The seam between graphs and the code that computes: a kernel is one operation with its attributes
// and types, prepared once for a device and run many times on memory.
//
// Preparing allocates; running does not, except for the text of an error. A kernel is not changed
// by its runs: any thread may run it, also several at once, on memory of their own.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/operation.h"
#include "core/graph/value_type.h"

namespace hocket {

/// The devices that kernels are for.
enum class KernelDevice : std::uint8_t { host, cuda };

/// "host", "cuda"
std::string_view to_string(KernelDevice device);

/// An operation as a kernel sees it. The attributes are complete(), the results those of
/// result_types().
struct KernelSignature {
  OperationKind kind = OperationKind::input;
  Attributes attributes = {};
  std::vector<ValueType> operands = {};
  std::vector<ValueType> results = {};
};

KernelSignature signature_of(const Graph& graph, const Operation& operation);

/// The memory of a run's values: numbers in the order of their dimensions, one after the other, on
/// the kernel's device. Results are in memory of their own, or exactly in that of an operand where
/// the kernel says so; operands may share memory.
struct KernelCall {
  std::span<const void* const> operands;
  std::span<void* const> results;
  /// scratch_bytes(), from a multiple of 64 on, that no other run uses meanwhile; its contents mean
  /// nothing before and afterwards.
  void* scratch = nullptr;
};

/// Consecutive units of a kernel's work.
struct UnitRange {
  std::int64_t begin = 0, end = 0;
};

/// A result that may be in the memory of an operand, which it then replaces.
struct InPlace {
  std::size_t result = 0, operand = 0;

  bool operator==(const InPlace&) const = default;
};

/// The bytes of a result that the units make: each so many, one unit after the other, and the last
/// one the tail behind these, too.
struct UnitBytes {
  std::int64_t each = 0, tail = 0;
};

/// The properties of a kernel that are known before it runs.
struct KernelPlan {
  std::int64_t units = 1;
  /// Parts into which the sums divide of which the results are made; 1: they do not.
  std::int64_t summands = 1;
  std::int64_t scratch_bytes = 0;
  /// By result; empty: units do not make consecutive bytes. Elementwise operands are read likewise.
  std::vector<UnitBytes> unit_bytes = {};
  std::vector<InPlace> in_place = {};
};

class Kernel {
 public:
  explicit Kernel(KernelPlan plan) : plan_(std::move(plan)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  /// Parts into which the work divides, at least 1. Runs of ranges that together are all units, in
  /// any order or at the same time, give the same bits as one run of all: each writes its own part
  /// of the results.
  std::int64_t units() const { return plan_.units; }
  std::int64_t summands() const { return plan_.summands; }
  std::int64_t scratch_bytes() const { return plan_.scratch_bytes; }
  std::span<const UnitBytes> unit_bytes() const { return plan_.unit_bytes; }
  /// Pairs that may be chosen all at once, unless two have the same result or the same operand. The
  /// bits are the same as in memory of its own. The memory must not be that of
  /// another operand of the call, too.
  std::span<const InPlace> in_place() const { return plan_.in_place; }

  /// Computes. Equal input gives equal bits on one machine. invalid_argument for an index that is
  /// out of range: nothing outside the values is read or written, and the results mean nothing.
  ///
  /// On a CUDA device it is called in the body of a device task (this_device_task()), puts its work
  /// into the stream of the task and waits for none of it. There is one unit, and indices are no
  /// error, since the host does not see them: what is looked up by one that is out of range, and a
  /// step of an optimiser before the first, gives numbers that are none, and gradients and experts
  /// leave out such an index.
  Result<void> run(const KernelCall& call) const { return run(call, {0, units()}); }
  virtual Result<void> run(const KernelCall& call, UnitRange range) const = 0;

  /// Computes these of summands(): a range that begins at 0 writes the results, and the others, one
  /// after the other in their order, add to them. All together give the results of run() up to
  /// rounding. Requires that there are several.
  virtual Result<void> run_summands(const KernelCall& call, UnitRange range) const;

 private:
  const KernelPlan plan_;
};

}  // namespace hocket
