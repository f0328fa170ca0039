#include "core/protocol/daemon_token.h"

#include <algorithm>

#include "core/files/private_file.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxTokenBytes = 4096;
constexpr std::string_view kNameBegin = "daemon-", kNameEnd = ".token";

}  // namespace

std::string daemon_token_path(const std::string& state_folder, std::uint16_t port) {
  return state_folder + "/" + std::string(kNameBegin) + std::to_string(port) +
         std::string(kNameEnd);
}

bool is_daemon_token_name(std::string_view name) {
  if (!name.starts_with(kNameBegin) || !name.ends_with(kNameEnd)) return false;
  if (name.size() <= kNameBegin.size() + kNameEnd.size()) return false;
  name.remove_prefix(kNameBegin.size());
  name.remove_suffix(kNameEnd.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

Result<std::string> read_daemon_token(const std::string& path) {
  auto text = read_private_file(path, kMaxTokenBytes);
  if (!text) return text;
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  const bool is_printable =
      std::ranges::all_of(*text, [](unsigned char c) { return 0x20 < c && c < 0x7F; });
  if (text->empty() || !is_printable) {
    return failure(ErrorCode::invalid_argument,
                   path + " must hold one token of printable ASCII without spaces");
  }
  return text;
}

}  // namespace hocket
