#pragma once

// The functions of CUPTI and of the driver that the profiler uses, as pointers into a loaded
// library. Private to profiler/cupti/cupti_library.cc. Threading as in CuptiApi.

#include <cupti.h>

#include <string>

#include "core/base/result.h"

namespace hocket {

struct CuptiFunctions {
  decltype(&cuptiGetVersion) get_version = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiEnableDomain) enable_domain = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivitySetAttribute) set_attribute = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call = nullptr;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call = nullptr;
  decltype(&cuptiActivityEnableAllSyncRecords) enable_all_sync_records = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) get_dropped = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiGetCallbackName) get_callback_name = nullptr;
};

/// Loads `library`; returns not_found if it cannot be loaded or lacks a function.
Result<CuptiFunctions> load_cupti_functions(const std::string& library);

/// Returns the file that the functions are in; "" if the loader cannot tell.
std::string library_path(const CuptiFunctions& functions);

/// Returns the same as CuptiApi::driver_version().
int installed_driver_version();

}  // namespace hocket
