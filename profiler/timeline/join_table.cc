#include "profiler/timeline/join_table.h"

#include <algorithm>
#include <tuple>

namespace hocket {

JoinTable::JoinTable(std::vector<SequencedPart> parts) {
  std::sort(parts.begin(), parts.end(), [](const SequencedPart& a, const SequencedPart& b) {
    return std::tie(a.group, a.sequence, a.trace, a.begin_ns, a.place) <
           std::tie(b.group, b.sequence, b.trace, b.begin_ns, b.place);
  });
  const auto is_same = [](const SequencedPart& a, const SequencedPart& b) {
    return a.group == b.group && a.sequence == b.sequence && a.trace == b.trace;
  };
  parts.erase(std::unique(parts.begin(), parts.end(), is_same), parts.end());
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    while (end < parts.size() && parts[end].group == parts[begin].group &&
           parts[end].sequence == parts[begin].sequence) {
      ++end;
    }
    if (end - begin < 2) continue;
    for (std::size_t i = begin; i < end; ++i) parts_.push_back(parts[i].place);
    first_.push_back(static_cast<std::uint32_t>(parts_.size()));
  }
  parts_.shrink_to_fit();
  first_.shrink_to_fit();
}

}  // namespace hocket
