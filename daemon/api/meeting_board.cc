#include "daemon/api/meeting_board.h"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

constexpr std::size_t kMaxNameBytes = 100;

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

Result<void> MeetingBoard::put(const std::string& owner, const std::string& name, std::string text,
                               std::int64_t now_ns) {
  if (!is_name(name)) {
    return failure(ErrorCode::invalid_argument,
                   "the name of a meeting has 1 to 100 letters, digits, \"-\", \"_\", \".\"");
  }
  if (text.size() > kMaxMeetingBytes) {
    return failure(ErrorCode::invalid_argument,
                   "field \"text\" has more than " + std::to_string(kMaxMeetingBytes) + " bytes");
  }
  const std::lock_guard lock(mutex_);
  forget_old(now_ns);
  Meetings& own = meetings_[owner];
  if (own.size() == kMostMeetings && !own.contains(name)) {
    return failure(ErrorCode::unavailable,
                   "the processes with this token's name have left " +
                       std::to_string(kMostMeetings) + " meetings already; each is kept for " +
                       std::to_string(kMeetingLifeNs / 1'000'000'000) + " seconds");
  }
  own[name] = {std::move(text), now_ns};
  return {};
}

std::optional<std::string> MeetingBoard::find(const std::string& owner, const std::string& name,
                                              std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  forget_old(now_ns);
  const auto own = meetings_.find(owner);
  if (own == meetings_.end()) return std::nullopt;
  const auto found = own->second.find(name);
  if (found == own->second.end()) return std::nullopt;
  return found->second.text;
}

void MeetingBoard::forget_old(std::int64_t now_ns) {
  for (auto& [owner, own] : meetings_) {
    std::erase_if(own,
                  [&](const auto& each) { return now_ns - each.second.put_ns > kMeetingLifeNs; });
  }
  std::erase_if(meetings_, [](const auto& owned) { return owned.second.empty(); });
}

}  // namespace hocket
