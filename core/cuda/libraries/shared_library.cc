#include "core/cuda/libraries/shared_library.h"

#include <dlfcn.h>

namespace hocket {

void* FunctionLookup::address(const char* name) {
  void* const found = dlsym(library_, name);
  if (found == nullptr && missing_ == nullptr) missing_ = name;
  return found;
}

Result<void*> open_library(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* const why = dlerror();
  return failure(ErrorCode::not_found, why == nullptr ? file + " cannot be opened" : why);
}

void open_for_others(std::span<const std::string> candidates) {
  for (const std::string& candidate : candidates)
    if (open_library(candidate)) return;
}

void close_library(void* library) {
  dlclose(library);
}

std::string library_file(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace hocket
