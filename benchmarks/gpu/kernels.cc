// Measures what each kernel of a step of GPT-2 achieves beside what the device can do: bytes per
// second against a copy on the device, and operations per second against a large matrix product,
// both measured in the same run. Shapes are those of GPT-2 124M with sequences of 1,024 tokens.
//
//   bin/gpu_kernels                      a table
//   bin/gpu_kernels --json               the same as JSON
//   bin/gpu_kernels --batch 16           another batch; may be repeated (4 and 16)
//   bin/gpu_kernels --only layer_norm    only names that contain this
//
// A kernel's bytes are those that must move, each operand once, however often it reads them. Its
// launches take turns on copies of the operands that together are larger than the device's cache,
// and are one graph, so that the host's launches do not count. Times are medians of rounds, with
// half the distance between the quartiles. Exit status 1 if there is no device.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "benchmarks/gpu/kernel_bench.h"
#include "benchmarks/gpu/step_kernels.h"
#include "core/base/statistics.h"
#include "core/cuda/driver/cuda_driver.h"
#include "core/cuda/products/blas_lt.h"
#include "kernels/cuda/cuda_kernels.h"
#ifdef HOCKET_JOB_CUDNN
#include "kernels/cuda/cudnn/cudnn_attention.h"
#endif

namespace hocket {
namespace {

struct KernelOptions {
  std::vector<int> batches;
  int rounds = 21;
  std::string only;
  bool json = false;
};

struct Measurement {
  std::string name;
  ElementType type = ElementType::float32;
  int batch = 0;  ///< 0: a limit of the device
  double bytes = 0, operations = 0, ns = 0, spread_ns = 0;

  double rate() const { return (operations > 0 ? operations : bytes) / ns * 1e9; }
};

const char* words_of(ElementType type) {
  return type == ElementType::float32 ? "float32" : "bfloat16";
}

TimedKernel device_copy(Bench& bench) {
  const std::size_t bytes = BenchOptions().rotated_bytes;
  return {"copy", {bytes, bytes}, 2.0 * bytes, 0, [&bench, bytes](const Operands& of) {
            return bench.driver().copy(of[0], of[1], bytes, bench.stream());
          }};
}

TimedKernel large_product(Bench& bench, ElementType type) {
  constexpr int kSize = 8192;
  const std::size_t bytes = std::size_t{kSize} * kSize * element_bytes(type);
  return {"product of 8192 x 8192",
          {bytes, bytes, bytes},
          0,
          2.0 * kSize * kSize * kSize,
          [&bench, type](const Operands& of) {
            const auto matrix = [&](void* values) {
              return DeviceMatrix{.values = values, .type = type, .rows = kSize, .columns = kSize};
            };
            return bench.products().multiply(
                {.a = matrix(of[0]), .b = matrix(of[1]), .c = matrix(of[2])}, bench.task());
          }};
}

Measurement measured(Bench& bench, const TimedKernel& kernel, ElementType type, int batch) {
  const std::vector<double> times = bench.times_ns(kernel);
  return {kernel.name, type, batch, kernel.bytes, kernel.operations, median(times), spread(times)};
}

/// Prints one row, or adds it to `rows`; `limit` is what the device can do.
void report(const Measurement& m, const Measurement& limit, bool json, nlohmann::json& rows) {
  const double share = m.rate() / limit.rate();
  const bool computes = m.operations > 0;
  if (json) {
    rows.push_back({{"name", m.name},
                    {"type", words_of(m.type)},
                    {"batch", m.batch},
                    {"ns", m.ns},
                    {"spread_ns", m.spread_ns},
                    {computes ? "flop_per_s" : "bytes_per_s", m.rate()},
                    {"share_of_device", share}});
    return;
  }
  std::printf("%-44s %-8s %5d %10.1f us ± %-6.1f %8.1f %-7s %5.1f %%\n", m.name.c_str(),
              words_of(m.type), m.batch, m.ns / 1e3, m.spread_ns / 1e3,
              m.rate() / (computes ? 1e12 : 1e9), computes ? "TFLOP/s" : "GB/s", 100 * share);
}

void run_kernels(const KernelOptions& options) {
  const auto driver = required(open_cuda_device(0));
  required(driver->use_device());
  const auto products = required(open_blas_lt(*driver));
  Bench bench(*driver, *products, {.rounds = options.rounds});
  std::unique_ptr<FusedAttention> attention;
#ifdef HOCKET_JOB_CUDNN
  if (auto opened = open_cudnn_attention(*driver)) attention = std::move(*opened);
#endif
  KernelTable table;
  add_cuda_kernels(table, {.products = *products, .attention = attention.get()});
  nlohmann::json rows = nlohmann::json::array();
  const Measurement copied = measured(bench, device_copy(bench), ElementType::float32, 0);
  report(copied, copied, options.json, rows);
  for (const ElementType type : {ElementType::bfloat16, ElementType::float32}) {
    const Measurement multiplied = measured(bench, large_product(bench, type), type, 0);
    report(multiplied, multiplied, options.json, rows);
    for (const int batch : options.batches) {
      const NumberType computes =
          type == ElementType::bfloat16 ? NumberType::bfloat16 : NumberType::float32;
      for (const TimedKernel& kernel : step_kernels(bench, table, gpt2_step(batch, computes))) {
        if (kernel.name.find(options.only) == std::string::npos) continue;
        try {
          const Measurement one = measured(bench, kernel, type, batch);
          report(one, one.operations > 0 ? multiplied : copied, options.json, rows);
        } catch (const std::runtime_error& error) {
          // For example an epilogue that the library does not have.
          std::fprintf(stderr, "gpu_kernels: %s: %s\n", kernel.name.c_str(), error.what());
        }
      }
    }
  }
  if (!options.json) return;
  const nlohmann::json document{{"rounds", options.rounds}, {"kernels", rows}};
  std::printf("%s\n", document.dump().c_str());
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  hocket::KernelOptions options;
  CLI::App app("What kernels achieve of what the device can do");
  app.add_option("--batch", options.batches, "Sequences; 4 and 16 by default")
      ->check(CLI::Range(1, 64));
  app.add_option("--rounds", options.rounds, "Measured")
      ->capture_default_str()
      ->check(CLI::Range(3, 10'000));
  app.add_option("--only", options.only, "Names that contain this");
  app.add_flag("--json", options.json, "Print JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (options.batches.empty()) options.batches = {4, 16};
  try {
    hocket::run_kernels(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_kernels: %s\n", error.what());
    return 1;
  }
  return 0;
}
