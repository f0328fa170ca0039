// Predicts ByteScheduler's published speeds on the simulator (docs/REPRODUCTIONS.md).
//
//   bin/bytescheduler_paper [--steps DIR] [--json]
//
// Prints the published points and their predictions; how these depend on the reading of the
// baseline and on the credit window; which other overheads would explain the remaining error; both
// models on one bandwidth; and a fixed configuration against a tuned one on links from 1 to 100
// Gb/s.

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/papers/bandwidths.h"
#include "benchmarks/papers/reproduction.h"
#include "benchmarks/papers/variants.h"
#include "core/base/json.h"

namespace hocket {
namespace {

/// Small enough that some bandwidth fits every published baseline.
constexpr std::int64_t kMaxModelBytes = std::int64_t{16} << 30;

struct Results {
  std::vector<std::pair<std::string, std::vector<PredictedPoint>>> predictions;  // by model
  std::vector<Variant> variants;
  std::vector<WindowErrors> windows;
  std::vector<OverheadFit> explanations;
  std::vector<SharedBandwidth> shared;
  std::vector<BandwidthComparison> bandwidths;
};

Result<std::vector<StepLayer>> load_layers(const std::string& path) {
  const auto text = read_file(path);
  if (!text) {
    return failure(text.error().code,
                   text.error().message + "; --steps names the folder of the step descriptions");
  }
  auto step = parse_step_description(*text);
  if (!step) return failure(step.error().in(path));
  std::int64_t bytes = 0, compute_ns = 0;
  for (const StepLayer& layer : step->layers) {
    bytes += layer.parameter_bytes;
    compute_ns += layer.forward_ns + layer.backward_ns;
  }
  if (bytes == 0 || bytes > kMaxModelBytes || compute_ns == 0) {
    return failure(ErrorCode::invalid_argument,
                   path + ": expected layers with computation and with parameters of at most " +
                       std::to_string(kMaxModelBytes) + " bytes in all");
  }
  return std::move(step->layers);
}

std::vector<PredictedPoint> predict_all(const std::vector<StepLayer>& tensors,
                                        const PublishedModel& published) {
  std::vector<PredictedPoint> predictions;
  for (const PublishedPoint& point : published.points) {
    if (auto prediction = predict(tensors, point, {})) {
      predictions.push_back(std::move(*prediction));
    }
  }
  return predictions;
}

Result<Results> compute(const std::string& folder) {
  std::vector<BandwidthModel> models;
  for (const char* name : {"vgg16", "resnet50", "bert-large"}) {
    auto layers = load_layers(folder + "/" + name + ".json");
    HOCKET_TRY(layers);
    models.push_back({name, std::move(*layers)});
  }
  const auto vgg16 = tensors_of(models[0].layers, kVgg16);
  const auto resnet50 = tensors_of(models[1].layers, kResNet50);
  return Results{.predictions = {{"VGG16", predict_all(vgg16, kVgg16)},
                                 {"ResNet50", predict_all(resnet50, kResNet50)}},
                 .variants = vary_baseline(vgg16, resnet50),
                 .windows = vary_window(vgg16, resnet50),
                 .explanations = explain(vgg16, resnet50),
                 .shared = share_bandwidth(vgg16, resnet50),
                 .bandwidths = {compare_bandwidths(models, 16), compare_bandwidths(models, 64)}};
}

std::string sizes(const ScheduleConfig& config) {
  char text[64];
  std::snprintf(text, sizeof(text), "%g/%g", static_cast<double>(config.partition_bytes) / MiB,
                static_cast<double>(config.credit_bytes) / MiB);
  return text;
}

void print_predictions(const Results& results) {
  std::printf(
      "Published and predicted speeds, images/s. Partition/credit of the prediction in MiB.\n"
      "%-9s %5s %9s %10s %10s %10s %9s %7s %15s\n",
      "model", "GPUs", "baseline", "fit GB/s", "scheduled", "predicted", "part/cred", "error",
      "error, default");
  for (const auto& [model, predictions] : results.predictions) {
    for (const PredictedPoint& p : predictions) {
      std::printf("%-9s %5d %9.0f %10.3f %10.0f %10.0f %9s %+6.1f%% %+14.1f%%\n", model.c_str(),
                  p.point.gpus, p.point.baseline_images_per_second, p.bytes_per_second / 1e9,
                  p.point.scheduled_images_per_second, p.images_per_second(),
                  sizes(p.tuned.config).c_str(), 100 * p.error(), 100 * p.default_error());
    }
  }
}

void print_errors(const std::array<double, 3>& vgg16, const std::array<double, 3>& resnet50) {
  for (const double error : vgg16) std::printf(" %+6.1f%%", 100 * error);
  std::printf("   ");
  for (const double error : resnet50) std::printf(" %+6.1f%%", 100 * error);
  std::printf("\n");
}

void print_variants(const Results& results) {
  std::printf("\nErrors by how the baseline is read, on 16, 32, 64 GPUs\n%-35s   %-24s   %-24s\n",
              "baseline", "VGG16", "ResNet50");
  for (const Variant& v : results.variants) {
    std::printf("%-35s", std::string(v.name).c_str());
    print_errors(v.vgg16, v.resnet50);
  }
}

void print_windows(const Results& results) {
  std::printf(
      "\nErrors of parts of 4 MB by credit window, on 16, 32, 64 GPUs\n%9s   %-24s   %-24s\n",
      "credit MB", "VGG16", "ResNet50");
  for (const WindowErrors& w : results.windows) {
    std::printf("%9g  ", static_cast<double>(w.credit_bytes) / 1e6);
    print_errors(w.vgg16, w.resnet50);
  }
}

void print_explanations(const Results& results) {
  const PublishedPoint& fastest = kVgg16.points.front();
  std::printf(
      "\nWhat would explain ResNet50: the value that each of its points asks for, and VGG16 with "
      "their mean.\n"
      "VGG16's computation alone must not exceed its published step on 16 GPUs, %.1f ms.\n"
      "%-30s %-26s %-24s %8s %-24s %s\n",
      fastest.step_ns(fastest.scheduled_images_per_second) / 1e6, "overhead",
      "ResNet50 on 16, 32, 64 GPUs", "error left", "mean", "VGG16's errors", "computation");
  for (const OverheadFit& e : results.explanations) {
    std::printf("%-30s", std::string(e.name).c_str());
    for (const double value : e.fitted) std::printf(" %7.3f", value);
    std::printf(" %-2s  ", std::string(e.unit).c_str());
    for (const double error : e.remaining) std::printf(" %+6.1f%%", 100 * error);
    std::printf(" %11.3f", e.mean);
    for (const PredictedPoint& p : e.vgg16) std::printf(" %+6.1f%%", 100 * p.error());
    std::printf("  %6.1f ms\n", e.vgg16_compute_ns / 1e6);
  }
}

void print_shared(const Results& results) {
  std::printf(
      "\nBoth models on the bandwidth of VGG16's baseline, with the link overhead per tensor that "
      "ResNet50's baseline asks for\n%5s %9s %9s %12s %9s %15s %9s\n",
      "GPUs", "GB/s", "ms", "VGG16 error", "part/cred", "ResNet50 error", "part/cred");
  for (const SharedBandwidth& s : results.shared) {
    std::printf("%5d %9.3f %9.3f %+11.1f%% %9s %+14.1f%% %9s\n", s.gpus,
                s.vgg16.bytes_per_second / 1e9, s.link_ns_per_part / 1e6, 100 * s.vgg16.error(),
                sizes(s.vgg16.tuned.config).c_str(), 100 * s.resnet50.error(),
                sizes(s.resnet50.tuned.config).c_str());
  }
}

void print_bandwidths(const BandwidthComparison& comparison) {
  std::printf(
      "\nAll-reduce over %d ranks, ms an iteration: whole tensors in FIFO order, ByteScheduler's "
      "default for all-reduce,\nthe best single configuration (%s MiB), tuned; and by how much "
      "each is slower than tuned\n"
      "%-10s %6s %9s %9s %9s %9s %9s %9s %8s %8s %8s\n",
      comparison.ranks, sizes(comparison.fixed).c_str(), "model", "Gb/s", "T*", "FIFO", "default",
      "fixed", "tuned", "part/cred", "FIFO", "default", "fixed");
  for (const BandwidthRow& row : comparison.rows) {
    const auto slower = [&](double ns) { return 100 * (ns / row.tuned_ns - 1); };
    std::printf("%-10s %6g %9.1f %9.1f %9.1f %9.1f %9.1f %9s %+7.2f%% %+7.2f%% %+7.2f%%\n",
                row.model.c_str(), row.gbit_per_second, row.bound_ns / 1e6, row.fifo_ns / 1e6,
                row.default_ns / 1e6, row.fixed_ns / 1e6, row.tuned_ns / 1e6,
                sizes(row.tuned).c_str(), slower(row.fifo_ns), slower(row.default_ns),
                slower(row.fixed_ns));
  }
}

nlohmann::json json_of(const PredictedPoint& p) {
  return {{"gpus", p.point.gpus},
          {"baseline_images_per_second", p.point.baseline_images_per_second},
          {"bytes_per_second", p.bytes_per_second},
          {"published_images_per_second", p.point.scheduled_images_per_second},
          {"predicted_images_per_second", p.images_per_second()},
          {"error", p.error()},
          {"default_error", p.default_error()},
          {"config", to_json(p.tuned.config)}};
}

nlohmann::json json_of(const OverheadFit& e) {
  auto vgg16 = nlohmann::json::array();
  for (const PredictedPoint& p : e.vgg16) vgg16.push_back(json_of(p));
  return {{"overhead", e.name},
          {"unit", e.unit},
          {"fitted", e.fitted},
          {"remaining_error", e.remaining},
          {"mean", e.mean},
          {"vgg16", vgg16},
          {"vgg16_compute_ns", e.vgg16_compute_ns}};
}

nlohmann::json json_of(const Variant& v) {
  return {{"baseline", v.name}, {"vgg16_error", v.vgg16}, {"resnet50_error", v.resnet50}};
}

nlohmann::json json_of(const WindowErrors& w) {
  return {
      {"credit_bytes", w.credit_bytes}, {"vgg16_error", w.vgg16}, {"resnet50_error", w.resnet50}};
}

nlohmann::json json_of(const SharedBandwidth& s) {
  return {{"gpus", s.gpus},
          {"link_ns_per_part", s.link_ns_per_part},
          {"vgg16", json_of(s.vgg16)},
          {"resnet50", json_of(s.resnet50)}};
}

nlohmann::json json_of(const BandwidthRow& row) {
  return {{"model", row.model},           {"gbit_per_second", row.gbit_per_second},
          {"bound_ns", row.bound_ns},     {"fifo_ns", row.fifo_ns},
          {"default_ns", row.default_ns}, {"fixed_ns", row.fixed_ns},
          {"tuned_ns", row.tuned_ns},     {"tuned", to_json(row.tuned)}};
}

nlohmann::json json_of(const BandwidthComparison& comparison);

template <class T>
nlohmann::json array_of(const std::vector<T>& values) {
  auto array = nlohmann::json::array();
  for (const T& value : values) array.push_back(json_of(value));
  return array;
}

nlohmann::json json_of(const BandwidthComparison& comparison) {
  return {{"ranks", comparison.ranks},
          {"fixed", to_json(comparison.fixed)},
          {"rows", array_of(comparison.rows)}};
}

nlohmann::json json_of(const Results& results) {
  nlohmann::json predictions;
  for (const auto& [model, of_model] : results.predictions) {
    predictions[model] = array_of(of_model);
  }
  return {{"predictions", predictions},
          {"variants", array_of(results.variants)},
          {"windows", array_of(results.windows)},
          {"explanations", array_of(results.explanations)},
          {"shared_bandwidth", array_of(results.shared)},
          {"bandwidths", array_of(results.bandwidths)}};
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  std::string folder = "examples/steps";
  bool json = false;
  CLI::App app("ByteScheduler's published speeds, predicted on the simulator");
  app.add_option("--steps", folder, "Folder of the step descriptions")->capture_default_str();
  app.add_flag("--json", json, "Print the figures as JSON");
  CLI11_PARSE(app, argc, argv);
  const auto results = hocket::compute(folder);
  if (!results) {
    std::fprintf(stderr, "bytescheduler_paper: %s\n", results.error().message.c_str());
    return 2;
  }
  if (json) {
    std::cout << hocket::json_of(*results).dump(2) << "\n";
    return 0;
  }
  hocket::print_predictions(*results);
  hocket::print_variants(*results);
  hocket::print_windows(*results);
  hocket::print_explanations(*results);
  hocket::print_shared(*results);
  for (const auto& comparison : results->bandwidths) hocket::print_bandwidths(comparison);
  return 0;
}
