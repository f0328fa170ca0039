#include "tuner/trial/output/output_lines.h"

#include <algorithm>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kTitleLimitBytes = 4096;

struct EscapeSequence {
  std::size_t bytes = 0;  ///< 0: the text ends within it
  bool is_plain = false;  ///< it leaves the cursor where it is
};

EscapeSequence title_at(std::string_view text) {
  const auto body = text.substr(0, kTitleLimitBytes);
  const auto bell = body.find('\a'), string_end = body.find("\x1b\\", 2);
  if (bell == std::string_view::npos && string_end == std::string_view::npos)
    return {text.size() < kTitleLimitBytes ? std::size_t{0} : std::size_t{2}, true};
  return {bell < string_end ? bell + 1 : string_end + 2, true};
}

/// Reads the sequence at the beginning of `text` (ECMA-48, sections 5.3 to 5.6).
EscapeSequence sequence_at(std::string_view text) {
  if (text.size() < 2) return {};
  if (text[1] == ']') return title_at(text);
  if (text[1] == '(' || text[1] == ')') return {text.size() < 3 ? std::size_t{0} : 3, true};
  if (text[1] != '[') return {2, false};
  const auto is_final = [](char c) { return c >= 0x40 && c <= 0x7e; };
  const auto body = text.substr(2);
  const auto final = std::ranges::find_if(body, is_final);
  if (final == body.end()) return {};
  return {static_cast<std::size_t>(final - body.begin()) + 3, *final == 'm'};
}

}  // namespace

bool OutputLines::next() {
  if (at_ >= text_.size()) return false;
  std::size_t begin = at_, place = at_;
  bool is_copied = false;
  uncoloured_.clear();
  is_ended_ = is_fed_ = false;
  for (;;) {
    place = std::min(text_.find_first_of("\r\n\b\x1b", place), text_.size());
    at_ = place;
    if (place == text_.size()) break;
    if (text_[place] != kEscape) {
      is_ended_ = true;
      is_fed_ = text_[place] == '\n';
      at_ = place + 1;
      break;
    }
    const EscapeSequence sequence = sequence_at(text_.substr(place));
    at_ = sequence.bytes == 0 ? text_.size() : place + sequence.bytes;
    is_ended_ = sequence.bytes > 0 && !sequence.is_plain;
    if (sequence.bytes == 0 || is_ended_) break;
    uncoloured_ += text_.substr(begin, place - begin);
    is_copied = true;
    begin = place = at_;
  }
  line_ = text_.substr(begin, place - begin);
  if (is_copied) {
    uncoloured_ += line_;
    line_ = uncoloured_;
  }
  return true;
}

std::string last_states(std::string_view text) {
  std::string shown, state;
  OutputLines lines(text);
  while (lines.next()) {
    if (!trimmed(lines.line()).empty()) state = lines.line();
    if (!lines.is_fed()) continue;
    shown += state;
    shown += '\n';
    state.clear();
  }
  return shown + state;
}

}  // namespace hocket
