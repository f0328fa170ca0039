#pragma once

// The objective of a study, and its evaluation from the results of a trial. Pure; immutable values;
// thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/protocol/direction.h"
#include "core/protocol/job_report.h"
#include "tuner/trial/output/measured_number.h"

namespace hocket {

enum class ObjectiveKind {
  automatic,  ///< "auto": report if the first trial's job writes one, otherwise wall
  wall,       ///< "wall": nanoseconds from start to end of the command
  memory,     ///< "memory": bytes, the peak memory of all processes of the command
              ///< (tuner/trial/process.h)
  report,     ///< "report": median iteration, in nanoseconds, of the report
              ///< (core/protocol/job_report.h)
  regex,      ///< "regex:PATTERN": median of the matches of the pattern's first group in the output
  file,  ///< "file:PATH": median of the numbers, one per line, in a file that the command writes
};

struct Objective {
  ObjectiveKind kind = ObjectiveKind::automatic;
  std::string argument;  ///< the pattern or the path
  Direction direction = Direction::minimise;
  std::string name = {};  ///< what the user calls it; may be empty
  std::string unit = {};  ///< of the numbers of a pattern or file; may be empty

  bool operator==(const Objective&) const = default;
};

/// Parses "[max:|min:][NAME[[UNIT]]=]KIND" with one of the kinds above: "wall",
/// "max:regex:tok/s=([0-9.]+)", "step[ms]=regex:step_ms=([0-9.]+)", "max:speed[tokens/s]=file:n". A
/// name has letters, digits, "_", "-" and "."; times and memory have units of their own and are
/// minimised. A pattern is in RE2's syntax with at least one group, matched line by line.
Result<Objective> parse_objective(std::string_view text);

/// Returns text that parse_objective() reads back.
std::string to_text(const Objective& objective);

/// Begins the name of a metric of a trial that says in which unit its program printed the numbers
/// of a pattern, where the objective names none: "unit ms".
inline constexpr std::string_view kUnitMetricPrefix = "unit ";

/// Returns whether both measure the same, whatever they are called.
bool measures_same(const Objective& a, const Objective& b);

/// Returns what tables and plots call it: "step (ms)" where it has a name, else the text of the
/// kind.
std::string label_of(const Objective& objective);

/// Output, metrics and files of one trial.
struct TrialEvidence {
  std::string stdout_text, stderr_text;
  std::int64_t wall_ns = 0, peak_memory_bytes = 0;
  std::optional<RunReport> report;
  std::optional<std::string> file_text = {};  ///< content of the objective's file, if it exists
  std::string file_problem = {};  ///< why there is none, if something else lies in its place
};

struct ObjectiveMeasurement {
  double value = 0;   ///< median of the samples
  double spread = 0;  ///< half interquartile range of the samples (core/base/statistics.h)
  std::vector<double> samples;
};

/// Returns the measurement after dropping the first `skip` matches of a pattern. Patterns are
/// searched in stdout, and in stderr if stdout holds no match (tuner/trial/output/line_matcher.h);
/// their numbers are read as tuner/trial/output/measured_number.h says, in `unit`, which is that of
/// the first sample if it is not known yet. The error names the missing input, or quotes text that
/// is not a finite number of at least 0. Requires a kind other than automatic.
Result<ObjectiveMeasurement> evaluate_objective(const Objective& objective, std::size_t skip,
                                                const TrialEvidence& evidence,
                                                std::optional<NumberUnit>& unit);
/// The same for an objective whose unit no other trial has shown: the one that it names itself, if
/// programs print in that.
Result<ObjectiveMeasurement> evaluate_objective(const Objective& objective, std::size_t skip,
                                                const TrialEvidence& evidence);

/// Parses a finite number of at least 0 that fills the whole text.
Result<double> parse_sample(std::string_view text);

/// Parses the numbers of an objective's file, one per line; skips blank lines.
Result<std::vector<double>> parse_numbers(std::string_view text);

}  // namespace hocket
