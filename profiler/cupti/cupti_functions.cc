#include "profiler/cupti/cupti_functions.h"

#include "core/cuda/libraries/shared_library.h"

namespace hocket {
namespace {

void find_cupti_functions(FunctionLookup& library, CuptiFunctions& f) {
  library.find("cuptiGetVersion", f.get_version);
  library.find("cuptiGetResultString", f.get_result_string);
  library.find("cuptiSubscribe_v2", f.subscribe);
  library.find("cuptiUnsubscribe", f.unsubscribe);
  library.find("cuptiEnableDomain", f.enable_domain);
  library.find("cuptiFinalize", f.finalize);
  library.find("cuptiActivityRegisterCallbacks", f.register_callbacks);
  library.find("cuptiActivitySetAttribute", f.set_attribute);
  library.find("cuptiActivityEnable", f.enable);
  library.find("cuptiActivityDisable", f.disable);
  library.find("cuptiActivityEnableRuntimeApi", f.enable_runtime_call);
  library.find("cuptiActivityEnableDriverApi", f.enable_driver_call);
  library.find("cuptiActivityEnableAllSyncRecords", f.enable_all_sync_records);
  library.find("cuptiActivityFlushAll", f.flush_all);
  library.find("cuptiActivityGetNumDroppedRecords", f.get_dropped);
  library.find("cuptiGetTimestamp", f.get_timestamp);
  library.find("cuptiActivityPushExternalCorrelationId", f.push);
  library.find("cuptiActivityPopExternalCorrelationId", f.pop);
  library.find("cuptiActivityGetNextRecord", f.next_record);
  library.find("cuptiGetCallbackName", f.get_callback_name);
}

}  // namespace

Result<CuptiFunctions> load_cupti_functions(const std::string& library) {
  return load_functions<CuptiFunctions>(library, find_cupti_functions);
}

std::string library_path(const CuptiFunctions& functions) {
  return library_file(reinterpret_cast<const void*>(functions.get_version));
}

int installed_driver_version() {
  const auto driver = open_library("libcuda.so.1");
  if (!driver) return 0;
  decltype(cuDriverGetVersion)* get_version = nullptr;
  FunctionLookup(*driver).find("cuDriverGetVersion", get_version);
  int version = 0;
  // The call uses no device and needs no initialisation.
  return get_version != nullptr && get_version(&version) == CUDA_SUCCESS ? version : 0;
}

}  // namespace hocket
