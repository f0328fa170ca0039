#include "store/sql/database.h"

namespace hocket::sql {

std::string statement_text(std::string_view sql, char mark, bool locks_rows) {
  std::string text;
  bool is_in_braces = false;
  for (const char c : sql) {
    if (c == '{' || c == '}') {
      is_in_braces = c == '{';
    } else if (!is_in_braces || locks_rows) {
      text += c == '?' ? mark : c;
    }
  }
  return text;
}

}  // namespace hocket::sql
