#pragma once

// One file or folder that hocket writes on its own account (docs/FILES.md), and what is wrong with
// it. Pure; thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

/// The kinds of files and folders that hocket writes, each a row of docs/FILES.md.
enum class OwnKind {
  store,
  traces,  ///< the folder of one profile
  state_folder,
  token,
  served_traces,  ///< the folder of the traces that a daemon serves
  cache_folder,
  last_good,
  scratch,  ///< a process's folder for temporary files
};

std::span<const OwnKind> own_kinds();
std::string_view to_string(OwnKind kind);

enum class OwnState {
  ok,
  in_use,     ///< a running process uses it, or it is too young to count as left over
  missing,    ///< does not exist, which is no error
  left_over,  ///< its process was killed; `hocket prune` removes it
  wrong_permissions,
  wrong_owner,
  unusable,  ///< has another file type, or cannot be read
};

std::string_view to_string(OwnState state);

/// Returns whether somebody has to act, which `hocket doctor` reports in its exit status.
bool is_wrong(OwnState state);

struct OwnFile {
  OwnKind kind = OwnKind::store;
  std::string path;
  std::int64_t bytes = 0;  ///< of folders of traces and of scratch, with their content
  OwnState state = OwnState::ok;
  std::string advice = {};  ///< action for the user, or what the file waits for; may be empty

  bool operator==(const OwnFile&) const = default;
};

/// Type, owner, size and age of a path, from stat(2).
struct PathStatus {
  std::optional<mode_t> mode;  ///< type and permissions; absent if nothing is there
  uid_t owner = 0;
  std::int64_t bytes = 0;
  std::int64_t changed_at_ns = 0;  ///< Unix time of the last change of its content
};

/// Files that nobody has changed for so long are not being written any more.
inline constexpr std::int64_t kLeftOverAfterNs = 24LL * 3600 * 1'000'000'000;

/// Returns `path` with its state by type, owner and permissions. `user` is who runs hocket. A store
/// that several users share may belong to another one, and so may its traces: `is_shared`.
OwnFile judged_file(OwnKind kind, std::string path, const PathStatus& status, uid_t user,
                    bool is_shared);

/// Returns an unfinished file or folder, last changed at `changed_at_ns`: left over once it is old,
/// in use before.
OwnFile judged_unfinished(OwnKind kind, std::string path, std::int64_t bytes,
                          std::int64_t changed_at_ns, std::int64_t now_unix_ns);

}  // namespace hocket
