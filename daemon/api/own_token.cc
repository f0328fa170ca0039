#include "daemon/api/own_token.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "core/files/owned_path.h"
#include "core/files/private_file.h"
#include "core/protocol/daemon_token.h"
#include "core/protocol/secret.h"

namespace hocket {
namespace {

/// Returns whether a file that only this user can use holds something else than a token.
bool is_damaged(const std::string& path) {
  constexpr std::int64_t kAnyBytes = 1 << 20;
  return read_private_file(path, kAnyBytes).has_value() && !read_daemon_token(path);
}

}  // namespace

Result<std::string> random_token() {
  std::array<unsigned char, 32> bytes = {};
  // Up to 256 bytes come whole, once the kernel's generator is ready.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failure(ErrorCode::unavailable,
                   "no random token: " + std::generic_category().message(errno));
  }
  std::string digits;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kHex = "0123456789abcdef";
    digits += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return digits;
}

std::string page_address(const std::string& url, const std::string& token) {
  return token.empty() ? url + "/" : url + "/#token=" + token;
}

Result<std::string> open_own_token(const std::string& state_folder, std::uint16_t port,
                                   const Log& log) {
  HOCKET_TRY(check_private_folder(state_folder));
  const std::string path = daemon_token_path(state_folder, port);
  auto known = read_daemon_token(path);
  if (known) {
    const auto ok = check_secret(*known);
    if (!ok) return failure(ok.error().in(path));
    return known;
  }
  if (is_damaged(path)) {
    // The file may be damaged by a full disk or a power failure; nobody can use it as it is.
    log.write(LogLevel::warning, "the token's file is damaged and is made anew", {{"file", path}});
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return known;
  } else if (known.error().code != ErrorCode::not_found) {
    return known;
  }
  HOCKET_TRY(create_private_folders(state_folder));
  const auto token = random_token();
  HOCKET_TRY(token);
  HOCKET_TRY(create_private_file(path, *token + "\n"));
  // Another daemon of the user, on another address, may have made it meanwhile.
  return read_daemon_token(path);
}

}  // namespace hocket
