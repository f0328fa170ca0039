#include "profiler/cupti/cupti_functions.h"

#include <dlfcn.h>

namespace hocket {
namespace {

std::string loader_message() {
  const char* const message = dlerror();
  return message == nullptr ? "it cannot be loaded" : message;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// Returns the name of the first missing function; null if all are found.
const char* find_all(void* library, CuptiFunctions& f) {
  const char* missing = nullptr;
  const auto look_for = [&](const char* name, auto& function) {
    if (!find(library, name, function) && missing == nullptr) missing = name;
  };
  look_for("cuptiGetVersion", f.get_version);
  look_for("cuptiGetResultString", f.get_result_string);
  look_for("cuptiSubscribe_v2", f.subscribe);
  look_for("cuptiUnsubscribe", f.unsubscribe);
  look_for("cuptiEnableDomain", f.enable_domain);
  look_for("cuptiFinalize", f.finalize);
  look_for("cuptiActivityRegisterCallbacks", f.register_callbacks);
  look_for("cuptiActivitySetAttribute", f.set_attribute);
  look_for("cuptiActivityEnable", f.enable);
  look_for("cuptiActivityDisable", f.disable);
  look_for("cuptiActivityEnableRuntimeApi", f.enable_runtime_call);
  look_for("cuptiActivityEnableDriverApi", f.enable_driver_call);
  look_for("cuptiActivityEnableAllSyncRecords", f.enable_all_sync_records);
  look_for("cuptiActivityFlushAll", f.flush_all);
  look_for("cuptiActivityGetNumDroppedRecords", f.get_dropped);
  look_for("cuptiGetTimestamp", f.get_timestamp);
  look_for("cuptiActivityPushExternalCorrelationId", f.push);
  look_for("cuptiActivityPopExternalCorrelationId", f.pop);
  look_for("cuptiActivityGetNextRecord", f.next_record);
  look_for("cuptiGetCallbackName", f.get_callback_name);
  return missing;
}

}  // namespace

Result<CuptiFunctions> load_cupti_functions(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return failure(ErrorCode::not_found, loader_message());
  CuptiFunctions functions;
  const char* const missing = find_all(handle, functions);
  if (missing == nullptr) return functions;
  dlclose(handle);
  return failure(ErrorCode::not_found, library + " has no function " + missing);
}

std::string library_path(const CuptiFunctions& functions) {
  Dl_info info{};
  const auto* const address = reinterpret_cast<const void*>(functions.get_version);
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

int installed_driver_version() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return 0;
  decltype(&cuDriverGetVersion) get_version = nullptr;
  int version = 0;
  // The call uses no device and needs no initialisation.
  if (!find(driver, "cuDriverGetVersion", get_version) || get_version(&version) != CUDA_SUCCESS) {
    return 0;
  }
  return version;
}

}  // namespace hocket
