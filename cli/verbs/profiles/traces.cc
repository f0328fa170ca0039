// hocket traces: draws what ran when, as text or as SVG.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "archive/profiles/export_profile.h"
#include "archive/profiles/import/communication_patterns.h"
#include "archive/profiles/load_profile.h"
#include "cli/inputs/access/profile_source.h"
#include "cli/inputs/access/store_access.h"
#include "cli/output/value_text.h"
#include "cli/verbs/verb.h"
#include "cli/views/lane_drawing.h"
#include "cli/views/profile_view.h"
#include "cli/views/step_timeline.h"
#include "core/base/nearest_name.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr int kColumns = 100;
constexpr std::size_t kHostLimitBytes = 60;

struct TracesOptions {
  std::vector<std::string> profiles, titles, communication;
  std::string store, output;
  std::optional<std::int64_t> iteration, rank;
  std::optional<int> width;
  bool calls = false, json = false;
};

/// Returns the requested iteration, or a representative one.
Result<std::int64_t> iteration_of(const TracesOptions& options, Store& store,
                                  const ProfileRow& row) {
  if (options.iteration) return *options.iteration;
  const auto iterations = store.profile_iterations(row.id);
  HOCKET_TRY(iterations);
  const auto step = typical_step(*iterations);
  if (step) return *step;
  return failure(ErrorCode::not_found, "profile " + row.name + " has no whole iteration to draw");
}

Result<int> drawn_columns(const TracesOptions& options, int terminal) {
  if (!options.width) {
    return terminal == 0 ? kColumns : std::clamp(terminal, kLeastColumns, kMostColumns);
  }
  if (*options.width >= kLeastColumns && *options.width <= kMostColumns) return *options.width;
  return failure(ErrorCode::invalid_argument,
                 "--width: expected a number from " + std::to_string(kLeastColumns) + " to " +
                     std::to_string(kMostColumns) + ", found " + std::to_string(*options.width));
}

