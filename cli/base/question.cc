#include "cli/base/question.h"

#include <unistd.h>

#include <iostream>

#include "core/base/nearest_name.h"
#include "core/base/text.h"

namespace hocket {

bool is_yes(const std::string& answer) {
  const std::string word = lower_case(trimmed(answer));
  return word == "y" || word == "yes";
}

std::function<bool(const std::string& question)> questions_on_terminal(std::ostream& err) {
  if (isatty(STDIN_FILENO) == 0) return {};
  return [&err](const std::string& question) {
    err << "hocket: " << question << " [y/N] " << std::flush;
    std::string answer;
    return std::getline(std::cin, answer) && is_yes(answer);
  };
}

}  // namespace hocket
