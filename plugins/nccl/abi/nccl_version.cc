#include "plugins/nccl/abi/nccl_version.h"

#include <dlfcn.h>

namespace hocket::nccl::abi {

LoadingNccl loading_nccl(Logger logger) {
  using GetVersion = int (*)(int*);
  LoadingNccl nccl;
  Dl_info info = {};
  void* library = nullptr;
  if (logger != nullptr && dladdr(reinterpret_cast<const void*>(logger), &info) != 0 &&
      info.dli_fname != nullptr) {
    nccl.file = info.dli_fname;
    library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }
  auto get = reinterpret_cast<GetVersion>(
      dlsym(library == nullptr ? RTLD_DEFAULT : library, "ncclGetVersion"));
  int version = 0;
  const bool is_known = get != nullptr && get(&version) == 0 && version >= 10000;
  if (library != nullptr) dlclose(library);
  if (is_known) {
    nccl.version = std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                   "." + std::to_string(version % 100);
  }
  return nccl;
}

}  // namespace hocket::nccl::abi
