#include "cli/output/notes.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kNoteBytes = 1000;

}  // namespace

void print_notes(std::ostream& out, std::span<const std::string> notes) {
  // One row may be met several times.
  std::set<std::string> shown;
  for (const std::string& note : notes) {
    if (shown.insert(note).second) out << "note: " << printable(note, kNoteBytes) << '\n';
  }
}

void print_unreadable(std::ostream& out, const nlohmann::json& answer) {
  const auto rows = answer.find("unreadable");
  if (rows == answer.end() || !rows->is_array()) return;
  std::vector<std::string> notes;
  for (const auto& row : *rows) {
    if (row.is_string()) notes.push_back(row.get<std::string>());
  }
  print_notes(out, notes);
}

}  // namespace hocket
