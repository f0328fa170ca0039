#pragma once

// Faults that a run injects, by rank and by the number of the rank's decision. Pure; any
// thread.

#include <cstdint>
#include <string>
#include <vector>

namespace hocket::nccl_host {

enum class FaultKind {
  kill,        ///< the rank dies by SIGKILL
  stop,        ///< the rank is stopped for `duration_ms`
  extra_call,  ///< the rank alone simulates the collective that comes
  no_plugin,   ///< the rank loads no plugin
  uneven,      ///< the rank leaves the last collective out
};

struct Fault {
  FaultKind kind = FaultKind::stop;
  int rank = 0;
  std::uint64_t call = 0;  ///< number of the decision before which it happens, from 0
  int duration_ms = 0;
};

/// Parses "RANK", "RANK@CALL" or "RANK@CALL:MS", whichever the kind has. Throws
/// std::invalid_argument.
Fault parse_fault(FaultKind kind, const std::string& text);

/// Returns `count` random faults of the kinds named in `kinds` ("stop,extra-call"), over the first
/// `calls` decisions of `ranks` ranks. At most one is a kill. Throws std::invalid_argument for an
/// unknown kind.
std::vector<Fault> random_faults(const std::string& kinds, int count, std::uint64_t seed, int ranks,
                                 std::uint64_t calls);

/// Returns the fault as an option ("--stop 3@17:40").
std::string to_string(const Fault& fault);

/// Returns the fault of this kind on the rank, or null.
const Fault* find_fault(const std::vector<Fault>& faults, FaultKind kind, int rank);

}  // namespace hocket::nccl_host
