#include "tuner/command/shell_commands.h"

#include <algorithm>
#include <utility>

#include "tuner/command/wrappers.h"

namespace hocket {
namespace {

constexpr std::string_view kCompound =
    "if then else elif fi for while until do done case esac select function { } ! [[";
constexpr std::string_view kFilters = "tee cat ts grep egrep head tail sed awk cut sort uniq";

using ShellWords = std::vector<std::string>;

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : rest_(text) {}

  std::optional<std::vector<ShellWords>> read() {
    while (is_simple_ && !rest_.empty()) step();
    end_command(false);
    if (!is_simple_) return std::nullopt;
    return std::move(commands_);
  }

 private:
  char next() const { return rest_.front(); }
  bool begins(std::string_view text) const { return rest_.starts_with(text); }

  void step() {
    const char c = next();
    if (c == ' ' || c == '\t' || begins("\\\n")) {
      end_word();
      rest_.remove_prefix(c == '\\' ? 2 : 1);
    } else if (c == '#' && !in_word_) {
      rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
    } else if (c == '(' || c == ')' || c == '`' || begins("$(") || begins("||")) {
      is_simple_ = false;
    } else if (c == '<' || c == '>' || begins("&>")) {
      redirection();
    } else if (c == ';' || c == '&' || c == '\n' || c == '|') {
      end_command(c == '|');
      rest_.remove_prefix(begins("&&") || begins("|&") ? 2 : 1);
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else {
      if (c == '\\') rest_.remove_prefix(1);
      take();
    }
  }

  void take() {
    in_word_ = true;
    if (rest_.empty()) return;
    word_ += next();
    rest_.remove_prefix(1);
  }

  void quoted(char quote) {
    rest_.remove_prefix(1);
    in_word_ = true;
    while (!rest_.empty() && next() != quote) {
      if (quote == '"' && (next() == '`' || begins("$("))) is_simple_ = false;
      if (quote == '"' && next() == '\\') rest_.remove_prefix(1);
      take();
    }
    if (rest_.empty()) {
      is_simple_ = false;
    } else {
      rest_.remove_prefix(1);
    }
  }

  void redirection() {
    // The number of a descriptor belongs to the redirection.
    if (word_.find_first_not_of("0123456789") == std::string::npos) word_.clear(), in_word_ = false;
    end_word();
    if (begins("<<") || begins("<(") || begins(">(")) is_simple_ = false;
    rest_.remove_prefix(std::min(rest_.find_first_not_of("<>&|"), rest_.size()));
    skip_target_ = true;
  }

  void end_word() {
    if (!in_word_) return;
    if (!std::exchange(skip_target_, false)) words_.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  void end_command(bool is_piped) {
    end_word();
    skip_target_ = false;
    if (!words_.empty()) {
      if (is_among(kCompound, words_.front())) is_simple_ = false;
      if (!in_pipeline_) {
        commands_.push_back(std::move(words_));
      } else if (!is_among(kFilters, words_.front())) {
        is_simple_ = false;
      }
    }
    words_.clear();
    in_pipeline_ = is_piped;
  }

  std::string_view rest_;
  bool is_simple_ = true, in_word_ = false, skip_target_ = false, in_pipeline_ = false;
  std::string word_;
  ShellWords words_;
  std::vector<ShellWords> commands_;
};

}  // namespace

std::optional<std::vector<std::vector<std::string>>> shell_commands(std::string_view text) {
  return ShellReader(text).read();
}

}  // namespace hocket
