#include "core/graph/graph_diff.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/graph/graph_text.h"

namespace hocket {
namespace {

/// Most edits that are sought between two stretches.
constexpr std::ptrdiff_t kMostEdits = 4000;
constexpr std::ptrdiff_t kNone = -1;

/// A line of a graph: an operation or an output.
struct Entry {
  std::string text, key;
  std::vector<ValueId> operands = {};
  ValueId first_result = {};
  std::size_t results = 0;
};

/// Returns a line without the names of values: they follow "%".
std::string key_of(std::string_view line) {
  std::string key;
  for (std::size_t i = 0; i < line.size(); ++i) {
    key += line[i];
    if (line[i] != '%') continue;
    while (i + 1 < line.size() && line[i + 1] >= '0' && line[i + 1] <= '9') ++i;
  }
  return key;
}

std::vector<Entry> entries_of(const Graph& graph) {
  std::vector<Entry> entries;
  for (const Operation& operation : graph.operations()) {
    const std::string text = to_text(graph, operation);
    entries.push_back(
        {text, key_of(text), operation.operands, operation.first_result, graph.results(operation)});
  }
  for (const GraphOutput& output : graph.outputs()) {
    const std::string text = "output \"" + output.name + "\" = ";
    entries.push_back({text + "%" + std::to_string(output.value.index), text, {output.value}});
  }
  return entries;
}

using Keys = std::span<const std::uint32_t>;

/// The matches of a longest common subsequence of two sequences.
class Matcher {
 public:
  Matcher(Keys before, Keys after) : before_(before), after_(after) {}

  /// Returns for each number before the index of its match after.
  std::vector<std::optional<std::size_t>> matches() {
    matches_.resize(before_.size());
    match({0, before_.size(), 0, after_.size()});
    return std::move(matches_);
  }

 private:
  /// The stretches [begin, end) before, and after.
  struct Box {
    std::size_t begin = 0, end = 0, after_begin = 0, after_end = 0;
  };

  void match(Box box) {
    while (box.begin < box.end && box.after_begin < box.after_end &&
           before_[box.begin] == after_[box.after_begin])
      matches_[box.begin++] = box.after_begin++;
    while (box.begin < box.end && box.after_begin < box.after_end &&
           before_[box.end - 1] == after_[box.after_end - 1])
      matches_[--box.end] = --box.after_end;
    if (box.begin == box.end || box.after_begin == box.after_end) return;
    const auto middle = middle_of(box);
    if (!middle) return;
    match({box.begin, middle->first, box.after_begin, middle->second});
    match({middle->first, box.end, middle->second, box.after_end});
  }

  /// Returns a point on a shortest path of edits through the box (Myers, section 4b): paths from
  /// both ends grow until two meet.
  std::optional<std::pair<std::size_t, std::size_t>> middle_of(const Box& box) {
    const auto n = static_cast<std::ptrdiff_t>(box.end - box.begin);
    const auto m = static_cast<std::ptrdiff_t>(box.after_end - box.after_begin);
    const std::ptrdiff_t delta = n - m, most = std::min((n + m + 1) / 2, kMostEdits);
    // By diagonal, from −most to most: the furthest point that the edits so far reach.
    forward_.assign(static_cast<std::size_t>(2 * most + 1), kNone);
    backward_ = forward_;
    const auto at = [&](std::vector<std::ptrdiff_t>& row, std::ptrdiff_t k) -> std::ptrdiff_t& {
      return row[static_cast<std::size_t>(k + most)];
    };
    const auto same = [&](std::ptrdiff_t x, std::ptrdiff_t y, bool is_forward) {
      const auto i = static_cast<std::size_t>(is_forward ? x : n - 1 - x);
      const auto j = static_cast<std::size_t>(is_forward ? y : m - 1 - y);
      return before_[box.begin + i] == after_[box.after_begin + j];
    };
    for (std::ptrdiff_t d = 0; d <= most; ++d) {
      for (const bool is_forward : {true, false}) {
        auto& row = is_forward ? forward_ : backward_;
        auto& other = is_forward ? backward_ : forward_;
        for (std::ptrdiff_t k = -d; k <= d; k += 2) {
          const std::ptrdiff_t down = k < d ? at(row, k + 1) : kNone;
          const std::ptrdiff_t right =
              k > -d && at(row, k - 1) != kNone ? at(row, k - 1) + 1 : kNone;
          std::ptrdiff_t x = d == 0 ? 0 : std::max(down, right);
          if (x == kNone || x > n || x - k > m) {
            at(row, k) = kNone;
            continue;
          }
          while (x < n && x - k < m && same(x, x - k, is_forward)) ++x;
          at(row, k) = x;
          const std::ptrdiff_t met = delta - k;
          const bool can_meet = (delta % 2 != 0) == is_forward && std::abs(met) <= d;
          if (!can_meet || at(other, met) == kNone || x + at(other, met) < n) continue;
          return std::pair(
              box.begin + static_cast<std::size_t>(is_forward ? x : n - x),
              box.after_begin + static_cast<std::size_t>(is_forward ? x - k : m - x + k));
        }
      }
    }
    return {};
  }

  const Keys before_, after_;
  std::vector<std::optional<std::size_t>> matches_;
  std::vector<std::ptrdiff_t> forward_, backward_;
};

}  // namespace

std::vector<GraphLine> graph_diff(const Graph& before, const Graph& after) {
  const std::vector<Entry> old = entries_of(before), fresh = entries_of(after);
  std::map<std::string_view, std::uint32_t> numbers;
  const auto numbered = [&](const std::vector<Entry>& entries) {
    std::vector<std::uint32_t> all;
    for (const Entry& entry : entries)
      all.push_back(
          numbers.emplace(entry.key, static_cast<std::uint32_t>(numbers.size())).first->second);
    return all;
  };
  const auto old_numbers = numbered(old), fresh_numbers = numbered(fresh);
  const auto matches = Matcher(old_numbers, fresh_numbers).matches();

  std::vector<std::optional<ValueId>> same(before.values());
  std::vector<GraphLine> lines;
  std::size_t next = 0;
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (!matches[i]) {
      lines.push_back({GraphLineSide::before, old[i].text});
      continue;
    }
    const Entry& match = fresh[*matches[i]];
    for (; next < *matches[i]; ++next) lines.push_back({GraphLineSide::after, fresh[next].text});
    ++next;
    for (std::uint32_t result = 0; result < old[i].results; ++result)
      same[old[i].first_result.index + result] = ValueId{match.first_result.index + result};
    const bool is_same = std::ranges::equal(
        old[i].operands, match.operands,
        [&](ValueId mine, ValueId theirs) { return same[mine.index] == theirs; });
    if (is_same) continue;
    lines.push_back({GraphLineSide::before, old[i].text});
    lines.push_back({GraphLineSide::after, match.text});
  }
  for (; next < fresh.size(); ++next) lines.push_back({GraphLineSide::after, fresh[next].text});
  return lines;
}

}  // namespace hocket
