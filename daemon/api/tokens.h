#pragma once

// Authorization: tokens with roles, from a file that only its owner can read. Immutable;
// thread-safe.
//
// The file has one token per line, `ROLE NAME TOKEN`: the role read, report or admin; a name for
// the audit; 16 to 512 visible ASCII characters. Empty lines and lines that begin with # are
// ignored.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Each role includes the rights of those before it.
enum class Role {
  anyone,  ///< check that the daemon is alive
  read,    ///< read everything
  report,  ///< act as a job or a worker: resolve, register, report, ask, tell
  admin,   ///< change configurations
};

std::string_view to_string(Role role);

struct Identity {
  std::string name;
  Role role = Role::anyone;

  bool operator==(const Identity&) const = default;
};

/// Beginning of an Authorization field with a token (RFC 6750, section 2.1).
inline constexpr std::string_view kBearer = "Bearer ";

class Tokens {
 public:
  /// Without a file: every client is "local" with the role admin.
  Tokens() = default;

  /// Returns invalid_argument with the number of the wrong line. A text without a token is also an
  /// error, because it would grant access to everyone.
  static Result<Tokens> parse(std::string_view text);
  /// Refuses a file that other users can read or write (core/files/private_file.h).
  static Result<Tokens> read(const std::string& path);
  /// The token of the daemon's own user, who is "local" with the role admin.
  static Tokens of_owner(std::string token);

  bool is_open() const { return entries_.empty(); }

  /// Returns the identity for the value of an Authorization field ("Bearer TOKEN"). If the field is
  /// absent although tokens exist, the role is anyone. Returns nothing for an unknown token, and
  /// takes the same time for every unknown token.
  std::optional<Identity> identify(std::string_view authorization) const;

 private:
  struct Entry {
    std::string token;
    Identity identity;
  };
  std::vector<Entry> entries_;
};

}  // namespace hocket
