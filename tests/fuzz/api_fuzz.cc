// The daemon answers any request, "METHOD TARGET" on the first line and the body after it; an error
// answer is JSON with a message. The daemon keeps its state from one input to the next.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/check.h"
#include "daemon/api/daemon_state.h"
#include "tests/set_clock.h"

namespace {

struct Fuzzed {
  hocket::SetClock clock;
  std::unique_ptr<hocket::Store> store = hocket::open_store_in_memory();
  hocket::DaemonState state{*store, clock};
};

void check(const hocket::ServiceResponse& response) {
  if (response.status < 400) return;
  const auto document = nlohmann::json::parse(*response.body, nullptr, false);
  HOCKET_CHECK(document.contains("error") && document["error"].contains("message"),
               "an error has no message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Restarts the daemon now and then, since the store's growth would slow down later inputs.
  static std::unique_ptr<Fuzzed> daemon;
  static int inputs = 0;
  if (inputs++ % 500 == 0) daemon = std::make_unique<Fuzzed>();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto line = text.substr(0, text.find('\n'));
  const auto blank = line.find(' ');
  hocket::ServiceRequest request{.method = std::string(line.substr(0, blank)), .target = "/"};
  if (blank != line.npos) request.target = line.substr(blank + 1);
  if (line.size() < text.size()) request.body = text.substr(line.size() + 1);
  const auto reply = daemon->state.api.handle(request, true);
  if (const auto* response = std::get_if<hocket::ServiceResponse>(&reply)) check(*response);
  daemon->state.live.run_pending();
  return 0;
}