void draw(std::ostream& out, const LoadedProfile& profile, const LaneDrawingOptions& drawing,
          std::size_t index) {
  const RankTrace& trace = profile.traces[index];
  const TraceWindow& window = profile.windows[index];
  out << "rank " << trace.rank;
  if (!trace.host.empty()) out << " on " << printable(trace.host, kHostLimitBytes);
  LaneDrawingOptions options = drawing;
  options.begin_ns = window.begin_ns;
  options.end_ns = window.end_ns;
  if (options.end_ns <= options.begin_ns) {
    out << ": no such iteration\n";
    return;
  }
  out << ", "
      << value_text(static_cast<double>(options.end_ns - options.begin_ns),
                    ObjectiveUnit::nanoseconds)
      << '\n';
  for (const std::string& line : draw_lanes(trace, options)) {
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

/// One iteration of a profile.
struct DrawnIteration {
  std::int64_t step = 0;
  LoadedProfile profile;
};

Result<DrawnIteration> load_iteration(const TracesOptions& options, Store& store,
                                      const std::string& profile_name,
                                      std::optional<std::int64_t> rank) {
  const auto row = find_profile(store, profile_name);
  HOCKET_TRY(row);
  const auto step = iteration_of(options, store, *row);
  HOCKET_TRY(step);
  const auto patterns = CommunicationPatterns::compile(options.communication);
  HOCKET_TRY(patterns);
  auto profile = load_profile(*row, {.rank = rank, .step = *step});
  HOCKET_TRY(profile);
  for (RankTrace& trace : profile->traces) patterns->mark(trace);
  return DrawnIteration{*step, std::move(*profile)};
}

Result<int> write_timeline(const TracesOptions& options, Store& store, VerbContext& context) {
  if (!options.titles.empty() && options.titles.size() != options.profiles.size()) {
    return failure(ErrorCode::invalid_argument, "--title: expected one for each of the " +
                                                    std::to_string(options.profiles.size()) +
                                                    " profiles, found " +
                                                    std::to_string(options.titles.size()));
  }
  std::vector<DrawnIteration> drawn;
  for (const std::string& name : options.profiles) {
    auto iteration = load_iteration(options, store, name, options.rank.value_or(0));
    HOCKET_TRY(iteration);
    print_notes(context.err, iteration->profile.notes);
    drawn.push_back(std::move(*iteration));
  }
  std::vector<TimelineStep> steps;
  auto written = nlohmann::json::array();
  for (const DrawnIteration& each : drawn) {
    const RankTrace& trace = each.profile.traces.front();
    const TraceWindow& window = each.profile.windows.front();
    const std::string& name = each.profile.row.name;
    if (window.end_ns <= window.begin_ns) {
      return failure(ErrorCode::not_found, "profile " + name + ", rank " +
                                               std::to_string(trace.rank) + ": no iteration " +
                                               std::to_string(each.step));
    }
    steps.push_back({.title = options.titles.empty() ? name : options.titles[steps.size()],
                     .detail = "iteration " + std::to_string(each.step) + " of rank " +
                               std::to_string(trace.rank) + ", " +
                               profile_config_text(each.profile.row.config),
                     .trace = &trace,
                     .begin_ns = window.begin_ns,
                     .end_ns = window.end_ns});
    written.push_back({{"profile", name}, {"iteration", each.step}, {"rank", trace.rank}});
  }
  const std::string document = step_timeline_svg(steps);
  if (options.output == "-") {
    context.out << document;
    return kDone;
  }
  HOCKET_TRY(write_whole_file(options.output, document));
  if (options.json) {
    context.out << json_text({{"file", options.output}, {"drawn", std::move(written)}}) << '\n';
  } else {
    context.out << "wrote " << options.output << '\n';
  }
  return kDone;
}

/// Refuses a name that says that the file is another kind of picture than an SVG.
Result<void> check_picture(const std::string& output) {
  for (const std::string_view other : {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".eps"}) {
    if (!lower_case(output).ends_with(other)) continue;
    return invalid("--output: an SVG is written, and " + output +
                   " is named as something else; name it " +
                   output.substr(0, output.size() - other.size()) +
                   ".svg, which browsers show and `rsvg-convert` makes a PNG or a PDF of");
  }
  return {};
}

Result<int> print_trace(const TracesOptions& options, int columns, Store& store,
                        VerbContext& context) {
  const auto drawn = load_iteration(options, store, options.profiles.front(), options.rank);
  HOCKET_TRY(drawn);
  const auto& [step, profile] = *drawn;
  if (options.json) {
    auto document = to_json(profile);
    document["iteration"] = step;
    context.out << json_text(document) << '\n';
    return kDone;
  }
  context.out << "profile " << profile.row.name << ", iteration " << step << '\n';
  std::string legend;
  for (std::size_t i = 0; i < profile.traces.size(); ++i) {
    draw(context.out, profile, {.columns = columns, .calls = options.calls}, i);
    const auto of_rank = lane_legend(profile.traces[i], options.calls);
    if (of_rank.size() > legend.size()) legend = of_rank;
  }
  if (!legend.empty()) context.out << legend << '\n';
  print_notes(context.err, profile.notes);
  return kDone;
}

Result<int> show_trace(const TracesOptions& options, VerbContext& context) {
  const auto columns = drawn_columns(options, context.err_columns);
  HOCKET_TRY(columns);
  HOCKET_TRY(check_picture(options.output));
  if (options.profiles.size() > 1 && options.output.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "several profiles are drawn as SVG only: name a file with --output, or give one "
                   "PROFILE");
  }
  const auto store = open_profiles(options.store, false);
  HOCKET_TRY(store);
  if (!options.output.empty()) return write_timeline(options, **store, context);
  return print_trace(options, *columns, **store, context);
}

}  // namespace

void add_traces(CLI::App& program, VerbAction& action) {
  auto* traces = program.add_subcommand("traces", "look at what ran when");
  traces->require_subcommand(1);
  auto options = std::make_shared<TracesOptions>();
  auto* verb = traces->add_subcommand("show", "draw an iteration's streams and channels");
  verb->add_option("PROFILE", options->profiles, "its name or number; with --output several")
      ->required();
  verb->add_option("--iteration", options->iteration, "which step (default: a typical one)");
  verb->add_option("--rank", options->rank, "this rank alone");
  verb->add_option("--communication", options->communication,
                   "draw kernels as communication: a regular expression (RE2's syntax) for a part "
                   "of their names; repeat it")
      ->type_name("REGEX")
      ->allow_extra_args(false);
  auto* width =
      verb->add_option("--width", options->width, "columns of a line (default: the terminal's)");
  auto* calls =
      verb->add_flag("--calls", options->calls, "draw the host's calls of the runtime, too");
  auto* output = verb->add_option("-o,--output", options->output,
                                  "write an SVG of one rank (default: rank 0), the profiles on one "
                                  "time scale, to this file; - "
                                  "is standard output")
                     ->type_name("FILE");
  output->excludes(width)->excludes(calls);
  verb->add_option("--title", options->titles,
                   "in the SVG, in place of a profile's name; once for each profile")
      ->allow_extra_args(false)
      ->needs(output);
  add_store_option(*verb, options->store);
  verb->add_flag("--json", options->json, "print the records as JSON");
  verb->footer(
      "All ranks are drawn over the same stretch of time: the lowest one's iteration.\n"
      "Examples:\n  hocket traces show gpt2-3 --iteration 104 --width 120\n"
      "  hocket traces show gpt2-3 gpt2-4 --output step.svg\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return show_trace(*options, c); };
  });
}

}  // namespace hocket
