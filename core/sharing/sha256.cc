#include "core/sharing/sha256.h"

#include <openssl/sha.h>

namespace hocket {

std::string sha256_hex(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return hex_text({reinterpret_cast<const char*>(digest), sizeof digest});
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return digits;
}

}  // namespace hocket
