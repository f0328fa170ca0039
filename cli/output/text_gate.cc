#include "cli/output/text_gate.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/base/plain_text.h"

namespace hocket {
namespace {

std::string_view sequence(TerminalControl control) {
  switch (control) {
    case TerminalControl::clear_line:
      return "\r\033[K";
    case TerminalControl::clear_to_line_end:
      return "\033[K";
    case TerminalControl::clear_to_end:
      return "\033[J";
    case TerminalControl::go_home:
      return "\033[H";
    case TerminalControl::next_line:
      return "\r\n";
    case TerminalControl::enter_screen:
      return "\033[?1049h\033[?25l";
    case TerminalControl::leave_screen:
      return "\033[?25h\033[?1049l";
  }
  return {};
}

/// Returns the length of the character that `text` ends within; 0 if it ends with a whole one.
std::size_t begun_length(std::string_view text) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t length = std::min(kLongest - 1, text.size()); length > 0; --length) {
    const Utf8Character last = first_character(text.substr(text.size() - length));
    if (last.is_cut && last.bytes == length) return length;
  }
  return 0;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, TerminalControl control) {
  if (auto* const gate = dynamic_cast<TextGate*>(out.rdbuf())) {
    gate->pass(sequence(control));
    return out;
  }
  return out << sequence(control);
}

TextGate::~TextGate() {
  pass("");
}

void TextGate::pass(std::string_view text) {
  if (!std::exchange(begun_, {}).empty())
    behind_->sputn(kReplacement.data(), static_cast<std::streamsize>(kReplacement.size()));
  behind_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
}

bool TextGate::write(std::string_view text) {
  std::string all = std::move(begun_);
  all.append(text);
  const std::size_t begun = begun_length(all);
  begun_.assign(all, all.size() - begun, begun);
  all.resize(all.size() - begun);
  const std::string plain = plain_lines(all);
  const auto length = static_cast<std::streamsize>(plain.size());
  return behind_->sputn(plain.data(), length) == length;
}

TextGate::int_type TextGate::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char c = traits_type::to_char_type(byte);
  return write({&c, 1}) ? byte : traits_type::eof();
}

std::streamsize TextGate::xsputn(const char* text, std::streamsize count) {
  return write({text, static_cast<std::size_t>(count)}) ? count : 0;
}

int TextGate::sync() {
  return behind_->pubsync();
}

std::streambuf* behind_gate(const std::ostream& out) {
  const auto* const gate = dynamic_cast<const TextGate*>(out.rdbuf());
  return gate ? gate->behind() : out.rdbuf();
}

}  // namespace hocket
