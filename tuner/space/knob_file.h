#pragma once

// A file of knobs: the settings of one tool that may be searched, with their values, their
// defaults, the versions that have them and the source of each (docs/formats/knobs.md). hocket has
// one for each of some tools (tuner/space/built_in_knobs.h); users add their own. Pure functions;
// thread-safe.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "tuner/space/parameter.h"

namespace hocket {

class JsonReader;

/// Way in which a knob reaches the tool.
enum class KnobWay {
  variable,  ///< an environment variable of the knob's name
  flag,      ///< a word `--NAME=VALUE` in a variable that holds many, behind those of the user
  argument,  ///< an option of the command
  field,     ///< a field of a JSON document that the command names
};

/// Place where a knob is set. A study keeps that of each of its knobs.
struct KnobPlace {
  KnobWay way = KnobWay::variable;
  /// The tool's own name: NCCL_ALGO, xla_gpu_enable_pipelined_all_reduce, --ddp-bucket-size,
  /// zero_optimization.overlap_comm.
  std::string name;
  std::string variable = {};              ///< that holds flags
  std::vector<std::string> options = {};  ///< of the command that name the document with fields

  bool operator==(const KnobPlace&) const = default;
};

/// By the names of parameters.
using KnobPlaces = std::map<std::string, KnobPlace>;

struct ToolKnob {
  Parameter parameter;
  KnobPlace place;
  std::string set;
  std::string since, until;  ///< the first and the last version that have it; empty: any
  /// Options without one of which in the command it cannot work; empty: it needs none.
  std::vector<std::string> needs;
  std::string about, source;

  bool operator==(const ToolKnob&) const = default;
};

struct KnobFile {
  std::string tool, about;
  /// A tool that refuses what it does not know fails where it is given a knob of another version.
  bool refuses_unknown = false;
  std::string objective = {};  ///< what a study of its knobs minimises by default; empty: `auto`
  std::vector<ToolKnob> knobs;
  std::vector<std::string> constraints = {};

  bool operator==(const KnobFile&) const = default;
};

/// Most bytes of a file of knobs.
inline constexpr std::int64_t kMaxKnobFileBytes = 1 << 20;

/// Reads and checks a file of knobs; `origin` names it in errors. Refuses unknown members, values
/// that could be options, paths or code, contradictions, and variables by which programs find
/// others (core/base/system_variables.h) or which are hocket's own.
Result<KnobFile> read_knob_file(std::string_view text, const std::string& origin);

/// A choice of knobs as a command line names it: "nccl", "nccl:channels", "nccl@2.19",
/// "./mine.json:net@2.19".
struct KnobSelection {
  std::string source;  ///< the name of a tool, or the path of a file
  bool is_path = false;
  std::string set = {}, version = {};  ///< empty: all
};
Result<KnobSelection> parse_knob_selection(const std::string& text);

/// Returns the file with the knobs of the selected set and version alone, and the constraints that
/// name no others. Without a version, all knobs are taken of a tool that ignores what it does not
/// know, and of any other those that its newest version has. invalid_argument where nothing is
/// left.
Result<KnobFile> selected_knobs(KnobFile file, const KnobSelection& selection);

/// Returns the names of the sets, in the order of the file.
std::vector<std::string> sets_of(const KnobFile& file);

/// Returns whether `version` is from `since` to `until`, of which an empty one is no bound: numbers
/// joined by dots, compared as such. A bound "0.15" includes 0.15.3.
bool is_within_versions(std::string_view version, std::string_view since, std::string_view until);

/// Makes the choice "unset" the parameter's default, beside what it may be now. Ranges have no such
/// choice and become the levels of a logarithmic or even division.
void leave_open(Parameter& parameter);

/// `[{"parameter":"xla.xla_gpu_x","way":"flag","name":"xla_gpu_x","variable":"XLA_FLAGS"},…]`
nlohmann::json to_json(const KnobPlaces& places);
/// Reads that form, and checks it as read_knob_file() does.
void read_knob_places(JsonReader& reader, std::string_view name, KnobPlaces& places);

/// Returns "variable", "flag", …
std::string_view to_string(KnobWay way);

}  // namespace hocket
