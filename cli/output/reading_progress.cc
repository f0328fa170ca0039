#include "cli/output/reading_progress.h"

#include <algorithm>
#include <ostream>

#include "cli/output/text_gate.h"
#include "cli/output/value_text.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::int64_t kFirstAfterNs = 1'000'000'000;
constexpr std::int64_t kEveryNs = 200'000'000;

}  // namespace

ReadingLine::ReadingLine(std::ostream& err, int columns, const Clock& clock)
    : err_(err), columns_(columns), clock_(clock), next_ns_(clock.now_ns() + kFirstAfterNs) {}

void ReadingLine::clear() {
  if (line_open_) err_ << TerminalControl::clear_line << std::flush;
  line_open_ = false;
}

void ReadingLine::show(const std::string& name, std::int64_t bytes, std::int64_t of_bytes) {
  if (columns_ == 0) return;
  const std::int64_t now = clock_.now_ns();
  if (now < next_ns_) return;
  next_ns_ = now + kEveryNs;
  const auto size = [](std::int64_t count) {
    return value_text(static_cast<double>(count), ObjectiveUnit::bytes);
  };
  std::string line = "reading ";
  if (of_bytes > 0) {
    const double share = static_cast<double>(bytes) / static_cast<double>(of_bytes);
    line += percent_text(std::min(share, 1.0)) + " of " + size(of_bytes);
  } else {
    line += size(bytes);
  }
  // Leaves one column free, because a full line would wrap.
  const auto room = static_cast<std::size_t>(std::max(columns_ - 1, 1));
  err_ << TerminalControl::clear_line << printable(line + "  " + name, room) << std::flush;
  line_open_ = true;
}

}  // namespace hocket
