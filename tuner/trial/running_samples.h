#pragma once

// Reads the samples of an objective while its command still runs. Reads files; one thread at a
// time.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "tuner/trial/objective.h"
#include "tuner/trial/output/line_matcher.h"
#include "tuner/trial/process.h"

namespace hocket {

/// Returns the text of a file of numbers. Errors as read_regular_file() (core/files).
Result<std::string> read_numbers_file(const std::filesystem::path& path);

class LiveSamples {
 public:
  /// Returns whether the objective has samples before the command has ended.
  static bool can_see(const Objective& objective);

  /// `file` is the file to which numbers are written line by line: the objective's own file, or the
  /// file to which a hocket job writes its iterations; unused for a pattern. Requires
  /// can_see(objective). `unit` is that of earlier trials.
  static Result<LiveSamples> make(const Objective& objective, std::size_t skip,
                                  std::filesystem::path file, std::optional<NumberUnit> unit = {});

  /// Returns all samples so far, from complete lines. Returns none if the content cannot be parsed
  /// as samples: evaluate_objective() reports the error after the command has ended.
  const std::vector<double>& read(const OutputSoFar& output);

 private:
  /// Progress in one stream that is searched for the pattern, each line once.
  struct Seen {
    std::size_t bytes = 0;
    std::vector<LineMatch> matches = {};
  };

  LiveSamples(std::optional<LineMatcher> matcher, std::size_t skip, std::filesystem::path file,
              std::optional<NumberUnit> unit)
      : matcher_(std::move(matcher)), skip_(skip), file_(std::move(file)), unit_(std::move(unit)) {}

  void match_new_lines(std::string_view text, Seen& seen) const;
  Result<std::vector<double>> read_output(const OutputSoFar& output);
  Result<std::vector<double>> read_numbers() const;

  std::optional<LineMatcher> matcher_;
  std::size_t skip_;
  std::filesystem::path file_;
  std::optional<NumberUnit> unit_;
  Seen stdout_ = {}, stderr_ = {};
  bool given_up_ = false;
  std::vector<double> samples_ = {};
};

}  // namespace hocket
