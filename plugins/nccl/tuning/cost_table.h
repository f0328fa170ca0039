#pragma once

// NCCL's table of costs for a collective, as a tuner gets it. A plain view; one thread at a time.

namespace hocket::nccl {

/// Predicted microseconds by algorithm and protocol. A negative one is not allowed, for this
/// collective or because the user has set NCCL_ALGO or NCCL_PROTO, and must stay. NCCL takes the
/// smallest of the others, the first of equal ones.
struct CostTable {
  float* cost_us = nullptr;
  int algorithms = 0, protocols = 0;

  float& at(int algorithm, int protocol) const { return cost_us[algorithm * protocols + protocol]; }
  bool allows(int algorithm, int protocol) const {
    return algorithm >= 0 && algorithm < algorithms && protocol >= 0 && protocol < protocols &&
           at(algorithm, protocol) >= 0;
  }
};

}  // namespace hocket::nccl
