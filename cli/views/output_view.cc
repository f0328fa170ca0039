#include "cli/views/output_view.h"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <vector>

#include "core/base/plain_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Returns the lines, which end at \n; a \r, by which a progress bar overwrites itself, ends one,
/// too.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    const bool is_both = text.substr(end).starts_with("\r\n");
    text.remove_prefix(std::min(end + (is_both ? 2 : 1), text.size()));
  }
  return lines;
}

void print_line(std::ostream& out, std::string_view line) {
  out << plain_line(line) << '\n';
}

void print_end(std::ostream& out, const char* name, std::string_view text, std::size_t count) {
  auto lines = lines_of(text);
  std::erase_if(lines, [](std::string_view line) { return trimmed(line).empty(); });
  for (std::size_t i = lines.size() - std::min(count, lines.size()); i < lines.size(); ++i) {
    out << "  " << name << " | ";
    print_line(out, lines[i]);
  }
}

}  // namespace

void print_output(std::ostream& out, const TrialOutput& output) {
  for (const auto line : lines_of(output.stdout_text)) print_line(out, line);
  if (output.stderr_text.empty()) return;
  out << "stderr:\n";
  for (const auto line : lines_of(output.stderr_text)) print_line(out, line);
}

void print_output_end(std::ostream& out, const TrialOutput& output, std::size_t lines) {
  print_end(out, "stdout", output.stdout_text, lines);
  print_end(out, "stderr", output.stderr_text, lines);
  out.flush();
}

}  // namespace hocket
