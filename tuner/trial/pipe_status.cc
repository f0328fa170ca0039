#include "tuner/trial/pipe_status.h"

#include <algorithm>
#include <string_view>

namespace hocket {
namespace {

/// 141 is 128 and SIGPIPE.
constexpr const char* kPipeStatus =
    "\nhocket_status=(\"$?\" \"${PIPESTATUS[@]}\")\n"
    "for hocket_each in \"${hocket_status[@]:1}\"; do\n"
    "case $hocket_each in 0 | 141) ;; *) exit \"$hocket_each\" ;; esac\n"
    "done\n"
    "exit \"${hocket_status[0]}\"";

bool is_bash(std::string_view word) {
  return word.substr(word.rfind('/') + 1) == "bash";
}

/// Returns whether the option, -c or several letters with it, is followed by the text to run.
bool takes_text(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && word.ends_with('c');
}

bool has_pipe(std::string_view text) {
  for (auto at = text.find('|'); at != std::string_view::npos; at = text.find('|', at + 1)) {
    const bool is_or = at + 1 < text.size() && text[at + 1] == '|';
    if (!is_or) return true;
    ++at;
  }
  return false;
}

}  // namespace

std::vector<std::string> with_pipe_status(std::vector<std::string> words) {
  const auto bash = std::ranges::find_if(words, is_bash);
  if (bash == words.end()) return words;
  // Options may stand before -c; the word behind "-o" is one's value.
  auto option = std::next(bash);
  while (option != words.end() && option->starts_with('-') && !takes_text(*option))
    option += option->ends_with('o') && std::next(option) != words.end() ? 2 : 1;
  if (option == words.end() || !takes_text(*option) || std::next(option) == words.end())
    return words;
  std::string& text = *std::next(option);
  if (has_pipe(text) && !text.ends_with('\\')) text += kPipeStatus;
  return words;
}

}  // namespace hocket
