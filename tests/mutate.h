#pragma once

// Damages valid input at random, for tests of parsers: the same seed gives the same damage. Pure.

#include <random>
#include <string>

namespace hocket {

/// Returns `text` with one to eight bytes changed, inserted or removed, or a piece repeated or cut
/// off.
inline std::string mutate(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) {
    return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
  };
  static const std::string kTelling = "{}[]\",:0123456789-+.eE\\\0\xff\xc0nulltrue";
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t at = below(text.size());
    const char byte = below(2) ? kTelling[below(kTelling.size())] : static_cast<char>(below(256));
    switch (below(5)) {
      case 0:
        if (!text.empty()) text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + below(4));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(16)));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

}  // namespace hocket
