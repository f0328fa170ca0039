#include "tests/fault/daemon_process.h"

#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/json.h"

namespace hocket {
namespace {

ChildOptions child_options(const DaemonProcess::Options& options) {
  ChildOptions child = options.child;
  child.argv = {HOCKET_BIN "/hocket",
                "serve",
                "--listen",
                "127.0.0.1:" + std::to_string(options.port),
                "--store",
                options.store};
  child.argv.insert(child.argv.end(), options.arguments.begin(), options.arguments.end());
  child.out_path = options.log + ".url";
  child.err_path = options.log;
  return child;
}

}  // namespace

DaemonProcess::DaemonProcess(Options options) {
  const ChildOptions child = child_options(options);
  std::remove(child.out_path.c_str());
  child_ = std::make_unique<Child>(child);
  std::string line;
  const bool said = eventually([&] {
    line = read_file(child.out_path).value_or("");
    return line.ends_with('\n') || !child_->is_running();
  });
  const auto colon = line.rfind(':');
  if (!said || !line.ends_with('\n') || colon == std::string::npos) return;
  port_ = static_cast<std::uint16_t>(std::stoi(line.substr(colon + 1)));
}

void DaemonProcess::kill() {
  child_->signal(SIGKILL);
  child_->wait(std::chrono::minutes(1));
}

int DaemonProcess::stop() {
  child_->signal(SIGTERM);
  return child_->wait(std::chrono::seconds(30)).value_or(-1);
}

DaemonClient::DaemonClient(std::uint16_t port)
    : http_({.address = {.host = "127.0.0.1", .port = port}}) {}

Result<HttpResponse> DaemonClient::send(const std::string& method, const std::string& target,
                                        const nlohmann::json& body) {
  return http_.send({.method = method, .target = target, .body = body.is_null() ? "" : body.dump()},
                    deadline_after_ns(30'000'000'000));
}

Result<nlohmann::json> DaemonClient::ask(const std::string& method, const std::string& target,
                                         const nlohmann::json& body) {
  const auto response = send(method, target, body);
  HOCKET_TRY(response);
  return read_answer(*response);
}

}  // namespace hocket
