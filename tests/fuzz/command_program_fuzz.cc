// Reads arbitrary command lines: the words are the lines of the input.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "tuner/command/command_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(data[i]);
    }
  }
  const auto program = hocket::read_command(words);
  const bool is_unknown = program.kind == hocket::CommandProgram::Kind::unknown;
  HOCKET_CHECK(program.text.empty() == is_unknown, "what runs has a text");
  HOCKET_CHECK(is_unknown || !short_name(program).empty() || program.text.ends_with('/'),
               "what runs has a name");
  return 0;
}
