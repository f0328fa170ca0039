#include "profiler/formats/json/repaired_text.h"

#include <algorithm>
#include <cctype>

namespace hocket {
namespace {

constexpr std::size_t kBlockBytes = 1 << 16;
constexpr std::int64_t kBlocksBetweenLooks = 16;

/// Returns whether a word is how some program writes a number that is none.
bool is_no_number(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  std::string small;
  for (const char c : word) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small == "nan" || small == "inf" || small == "infinity";
}

/// The kinds of bytes outside of texts.
constexpr auto kTokens = [] {
  std::array<RepairedText::Token, 256> tokens;
  tokens.fill(RepairedText::Token::word);
  for (const char byte : std::string_view(" \t\n\r"))
    tokens[static_cast<unsigned char>(byte)] = RepairedText::Token::blanks;
  for (const char byte : std::string_view(",:[]{}\""))
    tokens[static_cast<unsigned char>(byte)] = RepairedText::Token::mark;
  return tokens;
}();

bool is_of_word(char byte) {
  return std::isalpha(static_cast<unsigned char>(byte)) || byte == '-' || byte == '+';
}

/// Returns how many bytes a UTF-8 sequence has that begins with `byte`; 0 if none does.
std::size_t bytes_of_sequence(unsigned char byte) {
  if (byte >= 0xc2 && byte <= 0xdf) return 2;
  if (byte >= 0xe0 && byte <= 0xef) return 3;
  if (byte >= 0xf0 && byte <= 0xf4) return 4;
  return 0;
}

/// Returns whether `next` may follow a sequence's first byte: no overlong form, no surrogate.
bool may_follow(unsigned char first, unsigned char next) {
  if (first == 0xe0) return next >= 0xa0 && next <= 0xbf;
  if (first == 0xed) return next >= 0x80 && next <= 0x9f;
  if (first == 0xf0) return next >= 0x90 && next <= 0xbf;
  if (first == 0xf4) return next >= 0x80 && next <= 0x8f;
  return next >= 0x80 && next <= 0xbf;
}

}  // namespace

std::int64_t RepairedText::line() const {
  return 1 + lines_ + std::count(eback(), gptr(), '\n');
}

void RepairedText::unread(std::string_view text) {
  lines_ += std::count(eback(), gptr(), '\n');
  std::vector<char> left(text.begin(), text.end());
  left.insert(left.end(), gptr(), egptr());
  out_ = std::move(left);
  setg(out_.data(), out_.data(), out_.data() + out_.size());
}

RepairedText::int_type RepairedText::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  lines_ += std::count(eback(), egptr(), '\n') + swallowed_;
  swallowed_ = 0;
  out_.clear();
  if (memory_ != nullptr && ++blocks_ % kBlocksBetweenLooks == 0 && !problem_)
    problem_ = memory_->problem();
  std::vector<char> block(kBlockBytes);
  while (out_.empty() && !problem_) {
    const std::streamsize read = in_.sgetn(block.data(), std::ssize(block));
    for (std::streamsize i = 0; i < read && !problem_; ++i) {
      const char byte = block[static_cast<std::size_t>(i)];
      if (is_counted(byte)) take(byte);
    }
    if (read > 0) continue;
    end_sequence(false);
    end_word();
    break;
  }
  setg(out_.data(), out_.data(), out_.data() + out_.size());
  return out_.empty() ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

void RepairedText::note(Kind kind) {
  Repairs& repairs = repairs_[static_cast<std::size_t>(kind)];
  if (repairs.count++ == 0) repairs.first_line = 1 + raw_lines_;
}

/// Returns whether a byte is passed on.
bool RepairedText::is_counted(char byte) {
  const Token token = in_text_ ? Token::text : kTokens[static_cast<unsigned char>(byte)];
  if (token != token_ || token == Token::mark) token_bytes_ = 0;
  token_ = token;
  ++token_bytes_;
  if (token == Token::blanks) {
    if (token_bytes_ <= kMostBlanks) return true;
    if (byte == '\n') {
      ++raw_lines_;
      ++swallowed_;
    }
    return false;
  }
  if (token_bytes_ <= kMostTokenBytes) return true;
  problem_ = "line " + std::to_string(1 + raw_lines_) + ": a " +
             (in_text_ ? "text" : "number or word") + " is longer than " +
             std::to_string(kMostTokenBytes >> 20) + " MiB, which no trace has";
  return false;
}

void RepairedText::take(char byte) {
  if (in_text_) {
    take_in_text(byte);
  } else if (is_of_word(byte)) {
    word_ += byte;
    constexpr std::size_t kMostLetters = 16;
    if (word_.size() > kMostLetters) end_word();
  } else {
    end_word();
    in_text_ = byte == '"';
    out_.push_back(byte);
  }
  if (byte == '\n') ++raw_lines_;
}

void RepairedText::end_word() {
  if (word_.empty()) return;
  if (is_no_number(word_)) {
    note(Kind::not_a_number);
    word_ = "null";
  }
  out_.insert(out_.end(), word_.begin(), word_.end());
  word_.clear();
}

void RepairedText::end_sequence(bool is_whole) {
  if (sequence_.empty()) return;
  if (is_whole) {
    out_.insert(out_.end(), sequence_.begin(), sequence_.end());
  } else {
    note(Kind::not_utf8);
    out_.push_back('?');
  }
  sequence_.clear();
}

void RepairedText::take_in_text(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  if (!sequence_.empty()) {
    const auto first = static_cast<unsigned char>(sequence_.front());
    const bool fits = sequence_.size() == 1 ? may_follow(first, code) : (code & 0xc0) == 0x80;
    if (fits) {
      sequence_ += byte;
      if (sequence_.size() == sequence_bytes_) end_sequence(true);
      return;
    }
    end_sequence(false);
  }
  if (code >= 0x80) {
    is_escaped_ = false;
    sequence_bytes_ = bytes_of_sequence(code);
    sequence_ = byte;
    if (sequence_bytes_ == 0) end_sequence(false);
    return;
  }
  if (code < 0x20) {
    note(Kind::control_character);
    if (byte == '\n') ++swallowed_;
    byte = ' ';
  }
  if (is_escaped_) {
    is_escaped_ = false;
  } else if (byte == '\\') {
    is_escaped_ = true;
  } else if (byte == '"') {
    in_text_ = false;
  }
  out_.push_back(byte);
}

}  // namespace hocket
