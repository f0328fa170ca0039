// Measures how fast a daemon takes a trace file and serves it, over loopback, beside a copy of the
// file by the operating system.

#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "archive/profiles/transfer/http_trace_transfer.h"
#include "core/base/check.h"
#include "core/base/clock.h"
#include "core/files/scratch_folder.h"
#include "daemon/daemon.h"
#include "store/open.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

template <class T>
T checked(Result<T> result) {
  HOCKET_CHECK(result.has_value(), "benchmarks run where nothing fails");
  return std::move(*result);
}

/// A file of `bytes` bytes and a daemon that serves traces.
class Transfer {
 public:
  explicit Transfer(std::int64_t bytes) {
    std::mt19937_64 random(1);
    std::ofstream out(file(), std::ios::binary);
    for (std::int64_t at = 0; at < bytes; at += 8) {
      const std::uint64_t word = random();
      out.write(reinterpret_cast<const char*>(&word), sizeof word);
    }
    DaemonOptions options;
    options.server.port = 0;
    options.log = Log({.level = LogLevel::error});
    options.traces = {.folder = folder_.path() + "/served", .url = "http://node", .store = "here"};
    daemon_ = checked(Daemon::create(std::move(options), *store_, clock_));
    running_ = std::thread([this] { daemon_->run(); });
  }
  ~Transfer() {
    daemon_->server().stop();
    running_.join();
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  std::string file() const { return folder_.path() + "/trace"; }

  TraceUrl new_url() {
    auto url = checked(transfer_.make_set()).value().of_rank(0);
    url.daemon = address();
    return url;
  }

  HttpTraceTransfer& transfer() { return transfer_; }

 private:
  std::string address() const {
    return "http://127.0.0.1:" + std::to_string(daemon_->server().port());
  }

  const SteadyClock clock_;
  const ScratchFolder folder_ = checked(ScratchFolder::make());
  const std::unique_ptr<Store> store_ = open_store_in_memory();
  std::unique_ptr<Daemon> daemon_;
  std::thread running_;
  HttpTraceTransfer transfer_{[this](const char* name) {
    return std::string_view(name) == "HOCKET_DAEMON" ? std::optional(address()) : std::nullopt;
  }};
};

constexpr std::int64_t kTraceBytes = 64 << 20;

void BM_Send(benchmark::State& state) {
  Transfer transfer(kTraceBytes);
  for (auto _ : state) {
    const auto sent = transfer.transfer().send(transfer.file(), transfer.new_url());
    if (!sent) return state.SkipWithError(sent.error().message.c_str());
  }
  state.SetBytesProcessed(state.iterations() * kTraceBytes);
}
BENCHMARK(BM_Send)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Fetch(benchmark::State& state) {
  Transfer transfer(kTraceBytes);
  const TraceUrl url = transfer.new_url();
  const auto sent = transfer.transfer().send(transfer.file(), url);
  if (!sent) return state.SkipWithError(sent.error().message.c_str());
  for (auto _ : state) {
    const auto trace = transfer.transfer().fetch(url);
    if (!trace) return state.SkipWithError(trace.error().message.c_str());
  }
  state.SetBytesProcessed(state.iterations() * kTraceBytes);
}
BENCHMARK(BM_Fetch)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Copy(benchmark::State& state) {
  Transfer transfer(kTraceBytes);
  for (auto _ : state) {
    fs::copy_file(transfer.file(), transfer.file() + ".copy", fs::copy_options::overwrite_existing);
  }
  state.SetBytesProcessed(state.iterations() * kTraceBytes);
}
BENCHMARK(BM_Copy)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hocket
