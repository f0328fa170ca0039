#include "daemon/api/token_file.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/files/private_file.h"
#include "core/protocol/secret.h"

namespace hocket {
namespace {

constexpr std::size_t kLongest = 512;
constexpr std::size_t kMostBytes = 1 << 20;

std::optional<AccessRole> parse_role(std::string_view text) {
  for (const AccessRole role : {AccessRole::read, AccessRole::report, AccessRole::admin}) {
    if (text == to_string(role)) return role;
  }
  return std::nullopt;
}

ClientIdentity local_user() {
  return {"local", AccessRole::admin};
}

bool is_token(std::string_view text) {
  return check_secret(text) && text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string_view to_string(AccessRole role) {
  switch (role) {
    case AccessRole::anyone:
      return "anyone";
    case AccessRole::read:
      return "read";
    case AccessRole::report:
      return "report";
    case AccessRole::admin:
      return "admin";
  }
  return "";
}

Result<AccessTokens> AccessTokens::parse(std::string_view text) {
  AccessTokens tokens;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto wrong = [&](const std::string& what) {
      return failure(ErrorCode::invalid_argument, "line " + std::to_string(number) + ": " + what);
    };
    std::istringstream words(line);
    std::string role_text, name, token, more;
    words >> role_text >> name >> token >> more;
    if (role_text.empty() || role_text.front() == '#') continue;
    const auto role = parse_role(role_text);
    // A malformed line may hold a token in place of a role, so the message does not repeat it.
    if (!role) return wrong("expected a role (read, report or admin), a name and a token");
    if (name.empty() || !is_token(token) || !more.empty()) {
      return wrong("expected `ROLE NAME TOKEN`, the token of " + std::to_string(kLeastSecretBytes) +
                   " to " + std::to_string(kLongest) + " visible ASCII characters, " +
                   std::to_string(kLeastDifferentBytes) + " of them different");
    }
    if (name.size() > 100 || !std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; }))
      return wrong("expected a name of at most 100 visible ASCII characters");
    if (std::ranges::find(tokens.entries_, token, &Entry::token) != tokens.entries_.end())
      return wrong("this token is there already");
    tokens.entries_.push_back({token, {name, *role}});
  }
  if (tokens.entries_.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "there is no token in it; add a line `ROLE NAME TOKEN`");
  }
  return tokens;
}

Result<AccessTokens> AccessTokens::read(const std::string& path) {
  const auto text = read_private_file(path, kMostBytes);
  if (!text) return failure(text.error().in("token file"));
  auto tokens = parse(*text);
  if (!tokens) return failure(tokens.error().in("token file " + path));
  return tokens;
}

AccessTokens AccessTokens::of_owner(std::string token) {
  AccessTokens tokens;
  tokens.entries_.push_back({std::move(token), local_user()});
  return tokens;
}

std::optional<ClientIdentity> AccessTokens::identify(std::string_view authorization) const {
  if (is_open()) return local_user();
  if (authorization.empty()) return ClientIdentity{"", AccessRole::anyone};
  if (!authorization.starts_with(kBearer)) return std::nullopt;
  const std::string_view token = authorization.substr(kBearer.size());
  std::optional<ClientIdentity> found;
  for (const Entry& entry : entries_) {
    if (entry.token.size() == token.size() &&
        CRYPTO_memcmp(entry.token.data(), token.data(), token.size()) == 0) {
      found = entry.identity;
    }
  }
  return found;
}

}  // namespace hocket
