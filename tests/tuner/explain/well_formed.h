#pragma once

// Checks that text is well-formed XML, as far as our documents use it: a declaration, elements with
// quoted attributes, text, and the five named entities.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

class XmlChecker {
 public:
  explicit XmlChecker(std::string_view text) : rest_(text) {}

  /// Returns what is wrong with the text; empty if it is well-formed.
  std::string complaint() {
    if (!take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")) return "no declaration";
    bool had_root = false;
    while (!rest_.empty()) {
      if (rest_.front() != '<') {
        const auto end = std::min(rest_.find('<'), rest_.size());
        const auto text = rest_.substr(0, end);
        if (open_.empty() && text.find_first_not_of('\n') != text.npos) return "text outside";
        if (!is_text(text)) return "bad text: " + std::string(text);
        rest_.remove_prefix(end);
      } else if (take("</")) {
        const std::string closed = name();
        if (open_.empty() || open_.back() != closed || !take(">")) return "bad end of " + closed;
        open_.pop_back();
      } else {
        if (open_.empty() && had_root) return "a second root";
        had_root = true;
        if (auto wrong = element(); !wrong.empty()) return wrong;
      }
    }
    if (!had_root) return "no root";
    return open_.empty() ? "" : "not closed: " + open_.back();
  }

 private:
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  std::string name() {
    std::size_t length = 0;
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    };
    while (length < rest_.size() && is_name(rest_[length])) ++length;
    const std::string found(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return found;
  }

  std::string element() {
    take("<");
    const std::string opened = name();
    if (opened.empty()) return "an element without a name";
    std::set<std::string> attributes;
    while (take(" ")) {
      const std::string attribute = name();
      if (!attributes.insert(attribute).second) return "twice: " + attribute;
      if (attribute.empty() || !take("=\"")) return "bad attribute of " + opened;
      const auto end = rest_.find('"');
      if (end == rest_.npos || !is_text(rest_.substr(0, end))) return "bad value of " + attribute;
      rest_.remove_prefix(end + 1);
    }
    if (take("/>")) return "";
    if (!take(">")) return "bad start of " + opened;
    open_.push_back(opened);
    return "";
  }

  static bool is_text(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '<' || c == '>' || (static_cast<unsigned char>(c) < 0x20 && c != '\n')) return false;
      if (c != '&') continue;
      bool known = false;
      for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
        known = known || text.substr(i).starts_with(entity);
      if (!known) return false;
    }
    return true;
  }

  std::string_view rest_;
  std::vector<std::string> open_;
};

/// Returns what is wrong with `text`; empty if it is well-formed.
inline std::string xml_complaint(std::string_view text) {
  return XmlChecker(text).complaint();
}

}  // namespace hocket
