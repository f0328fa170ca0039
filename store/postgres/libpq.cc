#include "store/postgres/libpq.h"

#include <dlfcn.h>

#include <string>

namespace hocket::postgres {

Result<Libpq> open_libpq(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return failure(ErrorCode::unavailable, "PostgreSQL: " + std::string(library) +
                                               " was not found; install Debian's libpq5");
  }
  Libpq functions;
  const char* missing = nullptr;
#define HOCKET_LIBPQ_LOAD(name)                                               \
  functions.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  if (functions.name == nullptr) missing = #name;
  HOCKET_LIBPQ_FUNCTIONS(HOCKET_LIBPQ_LOAD)
#undef HOCKET_LIBPQ_LOAD
  if (missing == nullptr) return functions;
  return failure(ErrorCode::unavailable, "PostgreSQL: " + std::string(library) + " has no " +
                                             missing + "; install a libpq of version 14 or newer");
}

}  // namespace hocket::postgres
