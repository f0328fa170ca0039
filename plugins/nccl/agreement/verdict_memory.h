#pragma once

// The verdicts of the last proposals. Not synchronized.
//
// A proposal's verdicts are gates that went, then possibly one that stayed, which cancels the rest.
// So a proposal's record is the number of gates known to have gone, and whether the next stayed.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "plugins/nccl/agreement/message.h"
#include "plugins/nccl/agreement/state_text.h"

namespace hocket::nccl {

class VerdictMemory {
 public:
  static constexpr std::size_t kRemembered = 64;

  /// Remembers a verdict. The oldest proposal is forgotten when there are too many.
  void learn(const Verdict& verdict) {
    Record& record = record_of(verdict.version);
    if (verdict.version < record.version) return;
    if (verdict.version > record.version) record = {.version = verdict.version};
    if (record.stayed) return;
    record.went = std::max(record.went, verdict.gate + (verdict.go ? 1 : 0));
    record.stayed = !verdict.go;
  }

  /// Returns whether the gate went, if that is known. Gates that were cancelled stayed.
  std::optional<bool> find(std::uint64_t version, std::uint32_t gate) const {
    const Record& record = records_[version % kRemembered];
    if (record.version != version || version == 0) return std::nullopt;
    if (gate < record.went) return true;
    if (record.stayed) return false;
    return std::nullopt;
  }

  /// Appends what is known of the proposal `version`.
  void append_state(StateText& state, std::uint64_t version) const {
    const Record& record = records_[version % kRemembered];
    if (record.version == version) state.add(record.went, record.stayed);
  }

 private:
  struct Record {
    std::uint64_t version = 0;
    std::uint32_t went = 0;
    bool stayed = false;
  };

  Record& record_of(std::uint64_t version) { return records_[version % kRemembered]; }

  std::array<Record, kRemembered> records_{};
};

}  // namespace hocket::nccl
