#pragma once

// Remarks beside a verb's results. One thread.

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace hocket {

/// Prints a line "note: …" for each of `notes`, which are cut if they are long.
void print_notes(std::ostream& out, std::span<const std::string> notes);

/// Prints what the answer of a list says of rows that it leaves out ("unreadable"), as notes.
void print_unreadable(std::ostream& out, const nlohmann::json& answer);

}  // namespace hocket
