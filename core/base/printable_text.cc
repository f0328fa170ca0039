#include "core/base/printable_text.h"

#include <deque>
#include <nlohmann/json.hpp>

namespace hocket {

std::string printable(std::string_view text, std::size_t limit_bytes, bool keep_end) {
  if (text.size() > limit_bytes) {
    text = text.substr(keep_end ? text.size() - limit_bytes : 0, limit_bytes);
  }
  std::string result(text);
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  // The JSON library replaces invalid UTF-8.
  const auto replace = nlohmann::json::error_handler_t::replace;
  return nlohmann::json::parse(nlohmann::json(result).dump(-1, ' ', false, replace))
      .get<std::string>();
}

std::string last_lines(std::string_view text, std::size_t lines, std::size_t limit_bytes) {
  std::deque<std::string_view> kept;
  while (!text.empty() && kept.size() < lines) {
    const auto end = text.find_last_not_of("\r\n");
    if (end == std::string_view::npos) break;
    text = text.substr(0, end + 1);
    const auto start = text.find_last_of("\r\n");
    const auto begin = start == std::string_view::npos ? 0 : start + 1;
    kept.push_front(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::string joined;
  for (const auto line : kept) {
    if (!joined.empty()) joined += " | ";
    joined += line;
  }
  return printable(joined, limit_bytes, true);
}

}  // namespace hocket
