#pragma once

// A minimal HTTP server with Asio: reads up to an empty line, looks for two words, and writes a
// constant. It has no parser, no limits and no error handling. A comparison with it shows what
// serving costs beyond moving the bytes. One thread runs it; publish() and stop() may be called by
// any.

#include <cstdint>
#include <memory>
#include <string>

namespace hocket {

class BareServer {
 public:
  BareServer();
  ~BareServer();

  std::uint16_t port() const;
  void run();
  /// Writes `text` to every watcher. Thread-safe, as is stop().
  void publish(std::string text);
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hocket
