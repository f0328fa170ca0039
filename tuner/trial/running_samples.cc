#include "tuner/trial/running_samples.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "core/files/regular_file.h"
#include "tuner/trial/output/output_lines.h"

namespace hocket {
namespace {

constexpr std::int64_t kNumbersLimitBytes = 1 << 20;

}  // namespace

Result<std::string> read_numbers_file(const std::filesystem::path& path) {
  return read_regular_file(path.string(), kNumbersLimitBytes);
}

bool LiveSamples::can_see(const Objective& objective) {
  return objective.kind == ObjectiveKind::report || objective.kind == ObjectiveKind::regex ||
         objective.kind == ObjectiveKind::file;
}

Result<LiveSamples> LiveSamples::make(const Objective& objective, std::size_t skip,
                                      std::filesystem::path file, std::optional<NumberUnit> unit) {
  HOCKET_CHECK(can_see(objective), "samples that can be seen");
  if (objective.kind != ObjectiveKind::regex)
    return LiveSamples(std::nullopt, 0, std::move(file), {});
  auto matcher = LineMatcher::make(objective.argument);
  HOCKET_TRY(matcher);
  if (!unit) unit = number_unit(objective.unit);
  return LiveSamples(std::move(*matcher), skip, {}, std::move(unit));
}

const std::vector<double>& LiveSamples::read(const OutputSoFar& output) {
  if (given_up_) return samples_;
  auto samples = matcher_ ? read_output(output) : read_numbers();
  // A file may be rewritten, but printed output stays, and so does an error in it.
  given_up_ = matcher_ && !samples;
  samples_ = samples ? std::move(*samples) : std::vector<double>();
  return samples_;
}

void LiveSamples::match_new_lines(std::string_view text, Seen& seen) const {
  const auto fresh = text.substr(std::min(seen.bytes, text.size()));
  std::size_t complete = 0;
  OutputLines lines(fresh);
  while (lines.next()) {
    if (lines.is_ended()) complete = lines.consumed();
  }
  auto found = matcher_->matches(fresh.substr(0, complete));
  std::ranges::move(found, std::back_inserter(seen.matches));
  seen.bytes += complete;
}

Result<std::vector<double>> LiveSamples::read_output(const OutputSoFar& output) {
  match_new_lines(output.stdout_text, stdout_);
  // Matches evaluate_objective(): stderr counts while stdout holds no match.
  if (stdout_.matches.empty()) match_new_lines(output.stderr_text, stderr_);
  const auto& matches = stdout_.matches.empty() ? stderr_.matches : stdout_.matches;
  auto unit = unit_;
  return measured_samples(matches, skip_, {}, unit);
}

Result<std::vector<double>> LiveSamples::read_numbers() const {
  const auto text = read_numbers_file(file_);
  if (!text) return std::vector<double>();
  return parse_numbers(std::string_view(*text).substr(0, text->rfind('\n') + 1));
}

}  // namespace hocket
