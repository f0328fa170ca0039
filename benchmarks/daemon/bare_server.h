#pragma once

// The least that answers over HTTP with Asio: reads up to an empty line, looks for two words, and
// writes a constant. No parser, no limits, no errors. What is measured against it is what serving
// costs beyond moving the bytes.

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
  /// Thread-safe, as is stop(). Writes `text` to every watcher.
  void publish(std::string text);
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hocket
