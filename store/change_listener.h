#pragma once

// Hears of changes of keys that any process makes in a store (Store::listen).

#include <cstdint>
#include <functional>
#include <optional>

#include "core/protocol/config_key.h"
#include "store/rows.h"

namespace hocket {

/// A new version, another stage of a version, or another state of a key.
struct KeyChange {
  ConfigKey key;
  std::optional<std::int64_t> version = {};  ///< absent if the key's state has changed
  std::optional<PromotionStage> stage = {};  ///< the version's, after the change

  bool operator==(const KeyChange&) const = default;
};

/// Receives a change once it is committed; nothing if changes may have been missed, so that every
/// key must be looked at. Called by a thread of the listener's, one call at a time. It may call the
/// store, and must not destroy the listener.
using OnKeyChange = std::function<void(const std::optional<KeyChange>&)>;

/// Listens until it is destroyed; the destructor waits for a call that is running.
class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
};

}  // namespace hocket
