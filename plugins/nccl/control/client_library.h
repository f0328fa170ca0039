#pragma once

// hocket's client library, opened at run time: the plugin itself links to nothing but libc. Found
// by HOCKET_CLIENT_LIBRARY, beside the plugin, or by the dynamic linker, as libhocket_client.so.1.
// It is never closed, as it may have threads. Thread-safe.

#include <functional>
#include <string>

#include "capi/hocket_client.h"

namespace hocket::nccl {

/// The functions that the plugin calls, under shorter names.
struct ClientLibrary {
  decltype(&hocket_error) error = nullptr;
  decltype(&hocket_client_open) open = nullptr;
  decltype(&hocket_client_source) source = nullptr;
  decltype(&hocket_client_detail) detail = nullptr;
  decltype(&hocket_client_get) get = nullptr;
  decltype(&hocket_client_is_trying) is_trying = nullptr;
  decltype(&hocket_client_measured) measured = nullptr;
  decltype(&hocket_client_save_traces) save_traces = nullptr;
  decltype(&hocket_ranks_counted) ranks_counted = nullptr;
  decltype(&hocket_iteration) iteration = nullptr;
  decltype(&hocket_step_ended) step_ended = nullptr;
  decltype(&hocket_client_close) close = nullptr;
  decltype(&hocket_meeting_publish) publish = nullptr;
  decltype(&hocket_meeting_find) find = nullptr;
  decltype(&hocket_client_host) host = nullptr;  ///< null in an older library
};

/// Returns null, after saying why, if the library cannot be used. The functions stay for the life
/// of the process.
const ClientLibrary* load_client_library(const std::function<void(const std::string&)>& say);

}  // namespace hocket::nccl
