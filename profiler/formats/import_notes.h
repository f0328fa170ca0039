#pragma once

// Says what an import read otherwise than it is written, and counts what it left out, by reason.
// Not thread-safe.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// The weight of a note; the first are said first.
enum class NoteWeight {
  withholds,  ///< figures are missing or wrong because of it
  partial,    ///< a part of the data is missing
  informs,    ///< everything is there
};

/// Note on a file that names no rank, where nothing else does either.
inline constexpr const char* kTakenForRank0 =
    "the file does not say which rank it is of: it is taken for rank 0";

struct ImportNote {
  NoteWeight weight = NoteWeight::withholds;
  std::string text;

  auto operator<=>(const ImportNote&) const = default;
};

class ImportNotes {
 public:
  /// Counts one more thing left out for `reason`, a text that follows a number: "events without …".
  void count(const std::string& reason, std::int64_t times = 1) {
    // Bounds the list, which a hostile file could make as long as itself.
    if (counts_.size() < kMostReasons || counts_.contains(reason)) {
      counts_[reason] += times;
    } else {
      further_ += times;
    }
  }
  void add(std::string note, NoteWeight weight = NoteWeight::withholds) {
    notes_.push_back({weight, std::move(note)});
  }

  /// Removes a note that turned out not to be so.
  void remove(const std::string& text) {
    std::erase_if(notes_, [&](const ImportNote& note) { return note.text == text; });
  }

  /// Adds the counts of `other`, which is another file's.
  void add_counts(const ImportNotes& other) {
    for (const auto& [reason, times] : other.counts_) count(reason, times);
    further_ += other.further_;
  }

  const std::vector<ImportNote>& notes() const { return notes_; }

  /// Returns "left out: 12 events of …, 3 events without …", the most frequent first; "" if nothing
  /// was counted.
  std::string left_out() const {
    std::vector<std::pair<std::int64_t, std::string>> counts;
    for (const auto& [reason, times] : counts_) counts.emplace_back(-times, reason);
    std::sort(counts.begin(), counts.end());
    std::string text;
    for (const auto& [times, reason] : counts)
      text += (text.empty() ? "" : ", ") + std::to_string(-times) + " " + reason;
    if (further_ > 0) text += (text.empty() ? "" : ", ") + std::to_string(further_) + " others";
    return text.empty() ? text : "left out: " + text;
  }

  /// Returns the notes by weight, and what was left out in one line at the end.
  std::vector<std::string> texts() const {
    std::vector<ImportNote> notes = notes_;
    std::stable_sort(notes.begin(), notes.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.weight < b.weight; });
    std::vector<std::string> texts;
    for (ImportNote& note : notes) texts.push_back(std::move(note.text));
    if (std::string line = left_out(); !line.empty()) texts.push_back(std::move(line));
    return texts;
  }

 private:
  static constexpr std::size_t kMostReasons = 20;

  std::vector<ImportNote> notes_;
  std::map<std::string, std::int64_t> counts_;
  std::int64_t further_ = 0;
};

}  // namespace hocket
