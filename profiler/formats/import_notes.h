#pragma once

// Counts what an import left out, by reason. Not thread-safe.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hocket {

class ImportNotes {
 public:
  /// Counts one more thing left out for `reason`, a text that follows a number: "events without …".
  void count(const std::string& reason) {
    // Bounds the list, which a hostile file could make as long as itself.
    if (counts_.size() < kMostReasons || counts_.contains(reason)) {
      ++counts_[reason];
    } else {
      ++further_;
    }
  }
  void add(std::string note) { notes_.push_back(std::move(note)); }

  std::vector<std::string> texts() const {
    std::vector<std::string> texts = notes_;
    for (const auto& [reason, count] : counts_) {
      texts.push_back("left out: " + std::to_string(count) + " " + reason);
    }
    if (further_ > 0) texts.push_back("left out: " + std::to_string(further_) + " others");
    return texts;
  }

 private:
  static constexpr std::size_t kMostReasons = 20;

  std::vector<std::string> notes_;
  std::map<std::string, std::int64_t> counts_;
  std::int64_t further_ = 0;
};

}  // namespace hocket
