#pragma once

// Who may do what: tokens with roles, from a file that only its owner can read. Immutable;
// thread-safe.
//
// The file has one token a line, `ROLE NAME TOKEN`: the role read, report or admin; a name for the
// audit; 16 to 512 visible ASCII characters. Empty lines and those that begin with # do not count.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Each may do what those before it may.
enum class Role {
  anyone,  ///< is it alive?
  read,    ///< look at everything
  report,  ///< what a job or a worker does: resolve, register, report, ask, tell
  admin,   ///< change configurations
};

std::string_view to_string(Role role);

struct Identity {
  std::string name;
  Role role = Role::anyone;

  bool operator==(const Identity&) const = default;
};

class Tokens {
 public:
  /// Without a file: everyone is "local", and admin.
  Tokens() = default;

  /// invalid_argument names the line. Also for a text without a token: it would let everyone in.
  static Result<Tokens> parse(std::string_view text);
  /// Refuses a file that others may read or write.
  static Result<Tokens> read(const std::string& path);

  bool is_open() const { return entries_.empty(); }

  /// Whose the value of an Authorization field is ("Bearer TOKEN"); without one, and with tokens,
  /// that of anyone. Nothing for a token that is not known. Takes as long for every token that is
  /// not.
  std::optional<Identity> identify(std::string_view authorization) const;

 private:
  struct Entry {
    std::string token;
    Identity identity;
  };
  std::vector<Entry> entries_;
};

}  // namespace hocket
