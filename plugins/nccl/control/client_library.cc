#include "plugins/nccl/control/client_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace hocket::nccl {
namespace {

constexpr const char* kLibraryName = "libhocket_client.so.1";

std::string folder_of_plugin() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&folder_of_plugin), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "";
  }
  const std::string path = info.dli_fname;
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const ClientLibrary* load_client_library(const std::function<void(const std::string&)>& say) {
  const char* named = std::getenv("HOCKET_CLIENT_LIBRARY");
  std::vector<std::string> paths;
  if (named != nullptr && *named != '\0') {
    paths.emplace_back(named);
  } else {
    const std::string folder = folder_of_plugin();
    if (!folder.empty()) paths.push_back(folder + kLibraryName);
    paths.emplace_back(kLibraryName);
  }
  void* library = nullptr;
  std::string errors;
  for (const std::string& path : paths) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    const char* error = dlerror();
    errors += (errors.empty() ? "" : "; ") + std::string(error == nullptr ? path : error);
  }
  if (library == nullptr) {
    say("NCCL is left alone, since hocket's client library was not found: " + errors +
        ". Name it in HOCKET_CLIENT_LIBRARY on the host of rank 0");
    return nullptr;
  }
  auto* functions = new ClientLibrary;
  const bool is_whole = find(library, "hocket_error", functions->error) &&
                        find(library, "hocket_client_open", functions->open) &&
                        find(library, "hocket_client_source", functions->source) &&
                        find(library, "hocket_client_detail", functions->detail) &&
                        find(library, "hocket_client_get", functions->get) &&
                        find(library, "hocket_client_is_trying", functions->is_trying) &&
                        find(library, "hocket_client_measured", functions->measured) &&
                        find(library, "hocket_client_save_traces", functions->save_traces) &&
                        find(library, "hocket_ranks_counted", functions->ranks_counted) &&
                        find(library, "hocket_iteration", functions->iteration) &&
                        find(library, "hocket_step_ended", functions->step_ended) &&
                        find(library, "hocket_client_close", functions->close) &&
                        find(library, "hocket_meeting_publish", functions->publish) &&
                        find(library, "hocket_meeting_find", functions->find);
  find(library, "hocket_client_host", functions->host);
  if (is_whole) return functions;
  delete functions;
  say("NCCL is left alone, since hocket's client library is older than this plugin");
  return nullptr;
}

}  // namespace hocket::nccl
