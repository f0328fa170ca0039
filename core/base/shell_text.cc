#include "core/base/shell_text.h"

#include <string_view>

namespace hocket {

std::string shell_quoted(const std::string& argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,@%+=";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) return argument;
  std::string quoted = "'";
  for (const char c : argument) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_text(std::span<const std::string> arguments) {
  std::string text;
  for (const auto& argument : arguments) text += (text.empty() ? "" : " ") + shell_quoted(argument);
  return text;
}

}  // namespace hocket
