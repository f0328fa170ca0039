#pragma once

// The configuration that the daemon gave last, on this host's disk, for when the daemon is away.
// One file a key, written whole or not at all, and believed only when its checksum is right.
// Several jobs may use a folder at once. Thread-safe.
//
// {"sha256":"<64 hexadecimal digits>","content":{…}}, where the digits are of the text of the
// content, and that is {"format":"hocket-last-good","version":1,"key","config_version","config",
// "origin"}.

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/protocol/config_key.h"
#include "core/step/schedule_config.h"
#include "tuner/client/link/environment.h"

namespace hocket {

struct LastGood {
  ScheduleConfig config;
  std::int64_t version = 0;  ///< the daemon's
  std::string origin;

  bool operator==(const LastGood&) const = default;
};

/// $XDG_CACHE_HOME/hocket, else $HOME/.cache/hocket; nothing when neither is an absolute path.
std::optional<std::string> last_good_folder(const Environment& environment);

/// Nothing when there is no file. An error when it is damaged, of another key, or out of range.
Result<std::optional<LastGood>> read_last_good(const std::string& folder, const ConfigKey& key);

/// Makes the folder, too.
Result<void> write_last_good(const std::string& folder, const ConfigKey& key,
                             const LastGood& last_good);
Result<void> remove_last_good(const std::string& folder, const ConfigKey& key);

}  // namespace hocket
