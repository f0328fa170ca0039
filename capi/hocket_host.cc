#include <nlohmann/json.hpp>
#include <string>

#include "capi/call_guard.h"
#include "capi/hocket_client.h"
#include "capi/hocket_client_options.h"
#include "core/hardware/host_hardware.h"

namespace hocket {
namespace {

Result<const char*> host_hardware() {
  static thread_local std::string text;
  nlohmann::json document = to_json(read_hardware(kernel_files()));
  // The members of a topology that say something of the job.
  for (const char* name : {"library_versions", "link", "world_size"}) document.erase(name);
  text = text_of(document);
  return text.c_str();
}

}  // namespace
}  // namespace hocket

const char* hocket_client_host(void) {
  return hocket::guarded<const char*>(nullptr, [] { return hocket::host_hardware(); });
}
