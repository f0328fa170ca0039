#pragma once

// The current configuration of each key, kept in memory as jobs get it. When those who watch are
// told of a change is decided elsewhere (tuner/daemon/live/live_tuning.h). Thread-safe.

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/protocol/job_message.h"
#include "store/store.h"
#include "tuner/daemon/http/feed.h"

namespace hocket {

/// What is current for one key.
struct BoardEntry {
  std::int64_t version = 0;  ///< above 0
  KeyState state;
  std::string etag;  ///< "\"12\""
  /// The document that GET /v1/configs/{key} answers with.
  std::shared_ptr<const std::string> body;
  Event event;  ///< that tells of it
};

class ConfigBoard {
 public:
  using EntryPtr = std::shared_ptr<const BoardEntry>;

  /// `store` and `feed` must outlive it.
  ConfigBoard(Store& store, Feed& feed);

  /// What is in memory: null when the key was not looked at, or has no version.
  EntryPtr cached(std::string_view key) const;

  /// Looks into the store. Null: the key has no version.
  Result<EntryPtr> refresh(const ConfigKey& key);

  /// cached(), else refresh().
  Result<EntryPtr> find(const ConfigKey& key);

  /// Tells topic(key) of the current version, unless it was the last that the topic was told.
  void publish(const ConfigKey& key);

  static std::string topic(std::string_view key) { return "config/" + std::string(key); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  Store& store_;
  Feed& feed_;
  std::mutex refreshing_;  // one at a time, so that an older reading never replaces a newer one
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, EntryPtr, Hash, std::equal_to<>> entries_;  // guarded by mutex_
};

/// What tells a job of a version.
Event event_of(const ConfigMessage& message);

}  // namespace hocket
