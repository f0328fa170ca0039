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

/// The name of the first function that is missing; null when none is.
const char* find_all(void* library, CuptiFunctions& f) {
  if (!find(library, "cuptiGetVersion", f.get_version)) return "cuptiGetVersion";
  if (!find(library, "cuptiGetResultString", f.get_result_string)) return "cuptiGetResultString";
  if (!find(library, "cuptiSubscribe_v2", f.subscribe)) return "cuptiSubscribe_v2";
  if (!find(library, "cuptiUnsubscribe", f.unsubscribe)) return "cuptiUnsubscribe";
  if (!find(library, "cuptiEnableDomain", f.enable_domain)) return "cuptiEnableDomain";
  if (!find(library, "cuptiFinalize", f.finalize)) return "cuptiFinalize";
  if (!find(library, "cuptiActivityRegisterCallbacks", f.register_callbacks)) {
    return "cuptiActivityRegisterCallbacks";
  }
  if (!find(library, "cuptiActivitySetAttribute", f.set_attribute)) {
    return "cuptiActivitySetAttribute";
  }
  if (!find(library, "cuptiActivityEnable", f.enable)) return "cuptiActivityEnable";
  if (!find(library, "cuptiActivityDisable", f.disable)) return "cuptiActivityDisable";
  if (!find(library, "cuptiActivityEnableRuntimeApi", f.enable_runtime_call)) {
    return "cuptiActivityEnableRuntimeApi";
  }
  if (!find(library, "cuptiActivityEnableDriverApi", f.enable_driver_call)) {
    return "cuptiActivityEnableDriverApi";
  }
  if (!find(library, "cuptiActivityEnableAllSyncRecords", f.enable_all_sync_records)) {
    return "cuptiActivityEnableAllSyncRecords";
  }
  if (!find(library, "cuptiActivityFlushAll", f.flush_all)) return "cuptiActivityFlushAll";
  if (!find(library, "cuptiActivityGetNumDroppedRecords", f.get_dropped)) {
    return "cuptiActivityGetNumDroppedRecords";
  }
  if (!find(library, "cuptiGetTimestamp", f.get_timestamp)) return "cuptiGetTimestamp";
  if (!find(library, "cuptiActivityPushExternalCorrelationId", f.push)) {
    return "cuptiActivityPushExternalCorrelationId";
  }
  if (!find(library, "cuptiActivityPopExternalCorrelationId", f.pop)) {
    return "cuptiActivityPopExternalCorrelationId";
  }
  if (!find(library, "cuptiActivityGetNextRecord", f.next_record)) {
    return "cuptiActivityGetNextRecord";
  }
  return find(library, "cuptiGetCallbackName", f.get_callback_name) ? nullptr
                                                                    : "cuptiGetCallbackName";
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
  // It asks for no device and needs no initialisation.
  if (!find(driver, "cuDriverGetVersion", get_version) || get_version(&version) != CUDA_SUCCESS) {
    return 0;
  }
  return version;
}

}  // namespace hocket
