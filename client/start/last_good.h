#pragma once

// Caches the daemon's last configuration on this host's disk for the time when the daemon is
// unreachable. There is one file per key; it is written completely or not at all, and used only if
// its checksum matches. Several jobs may use a folder at once. Thread-safe.
//
// Format: {"sha256":"<64 hexadecimal digits>","content":{…}}. The checksum covers the text of the
// content, which is
// {"format":"hocket-last-good","version":1,"key","config_version","config","origin"}.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/link/environment.h"
#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/step/schedule_config.h"

namespace hocket {

struct LastGood {
  ScheduleConfig config;
  std::int64_t version = 0;  ///< version in the daemon
  std::string origin;

  bool operator==(const LastGood&) const = default;
};

/// Returns $XDG_CACHE_HOME/hocket, otherwise $HOME/.cache/hocket; nothing if neither is an absolute
/// path.
std::optional<std::string> last_good_folder(const Environment& environment);

/// Returns whether a file of this name in the folder is the configuration of a key.
bool is_last_good_name(std::string_view name);

/// Returns whether a file of this name is one that write_last_good() had not finished when its
/// process was killed. Nothing reads it.
bool is_unfinished_last_good_name(std::string_view name);

/// Returns nothing if there is no file, and an error if the file is damaged, belongs to another
/// key, or holds values out of range.
Result<std::optional<LastGood>> read_last_good(const std::string& folder, const ConfigKey& key);

/// Creates the folder if necessary, for this user alone.
Result<void> write_last_good(const std::string& folder, const ConfigKey& key,
                             const LastGood& last_good);
Result<void> remove_last_good(const std::string& folder, const ConfigKey& key);

}  // namespace hocket
