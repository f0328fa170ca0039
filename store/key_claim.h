#pragma once

// The right of one process to tune a key (Store::claim_key).

namespace hocket {

/// Held until it is destroyed, or lost: with the process, or with its connection to the database.
/// Whoever acts for the key asks is_held() before. Thread-safe.
class KeyClaim {
 public:
  virtual ~KeyClaim() = default;

  /// Returns whether the claim is still held, as far as this host knows; once lost, it stays lost.
  /// Cheap: asks no server.
  virtual bool is_held() = 0;
};

}  // namespace hocket
