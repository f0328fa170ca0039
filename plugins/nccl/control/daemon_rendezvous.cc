#include "plugins/nccl/control/daemon_rendezvous.h"

#include <utility>

namespace hocket::nccl {
namespace {

/// Longer than any text that the daemon takes.
constexpr std::size_t kMostBytes = 4096;

}  // namespace

bool DaemonRendezvous::publish(const std::string& name, const std::string& text) {
  const ClientLibrary* functions = library();
  if (functions == nullptr) return false;
  if (functions->publish(name.c_str(), text.c_str()) == 0) return true;
  say_once(functions->error());
  return false;
}

std::optional<std::string> DaemonRendezvous::find(const std::string& name) {
  const ClientLibrary* functions = library();
  if (functions == nullptr) return std::nullopt;
  char text[kMostBytes];
  if (functions->find(name.c_str(), text, sizeof text) == 0) return text;
  say_once(functions->error());
  return std::nullopt;
}

const ClientLibrary* DaemonRendezvous::library() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(has_tried_, true)) library_ = load_client_library(say_);
  return library_;
}

void DaemonRendezvous::say_once(const std::string& line) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(has_said_, true)) return;
  }
  say_("ranks on other hosts are not reached yet, and nothing is changed until they are: " + line);
}

}  // namespace hocket::nccl
