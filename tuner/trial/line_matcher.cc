#include "tuner/trial/line_matcher.h"

// GCC 12 warns inside <regex> when it instruments for a sanitizer (GCC bug 105562).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>
#include <regex>

namespace hocket {
namespace {

struct LimitExceeded {
  const char* of;
};

/// Limits of one search: std::regex itself limits neither its steps nor the stack on which it
/// recurses.
struct Limits {
  std::int64_t steps;
  const char* stack_base;
};

constexpr std::ptrdiff_t kStackLimitBytes = 3 << 20;

/// Iterator over characters that counts every read against the limits.
class CountedPosition {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedPosition() = default;
  CountedPosition(const char* at, Limits* limits) : at_(at), limits_(limits) {}

  reference operator*() const {
    if (--limits_->steps < 0) throw LimitExceeded{"steps"};
    const auto* frame = static_cast<const char*>(__builtin_frame_address(0));
    if (limits_->stack_base - frame > kStackLimitBytes) throw LimitExceeded{"nested calls"};
    return *at_;
  }
  CountedPosition& operator++() {
    ++at_;
    return *this;
  }
  CountedPosition operator++(int) { return {at_++, limits_}; }
  CountedPosition& operator--() {
    --at_;
    return *this;
  }
  CountedPosition operator--(int) { return {at_--, limits_}; }
  bool operator==(const CountedPosition& other) const { return at_ == other.at_; }
  const char* base() const { return at_; }

 private:
  const char* at_ = nullptr;
  Limits* limits_ = nullptr;
};

/// Returns the step limit for `bytes` of text; a plain pattern takes a few steps per byte.
std::int64_t step_limit(std::size_t bytes) {
  return 20'000'000 + 200 * static_cast<std::int64_t>(bytes);
}

}  // namespace

struct LineMatcher::Pattern {
  std::regex regex;
};

LineMatcher::LineMatcher(std::unique_ptr<Pattern> pattern) : pattern_(std::move(pattern)) {}
LineMatcher::LineMatcher(LineMatcher&&) noexcept = default;
LineMatcher::~LineMatcher() = default;

Result<LineMatcher> LineMatcher::make(const std::string& pattern) {
  // The library's parser recurses once per parenthesis.
  if (pattern.size() > kPatternLimitBytes) {
    return failure(ErrorCode::invalid_argument,
                   "the regular expression has " + std::to_string(pattern.size()) +
                       " bytes; at most " + std::to_string(kPatternLimitBytes) + " are allowed");
  }
  auto compiled = std::make_unique<Pattern>();
  try {
    compiled->regex = std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    return failure(ErrorCode::invalid_argument,
                   "\"" + pattern + "\" is not a regular expression: " + error.what());
  }
  if (compiled->regex.mark_count() == 0) {
    return failure(ErrorCode::invalid_argument,
                   "the regular expression \"" + pattern +
                       "\" has no group; put the number into parentheses, as in "
                       "step_ms=([0-9.]+)");
  }
  return LineMatcher(std::move(compiled));
}

Result<std::vector<std::string>> LineMatcher::first_groups(std::string_view text) const {
  std::vector<std::string> found;
  Limits limits{step_limit(text.size()), static_cast<const char*>(__builtin_frame_address(0))};
  std::size_t number = 0;
  try {
    while (!text.empty()) {
      ++number;
      const auto end = std::min(text.find_first_of("\r\n"), text.size());
      const auto line = text.substr(0, std::min(end, kLineLimitBytes));
      using Iterator = std::regex_iterator<CountedPosition>;
      Iterator match({line.data(), &limits}, {line.data() + line.size(), &limits}, pattern_->regex);
      for (; match != Iterator(); ++match) {
        const auto& group = (*match)[1];
        found.emplace_back(group.first.base(), group.second.base());
        if (!group.matched) found.back().clear();
      }
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  } catch (const LimitExceeded& limit) {
    return failure(ErrorCode::invalid_argument,
                   std::string("the regular expression takes too many ") + limit.of +
                       " (gave up in line " + std::to_string(number) +
                       "); write it without nested repetitions");
  } catch (const std::regex_error& error) {
    return failure(ErrorCode::invalid_argument, "the regular expression failed in line " +
                                                    std::to_string(number) + ": " + error.what());
  }
  return found;
}

}  // namespace hocket
