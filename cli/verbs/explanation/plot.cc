// hocket plot: draws what a search learned.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <utility>

#include "archive/studies/explanation/study_plots.h"
#include "cli/output/value_text.h"
#include "cli/verbs/explanation/explanation_source.h"
#include "cli/verbs/verb.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kContourQuoteBytes = 60;

struct PlotOptions {
  ExplanationSource source;
  std::string folder, contour;
  bool json = false;
};

struct Plot {
  std::string name, document;
};

Result<PlotChoice> plot_choice(const std::string& contour) {
  if (contour.empty()) return PlotChoice{};
  const auto comma = contour.find(',');
  PlotChoice choice{contour.substr(0, comma), ""};
  if (comma != std::string::npos) choice.y = contour.substr(comma + 1);
  if (choice.x.empty() || choice.y.empty()) {
    return invalid("--contour: expected two parameters, X,Y, found \"" +
                   printable(contour, kContourQuoteBytes) + "\"");
  }
  return choice;
}

Result<std::vector<Plot>> plots_of(const StudyExplanation& explained, const PlotChoice& choice) {
  std::vector<Plot> plots;
  for (const std::string& name : study_plots(explained)) {
    auto document = study_plot(explained, name, choice);
    HOCKET_TRY(document);
    plots.push_back({name + ".svg", std::move(*document)});
  }
  return plots;
}

/// Returns why there is no file of a kind that there is of most studies, a note for each; an error
/// for a contour that `contour` asks for.
Result<std::vector<std::string>> lacking(const StudyExplanation& explained,
                                         const std::string& contour) {
  const auto names = study_plots(explained);
  std::vector<std::string> notes;
  for (const std::string name : {"contour", "calibration"}) {
    if (std::ranges::find(names, name) != names.end()) continue;
    Error why = study_plot(explained, name).error();
    if (name == "contour" && !contour.empty()) return failure(why.in("--contour"));
    notes.push_back(std::move(why.message));
  }
  return notes;
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

Result<int> plot_verb(const PlotOptions& options, VerbContext& context) {
  if (options.folder.empty()) {
    return failure(ErrorCode::invalid_argument, "-o: expected the name of a folder");
  }
  const auto choice = plot_choice(options.contour);
  HOCKET_TRY(choice);
  const auto explained = explain_source(options.source, "plot");
  HOCKET_TRY(explained);
  const auto notes = lacking(*explained, options.contour);
  HOCKET_TRY(notes);
  const auto plots = plots_of(*explained, *choice);
  HOCKET_TRY(plots);
  const std::filesystem::path folder(options.folder);
  HOCKET_TRY(write_plots(folder, *plots));
  for (const auto& note : *notes) context.err << "note: " << note << '\n';
  if (options.json) {
    auto written = nlohmann::json::array();
    for (const Plot& plot : *plots) written.push_back((folder / plot.name).string());
    context.out << json_text({{"written", std::move(written)}}) << '\n';
  } else {
    for (const Plot& plot : *plots)
      context.out << "wrote " << (folder / plot.name).string() << '\n';
  }
  return kDone;
}

}  // namespace

void add_plot(CLI::App& program, VerbAction& action) {
  auto options = std::make_shared<PlotOptions>();
  auto* verb = program.add_subcommand("plot", "draw what a search learned: SVG files");
  add_source(*verb, options->source);
  verb->add_option("-o,--output", options->folder, "the folder to write to; it is made")
      ->type_name("FOLDER")
      ->required();
  verb->add_option("--contour", options->contour,
                   "the two parameters of contour.svg, X,Y; the most important ones if not given");
  verb->add_flag("--json", options->json, "print what was written as JSON");
  verb->footer(
      "Writes convergence.svg, slices.svg, contour.svg, parallel.svg, importance.svg and\n"
      "calibration.svg (predicted against measured), which show the first objective, and\n"
      "front.svg, with the second one, where there are several. A contour takes two parameters,\n"
      "the calibration 3 to 60 completed trials; a note says which is not there.\n"
      "Examples:\n"
      "  hocket plot gpt2-1 -o plots\n"
      "  hocket plot gpt2-1 --contour credit_bytes,order -o plots\n"
      "  hocket plot --table sweep.csv --objective-column iteration_ns -o plots\n");
  verb->callback([options, &action] {
    action = [options](VerbContext& c) { return plot_verb(*options, c); };
  });
}

}  // namespace hocket
