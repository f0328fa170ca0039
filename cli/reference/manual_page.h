#pragma once

// Manual pages of the program and its verbs, in the macros of man(7). Thread-safe.

#include <string>

#include "cli/reference/described_verb.h"

namespace hocket {

/// The version and the date in the head and the foot of a page.
struct ManualEdition {
  std::string version, date;
};

/// Returns hocket.1: the verbs, and what holds for all of them.
std::string program_page(const DescribedVerb& program, const ManualEdition& edition);

/// Returns hocket-VERB.1 of one of the program's verbs, with the verbs that it has itself.
std::string verb_page(const DescribedVerb& program, const DescribedVerb& verb,
                      const ManualEdition& edition);

}  // namespace hocket
