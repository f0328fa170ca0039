// hocket plot: draws what a search learned.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <tuple>

#include "cli/inputs/command_line.h"
#include "cli/inputs/explanation_source.h"
#include "cli/verbs/verb.h"
#include "tuner/explain/svg_plot.h"

namespace hocket {
namespace {

struct PlotOptions {
  ExplanationSource source;
  std::string folder;
  bool json = false;
};

struct Plot {
  std::string name, document;
};

/// `objective` is the text of the objective, and `label` what it is called: the same where it has
/// no name.
PlotLabels labels_of(const Explained& explained, const std::string& objective,
                     const std::string& label, Direction direction, const Unit& unit) {
  const std::string kind = unit == Unit::nanoseconds ? "time" : "value";
  const bool is_max = direction == Direction::maximise;
  const bool has_name = !objective.ends_with(label);
  return {explained.title,
          (has_name ? label : kind + " (" + label + ")") + (is_max ? ", higher is better" : ""),
          [unit](double value) { return value_text(value, unit); }, direction};
}

std::vector<Plot> plots_of(const Explained& explained) {
  const PlotLabels labels = labels_of(explained, explained.objective, explained.label,
                                      explained.direction, explained.unit);
  const auto& [space, trials] = std::tie(explained.space, explained.trials);
  const Explanation& explanation = explained.explanation;
  std::vector<Plot> plots = {{"convergence.svg", convergence_svg(trials, labels)},
                             {"slices.svg", slices_svg(space, trials, explanation, labels)},
                             {"contour.svg", contour_svg(space, trials, explanation, labels)},
                             {"parallel.svg", parallel_svg(space, trials, labels)}};
  if (!explained.others.empty()) {
    const Objective& other = explained.others.front();
    const PlotLabels up =
        labels_of(explained, to_text(other), label_of(other), other.direction, unit_of(other));
    plots.push_back({"front.svg", front_svg(trials, labels, up)});
  }
  return plots;
}

tl::unexpected<Error> cannot_write(const std::filesystem::path& path, const std::string& why) {
  return failure(ErrorCode::unavailable, path.string() + " cannot be written: " + why +
                                             "; name a folder that can be with -o");
}

std::filesystem::path unfinished(const std::filesystem::path& folder, const Plot& plot) {
  return folder / ("." + plot.name + ".unfinished");
}

Result<void> write_unfinished(const std::filesystem::path& folder, const std::vector<Plot>& plots) {
  for (const Plot& plot : plots) {
    const auto path = unfinished(folder, plot);
    std::ofstream file(path, std::ios::binary);
    file << plot.document;
    file.close();
    if (!file) return cannot_write(path, "no file can be made there, or the disk is full");
  }
  return {};
}

Result<void> rename_finished(const std::filesystem::path& folder, const std::vector<Plot>& plots) {
  std::error_code error;
  for (const Plot& plot : plots) {
    // Checks first for the most likely failure, renaming onto a folder, so that none of the files
    // is replaced if one would fail.
    if (std::filesystem::is_directory(folder / plot.name, error)) {
      return cannot_write(folder / plot.name, "it is a folder");
    }
  }
  for (const Plot& plot : plots) {
    std::filesystem::rename(unfinished(folder, plot), folder / plot.name, error);
    if (error) return cannot_write(folder / plot.name, error.message());
  }
  return {};
}

Result<void> write_plots(const std::filesystem::path& folder, const std::vector<Plot>& plots) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return cannot_write(folder, error.message());
  auto written = write_unfinished(folder, plots);
  if (written) written = rename_finished(folder, plots);
  if (!written) {
    for (const Plot& plot : plots) std::filesystem::remove(unfinished(folder, plot), error);
  }
  return written;
}

Result<int> plot_verb(const PlotOptions& options, Context& context) {
  HOCKET_TRY(no_command(context.command, "plot"));
  if (options.folder.empty()) {
    return failure(ErrorCode::invalid_argument, "-o: expected the name of a folder");
  }
  const auto explained = explain_source(options.source, "plot");
  HOCKET_TRY(explained);
  const auto plots = plots_of(*explained);
  const std::filesystem::path folder(options.folder);
  HOCKET_TRY(write_plots(folder, plots));
  if (options.json) {
    auto written = nlohmann::json::array();
    for (const Plot& plot : plots) written.push_back((folder / plot.name).string());
    context.out << json_text({{"written", std::move(written)}}) << '\n';
  } else {
    for (const Plot& plot : plots) context.out << "wrote " << (folder / plot.name).string() << '\n';
  }
  return kDone;
}

}  // namespace

void add_plot(CLI::App& program, Action& action) {
  auto options = std::make_shared<PlotOptions>();
  auto* verb = program.add_subcommand("plot", "draw what a search learned: SVG files");
  add_source(*verb, options->source);
  verb->add_option("-o,--output", options->folder, "the folder to write to; it is made")
      ->required();
  verb->add_flag("--json", options->json, "print what was written as JSON");
  verb->footer(
      "Writes convergence.svg, slices.svg, contour.svg and parallel.svg, which show the first\n"
      "objective, and front.svg, with the second one, where there are several.\n"
      "Examples:\n"
      "  hocket plot gpt2-1 -o plots\n"
      "  hocket plot --table sweep.csv --objective-column iteration_ns -o plots\n");
  verb->callback(
      [options, &action] { action = [options](Context& c) { return plot_verb(*options, c); }; });
}

}  // namespace hocket
