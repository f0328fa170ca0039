// Plots the iteration times of jobs and the changes that live tuning made meanwhile, as an SVG.
//
//   live_plot --title TITLE --out FILE.svg --job NAME=PREFIX … [--mark ITERATION=TEXT] [--json]
//
// Reads PREFIX.ns (HOCKET_ITERATIONS: nanoseconds, one per line) and, if it exists, PREFIX.txt, the
// job's output ("step 41: kept, …"). Prints the total time and the last iterations of each job.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/measured_table.h"
#include "core/base/statistics.h"
#include "tuner/explain/svg.h"

namespace hocket {
namespace {

constexpr double kWidth = 960, kHeight = 420, kLeft = 64, kRight = 20, kTop = 44, kBottom = 48;
constexpr const char* kColours[] = {"#888888", "#2a9d8f", "#c1440e", "#4059ad"};

struct Change {
  double step = 0;
  std::string text;
};

struct Job {
  std::string name;
  std::vector<double> iteration_ms;
  std::vector<Change> changes;  ///< changes that were kept
};

std::pair<std::string, std::string> split(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) throw CLI::ValidationError("expected NAME=VALUE: " + text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

Job read_job(const std::string& option) {
  const auto [name, prefix] = split(option);
  Job job{name, {}, {}};
  std::ifstream times(prefix + ".ns");
  for (double ns = 0; times >> ns;) job.iteration_ms.push_back(ns / 1e6);
  if (job.iteration_ms.empty()) throw CLI::ValidationError(prefix + ".ns holds no iterations");
  std::ifstream said(prefix + ".txt");
  for (std::string line; std::getline(said, line);) {
    double step = 0;
    int end = 0;
    if (std::sscanf(line.c_str(), "step %lf: kept%n", &step, &end) == 1 && end > 0) {
      job.changes.push_back({step, line.substr(line.find("kept"))});
    }
  }
  return job;
}

/// Returns running medians of 5, since single outliers would hide the trend.
std::vector<double> smoothed(const std::vector<double>& values) {
  std::vector<double> result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < 2 ? 0 : i - 2, to = std::min(values.size(), i + 3);
    result.push_back(median({values.begin() + static_cast<std::ptrdiff_t>(from),
                             values.begin() + static_cast<std::ptrdiff_t>(to)}));
  }
  return result;
}

std::vector<double> last_of(const std::vector<double>& all) {
  constexpr std::size_t kLast = 60;
  return {all.end() - static_cast<std::ptrdiff_t>(std::min(kLast, all.size())), all.end()};
}

void print_json(const std::vector<Job>& jobs) {
  MeasuredTable table("live-tuning", {"job"});
  for (const Job& job : jobs) {
    const auto& all = job.iteration_ms;
    table.add_count({job.name}, "iterations", all.size());
    table.add({job.name}, "all, s", {mean(all) * static_cast<double>(all.size()) / 1e3});
    table.add({job.name}, "the last 60, ms", last_of(all));
  }
  table.print();
}

void print(const Job& job) {
  const auto& all = job.iteration_ms;
  const std::vector<double> last = last_of(all);
  std::printf("%-14s %4zu iterations, total %.1f s; the last %zu: %.1f ms ± %.1f\n",
              job.name.c_str(), all.size(), mean(all) * static_cast<double>(all.size()) / 1e3,
              last.size(), median(last), spread(last));
}

std::string draw(const std::string& title, const std::vector<Job>& jobs,
                 const std::optional<Change>& mark) {
  double longest = 0, highest = 0, lowest = 1e300;
  for (const Job& job : jobs) {
    const auto shown = smoothed(job.iteration_ms);
    longest = std::max(longest, static_cast<double>(shown.size()));
    highest = std::max(highest, quantile(shown, 0.995));
    lowest = std::min(lowest, *std::ranges::min_element(shown));
  }
  const double low = 0.9 * lowest, high = highest + 0.08 * (highest - low);
  const auto x = [&](double step) { return kLeft + step / longest * (kWidth - kLeft - kRight); };
  const auto y = [&](double ms) {
    const double share = std::clamp((ms - low) / (high - low), 0.0, 1.0);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  };
  Svg svg(kWidth, kHeight, title);
  svg.text({kLeft, 20}, title, SvgAnchor::start, 14);
  for (int i = 0; i <= 4; ++i) {
    const double ms = low + i * (high - low) / 4, step = i * longest / 4;
    char text[32];
    svg.line({kLeft, y(ms)}, {kWidth - kRight, y(ms)}, "#dddddd");
    std::snprintf(text, sizeof text, "%.0f", ms);
    svg.text({kLeft - 6, y(ms) + 4}, text, SvgAnchor::end);
    std::snprintf(text, sizeof text, "%.0f", step);
    svg.text({x(step), kHeight - kBottom + 18}, text, SvgAnchor::middle);
  }
  svg.text({(kLeft + kWidth) / 2, kHeight - 12}, "iteration", SvgAnchor::middle);
  svg.text_upwards({16, kHeight / 2}, "iteration time in ms (median of 5)");
  if (mark) {
    svg.line({x(mark->step), kTop}, {x(mark->step), kHeight - kBottom}, "#555555", 2);
    svg.text({x(mark->step) + 6, kTop + 12}, mark->text);
  }
  double legend = kLeft + 360;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::vector<SvgPoint> points;
    const auto shown = smoothed(jobs[i].iteration_ms);
    for (std::size_t step = 0; step < shown.size(); ++step) {
      points.push_back({x(static_cast<double>(step)), y(shown[step])});
    }
    svg.polyline(points, colour, 1.5, 0.9);
    for (const Change& change : jobs[i].changes) {
      const auto step = std::min(static_cast<std::size_t>(change.step), shown.size() - 1);
      svg.circle({x(change.step), y(shown[step])}, 4, colour, change.text);
    }
    svg.line({legend, 16}, {legend + 24, 16}, colour, 3);
    svg.text({legend + 30, 20}, jobs[i].name);
    legend += 150;
  }
  return svg.finish();
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  std::string title, out, mark;
  std::vector<std::string> jobs;
  bool json = false;
  CLI::App app("Draws what the iterations of jobs took");
  app.add_option("--title", title)->required();
  app.add_option("--out", out)->required();
  app.add_option("--job", jobs, "NAME=PREFIX")->required();
  app.add_option("--mark", mark, "ITERATION=TEXT");
  app.add_flag("--json", json, "Print measurements for benchmarks/table");
  try {
    app.parse(argc, argv);
    std::vector<hocket::Job> read;
    for (const auto& job : jobs) read.push_back(hocket::read_job(job));
    std::optional<hocket::Change> marked;
    if (!mark.empty()) {
      const auto [step, text] = hocket::split(mark);
      marked = hocket::Change{std::stod(step), text};
    }
    if (json) hocket::print_json(read);
    for (const auto& job : read) {
      if (!json) hocket::print(job);
    }
    std::ofstream file(out);
    file << hocket::draw(title, read, marked);
    if (!file.flush()) throw CLI::ValidationError("cannot write " + out);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return 0;
}
