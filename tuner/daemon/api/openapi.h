#pragma once

// docs/openapi.json, which describes the daemon's HTTP interface.

namespace hocket {

extern const char* const kOpenApi;

}  // namespace hocket
