#pragma once

// Rows of a list that cannot be read: of a damaged store, of a newer program, or written by hand.

#include <string>
#include <vector>

namespace hocket {

/// For each row that a list has left out a line that says which it is, and why. Lists that people
/// look at take one, so that one row never hides the others. Without one, a list of the store with
/// such a row is an error: what decides by a list must know all of it.
using UnreadRows = std::vector<std::string>;

}  // namespace hocket
