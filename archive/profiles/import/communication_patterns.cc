#include "archive/profiles/import/communication_patterns.h"

#include <re2/re2.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/text.h"
#include "core/trace/collective_name.h"

namespace hocket {
namespace {

constexpr std::size_t kMostPatterns = 32, kMostPatternBytes = 1000, kShownBytes = 80;
constexpr std::int64_t kPatternMemoryBytes = 4 << 20;
constexpr std::int64_t kMarkedPerStep = std::int64_t{1} << 20;
constexpr const char* kMarkedGroup = "--communication";

RE2::Options pattern_options() {
  RE2::Options options(RE2::Latin1);  // every byte is a character
  options.set_log_errors(false);
  options.set_max_mem(kPatternMemoryBytes);
  return options;
}

/// Channels of marked records, by the stream that they were on.
class MarkedLanes {
 public:
  explicit MarkedLanes(const RankTrace& trace) {
    for (const TraceRecord& record : trace.records) {
      if (record.kind == TraceKind::communication) next_ = std::max(next_, record.lane);
    }
  }

  std::int32_t of(std::int32_t stream) {
    const auto [at, is_new] = lanes_.try_emplace(stream, next_);
    if (is_new && next_ < std::numeric_limits<std::int32_t>::max()) at->second = ++next_;
    return at->second;
  }

 private:
  std::int32_t next_ = -1;
  std::map<std::int32_t, std::int32_t> lanes_;
};

}  // namespace

struct CommunicationPatterns::Compiled {
  RE2 pattern;
  explicit Compiled(const std::string& text) : pattern(text, pattern_options()) {}
};

CommunicationPatterns::CommunicationPatterns(std::vector<std::unique_ptr<Compiled>> patterns)
    : patterns_(std::move(patterns)) {}
CommunicationPatterns::CommunicationPatterns(CommunicationPatterns&&) noexcept = default;
CommunicationPatterns& CommunicationPatterns::operator=(CommunicationPatterns&&) noexcept = default;
CommunicationPatterns::~CommunicationPatterns() = default;

Result<CommunicationPatterns> CommunicationPatterns::compile(
    const std::vector<std::string>& patterns) {
  if (patterns.size() > kMostPatterns) {
    return failure(ErrorCode::invalid_argument,
                   "--communication: at most " + std::to_string(kMostPatterns) +
                       " patterns, found " + std::to_string(patterns.size()) +
                       "; join them with |");
  }
  std::vector<std::unique_ptr<Compiled>> compiled;
  for (const std::string& text : patterns) {
    const std::string named = "--communication \"" + printable(text, kShownBytes) + "\": ";
    if (text.empty() || text.size() > kMostPatternBytes) {
      return failure(ErrorCode::invalid_argument,
                     named + "expected 1 to " + std::to_string(kMostPatternBytes) +
                         " characters, found " + std::to_string(text.size()));
    }
    auto& made = compiled.emplace_back(std::make_unique<Compiled>(text));
    if (!made->pattern.ok())
      return failure(ErrorCode::invalid_argument, named + made->pattern.error());
    if (RE2::PartialMatch("", made->pattern)) {
      return failure(ErrorCode::invalid_argument,
                     named + "it matches every name; name a part of the kernels' names");
    }
  }
  return CommunicationPatterns(std::move(compiled));
}

std::vector<std::int64_t> CommunicationPatterns::mark(RankTrace& trace) const {
  std::vector<std::int64_t> matched(patterns_.size());
  if (patterns_.empty()) return matched;
  /// Number of the pattern that a name matches, plus 1; 0: none.
  std::vector<std::size_t> pattern_of(trace.names.size());
  for (std::size_t name = 0; name < trace.names.size(); ++name) {
    for (std::size_t i = 0; i < patterns_.size() && pattern_of[name] == 0; ++i)
      if (RE2::PartialMatch(trace.names[name], patterns_[i]->pattern)) pattern_of[name] = i + 1;
  }
  MarkedLanes lanes(trace);
  std::optional<std::int32_t> group;
  std::map<std::int64_t, std::int64_t> places;  // by step
  for (TraceRecord& record : trace.records) {
    if (record.kind != TraceKind::compute || record.name >= pattern_of.size()) continue;
    const std::size_t pattern = pattern_of[record.name];
    if (pattern == 0) continue;
    ++matched[pattern - 1];
    record.kind = TraceKind::communication;
    record.lane = lanes.of(record.lane);
    record.collective = spelled_collective(trace.names[record.name]);
    record.sequence = kNoSequence;
    if (!record.collective) continue;
    if (!group) {
      group = static_cast<std::int32_t>(trace.groups.size());
      trace.groups.push_back({kMarkedGroup, {}});
    }
    record.group = *group;
    const std::int64_t place = places[record.step]++;
    const bool is_numbered =
        record.step >= 0 && place < kMarkedPerStep &&
        record.step < std::numeric_limits<std::int64_t>::max() / kMarkedPerStep;
    if (is_numbered) record.sequence = record.step * kMarkedPerStep + place;
  }
  return matched;
}

}  // namespace hocket
