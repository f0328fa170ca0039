#pragma once

// The text of docs/openapi.json, which documents the daemon's HTTP interface. Constant; any thread.

namespace hocket {

extern const char* const kOpenApi;

}  // namespace hocket
