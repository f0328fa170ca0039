#include "core/protocol/config_key.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kUuidLength = 36;

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kShape,
                            [](char c, char at) { return at == 'x' ? is_hex_digit(c) : c == at; });
}

}  // namespace

std::string to_string(const ConfigKey& key) {
  return key.topology + "." + key.workload;
}

Result<ConfigKey> parse_config_key(std::string_view text) {
  if (text.size() == 2 * kUuidLength + 1 && text[kUuidLength] == '.') {
    const auto topology = text.substr(0, kUuidLength), workload = text.substr(kUuidLength + 1);
    if (is_uuid(topology) && is_uuid(workload)) {
      return ConfigKey{std::string(topology), std::string(workload)};
    }
  }
  // The text is not repeated in the error: it may hold anything and be of any length.
  return failure(ErrorCode::invalid_argument,
                 "not a key: expected the fingerprints of a topology and a workload with a dot "
                 "between them, each a UUID of 36 characters in lower case; `hocket fetch --json` "
                 "shows both");
}

}  // namespace hocket
