// Benchmarks a parameter server: bin/server_benchmark [--benchmark_filter=…]
//
// One rank pushes a part, waits for the sum and pulls it, over loopback and in memory. Next to
// each, in the same iteration, the same bytes go through a server of bare Asio, which receives them
// into a buffer, answers 8 bytes, and sends them back when asked to: `of_bare` is how fast the
// parameter server is compared to it, 1 being as fast. GB/s count the part's bytes in both
// directions.

#include <utility>  // must precede Boost 1.74's awaitable.hpp

#include <benchmark/benchmark.h>

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/servers/local_servers.h"
#include "core/servers/parameter_server.h"
#include "core/servers/tcp_servers.h"

namespace hocket {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kHeadBytes = 40, kAnswerBytes = 8;

/// Receives a head and a part, answers, receives a head, and sends an answer and the part.
class BareServer {
 public:
  explicit BareServer(std::size_t bytes) : part_(bytes) {
    asio::co_spawn(context_, serve(), asio::detached);
    serving_ = std::jthread([this] { context_.run(); });
  }
  ~BareServer() { context_.stop(); }

  tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

 private:
  asio::awaitable<void> serve() {
    try {
      tcp::socket socket = co_await acceptor_.async_accept(asio::use_awaitable);
      socket.set_option(tcp::no_delay(true));
      std::array<char, kHeadBytes> head;
      std::array<char, kAnswerBytes> answer = {};
      for (;;) {
        const std::array<asio::mutable_buffer, 2> in = {asio::buffer(head), asio::buffer(part_)};
        co_await asio::async_read(socket, in, asio::use_awaitable);
        co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
        co_await asio::async_read(socket, asio::buffer(head), asio::use_awaitable);
        const std::array<asio::const_buffer, 2> out = {asio::buffer(answer), asio::buffer(part_)};
        co_await asio::async_write(socket, out, asio::use_awaitable);
      }
    } catch (const std::exception&) {
      // The client has left.
    }
  }

  std::vector<char> part_;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
  std::jthread serving_;
};

class BareClient {
 public:
  explicit BareClient(const BareServer& server) {
    socket_.connect(server.endpoint());
    socket_.set_option(tcp::no_delay(true));
  }

  void push_and_pull(std::vector<float>& values) {
    const std::array<asio::const_buffer, 2> out = {asio::buffer(head_), asio::buffer(values)};
    asio::write(socket_, out);
    asio::read(socket_, asio::buffer(answer_));
    asio::write(socket_, asio::buffer(head_));
    const std::array<asio::mutable_buffer, 2> in = {asio::buffer(answer_), asio::buffer(values)};
    asio::read(socket_, in);
  }

 private:
  std::array<char, kHeadBytes> head_ = {};
  std::array<char, kAnswerBytes> answer_ = {};
  asio::io_context context_;
  tcp::socket socket_{context_};
};

void push_and_pull(benchmark::State& state, ParameterServers& servers, std::uint64_t collective,
                   std::vector<float>& values) {
  const ServedPart part{.collective = collective};
  auto ok = servers.push(part, values);
  if (const auto sum = servers.next_sum(0); ok && !sum) ok = failure(sum.error());
  if (ok) ok = servers.pull(part, values);
  if (!ok) state.SkipWithError(ok.error().message.c_str());
}

double seconds_of(const auto& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void compare(benchmark::State& state, ParameterServers& servers) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::vector<float> values(bytes / sizeof(float), 1);
  const BareServer bare_server(bytes);
  BareClient bare(bare_server);
  std::uint64_t collective = 0;
  double served_s = 0, bare_s = 0;
  push_and_pull(state, servers, collective++, values);  // buffers are allocated, once
  bare.push_and_pull(values);
  for (auto unused : state) {
    const double one_s = seconds_of([&] { push_and_pull(state, servers, collective++, values); });
    state.SetIterationTime(one_s);
    served_s += one_s;
    bare_s += seconds_of([&] { bare.push_and_pull(values); });
  }
  const double gigabytes = 2e-9 * static_cast<double>(bytes) * static_cast<double>(collective - 1);
  state.counters["GB/s"] = gigabytes / served_s;
  state.counters["bare_GB/s"] = gigabytes / bare_s;
  state.counters["of_bare"] = bare_s / served_s;
}

void BM_OverTcp(benchmark::State& state) {
  const auto server = ParameterServer::listen({});
  if (!server) return state.SkipWithError(server.error().message.c_str());
  TcpServersOptions options;
  options.addresses = {"127.0.0.1:" + std::to_string((*server)->port())};
  const auto rank = connect_servers(options);
  if (!rank) return state.SkipWithError(rank.error().message.c_str());
  compare(state, **rank);
}

void BM_InMemory(benchmark::State& state) {
  LocalServers servers(1, 1);
  compare(state, *servers.join(0));
}

BENCHMARK(BM_OverTcp)->Arg(64 << 10)->Arg(1 << 20)->Arg(16 << 20)->UseManualTime();
BENCHMARK(BM_InMemory)->Arg(64 << 10)->Arg(1 << 20)->Arg(16 << 20)->UseManualTime();

}  // namespace
}  // namespace hocket
