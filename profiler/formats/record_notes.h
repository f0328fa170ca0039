#pragma once

// Says in notes which records of an import were left out or cut, and what an import of which
// nothing is known as work consists of. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/trace/impossible_records.h"
#include "core/trace/rank_trace.h"
#include "profiler/formats/import_notes.h"

namespace hocket {

void add_notes(const ImpossibleRecords& found, ImportNotes& notes);

/// Notes how many steps have no window because work of them was left out (TraceBuilder::finish).
void add_notes_on_steps(std::int64_t incomplete, ImportNotes& notes);

/// Returns "names a, b and c" of the records of `trace`, the most frequent first; " and N others"
/// follows if there are more than a few.
std::string frequent_names(const RankTrace& trace);

/// Says that no record is work, which there are, and what to do, in a note that comes first.
void add_note_on_strangers(const std::string& events, const std::string& remedy,
                           ImportNotes& notes);

}  // namespace hocket
