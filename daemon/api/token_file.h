#pragma once

// Authorization: tokens with roles, from a file that only its owner can read. Immutable;
// thread-safe.
//
// The file has one token per line, `ROLE NAME TOKEN`: the role read, report or admin; a name for
// the audit; 16 to 512 visible ASCII characters, not too few different ones
// (core/protocol/secret.h). Empty lines and lines that begin with # are ignored.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hocket {

/// Each role includes the rights of those before it.
enum class AccessRole {
  anyone,  ///< check that the daemon is alive
  read,    ///< read everything
  report,  ///< act as a job or a worker: resolve, register, report, ask, tell
  admin,   ///< change configurations
};

std::string_view to_string(AccessRole role);

struct ClientIdentity {
  std::string name;
  AccessRole role = AccessRole::anyone;

  bool operator==(const ClientIdentity&) const = default;
};

/// Returns the owner whose versions whoever shows this token gets: the token's name, or nothing for
/// administrators, whose choices are for all.
inline std::string_view speaks_for(const ClientIdentity& who) {
  return who.role == AccessRole::admin ? std::string_view() : std::string_view(who.name);
}

/// Beginning of an Authorization field with a token (RFC 6750, section 2.1).
inline constexpr std::string_view kBearer = "Bearer ";

class AccessTokens {
 public:
  /// Without a file: every client is "local" with the role admin.
  AccessTokens() = default;

  /// Returns invalid_argument with the number of the wrong line. A text without a token is also an
  /// error, because it would grant access to everyone.
  static Result<AccessTokens> parse(std::string_view text);
  /// Refuses a file that other users can read or write (core/files/private_file.h).
  static Result<AccessTokens> read(const std::string& path);
  /// The token of the daemon's own user, who is "local" with the role admin.
  static AccessTokens of_owner(std::string token);

  bool is_open() const { return entries_.empty(); }

  /// Returns the identity for the value of an Authorization field ("Bearer TOKEN"). If the field is
  /// absent although tokens exist, the role is anyone. Returns nothing for an unknown token, and
  /// takes the same time for every unknown token.
  std::optional<ClientIdentity> identify(std::string_view authorization) const;

 private:
  struct Entry {
    std::string token;
    ClientIdentity identity;
  };
  std::vector<Entry> entries_;
};

}  // namespace hocket
