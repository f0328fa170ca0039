#pragma once

// What a sweep minimises, and how it is read from what a trial left behind. Pure; immutable values;
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/job_report.h"

namespace hocket {

enum class ObjectiveKind {
  automatic,  ///< "auto": report where the first trial's job writes one, else wall
  wall,       ///< "wall": nanoseconds from start to end of the command
  memory,     ///< "memory": bytes, the peak resident memory of the command's largest process
  report,     ///< "report": median iteration, in nanoseconds, of the report
              ///< (core/protocol/job_report.h)
  regex,      ///< "regex:PATTERN": median of what the pattern's first group matches in the output
  file,       ///< "file:PATH": median of the numbers, one a line, in a file that the command writes
};

struct Objective {
  ObjectiveKind kind = ObjectiveKind::automatic;
  std::string argument;  ///< the pattern or the path

  bool operator==(const Objective&) const = default;
};

/// Reads the texts above. A pattern is an ECMAScript regular expression, matched line by line, with
/// at least one group.
Result<Objective> parse_objective(std::string_view text);

/// What parse_objective() reads back.
std::string to_text(const Objective& objective);

/// What a trial left behind.
struct Evidence {
  std::string stdout_text, stderr_text;
  std::int64_t wall_ns = 0, peak_memory_bytes = 0;
  std::optional<RunReport> report;
  std::optional<std::string> file_text;  ///< of the objective's file, when it is there
};

struct Measurement {
  double value = 0;   ///< median of the samples
  double spread = 0;  ///< their half interquartile range (core/base/statistics.h)
  std::vector<double> samples;
};

/// The measurement after dropping the first `skip` matches of a pattern. Patterns are looked for in
/// stdout, and in stderr when stdout holds no match; of each line the first 4,096 bytes count. The
/// error says what was missing, or quotes what is not a finite number of at least 0. Requires a
/// kind other than automatic.
Result<Measurement> evaluate(const Objective& objective, std::size_t skip,
                             const Evidence& evidence);

/// A finite number of at least 0, and nothing else.
Result<double> parse_sample(std::string_view text);

/// The numbers of an objective's file: one a line, blank lines left out.
Result<std::vector<double>> parse_numbers(std::string_view text);

}  // namespace hocket
