#pragma once

// Trace files that this daemon serves: jobs of hosts that share no folder send theirs, and whoever
// reads a profile fetches them (docs/guides/cluster.md, "Traces"). Each profile has a set, a folder
// "SET" with "rank-R.sqlite", a file that names the store, since one folder may serve several
// stores, and one that names the owner, who alone may add to the traces. Thread-safe.

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "archive/profiles/prune.h"
#include "archive/profiles/transfer/trace_transfer.h"
#include "core/base/result.h"
#include "store/rows.h"

namespace hocket {

struct ServedTracesOptions {
  std::string folder = {};  ///< absolute; made when it is needed; empty: none are served
  std::string url = {};     ///< by which other hosts reach this daemon, as in TraceUrl::daemon
  std::string store = {};   ///< names the store, without its passwords
  /// Space that is left free on the disk.
  std::int64_t least_free_bytes = 1LL << 30;
};

/// Time for which a set without a profile stays: its profile may be about to be saved.
inline constexpr std::int64_t kUnsavedSetNs = 3600LL * 1'000'000'000;

class ServedTraces {
 public:
  explicit ServedTraces(ServedTracesOptions options = {});

  bool are_taken() const { return !options_.folder.empty(); }

  /// Makes a set for `owner`, the name of a token. Requires are_taken(). Returns unavailable if the
  /// disk does not let it.
  Result<TraceSet> make_set(const std::string& owner);

  bool has(std::string_view set) const;

  /// Returns who made a set; nothing for an unknown one, or one that has no owner, as those made
  /// before owners were written down.
  std::optional<std::string> owner_of(std::string_view set) const;

  /// Appends to a rank's trace and returns its size. `offset` must be the size so far; bytes that
  /// are there already are no error, since a client that got no answer sends them again. Errors:
  /// not_found for an unknown set; invalid_argument for another offset, or a trace above
  /// kMostServedTraceBytes; unavailable if the disk is full or fails.
  Result<std::int64_t> append(std::string_view set, std::int64_t rank, std::int64_t offset,
                              std::string_view bytes);

  /// Returns at most kTracePieceBytes from `offset` on, none at the end; not_found for an unknown
  /// trace.
  Result<std::string> read(std::string_view set, std::int64_t rank, std::int64_t offset) const;

  /// Returns the row with the paths of the traces that are served here in place of their URLs.
  ProfileRow with_own_paths(ProfileRow row) const;

  /// Returns the size of a trace that is served here, otherwise 0.
  std::int64_t bytes_of(const TraceUrl& url) const;

  struct Swept {
    std::int64_t sets = 0, bytes = 0;
  };
  /// Removes the sets of this store that none of its profiles, `rows`, has, once they have not
  /// changed for kUnsavedSetNs. Returns unavailable if one cannot be removed.
  Result<Swept> sweep(std::span<const ProfileRow> rows, std::int64_t now_unix_ns);

 private:
  std::string folder_of(std::string_view set) const;
  std::string file_of(std::string_view set, std::int64_t rank) const;

  const ServedTracesOptions options_;
  std::mutex writing_;
};

}  // namespace hocket
