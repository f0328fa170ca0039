#pragma once

// The output of a shell's command. One thread.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace hocket {

/// Runs a command, with what it prints on stderr among the lines that it returns. Fails the test if
/// the command does.
inline std::vector<std::string> lines_of(const std::vector<std::string>& command) {
  const std::string text = shell_text(command);
  std::FILE* const pipe = ::popen((text + " 2>&1").c_str(), "r");
  EXPECT_NE(pipe, nullptr) << text;
  std::stringstream output;
  std::array<char, 4096> bytes{};
  for (std::size_t count; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;) {
    output.write(bytes.data(), static_cast<std::streamsize>(count));
  }
  EXPECT_EQ(::pclose(pipe), 0) << text << '\n' << output.str();
  std::vector<std::string> lines;
  for (std::string line; std::getline(output, line);) lines.push_back(line);
  return lines;
}

/// Returns whether PATH has the program.
inline bool has_program(const std::string& name) {
  return std::system(("command -v " + name + " >/dev/null").c_str()) == 0;
}

}  // namespace hocket
