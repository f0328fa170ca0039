#include "plugins/nccl/communicator/current_device.h"

#include <dlfcn.h>

namespace hocket::nccl {

DriverFunctions driver_functions() {
  DriverFunctions functions;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return functions;
  functions.device_of_context = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuCtxGetDevice"));
  // The second version tells the slices of a GPU apart.
  functions.uuid_of_device =
      reinterpret_cast<int (*)(DeviceId*, int)>(dlsym(library, "cuDeviceGetUuid_v2"));
  dlclose(library);  // the program still has it open
  return functions;
}

std::optional<DeviceId> current_device(const DriverFunctions& driver) {
  if (driver.device_of_context == nullptr || driver.uuid_of_device == nullptr) return std::nullopt;
  int device = -1;
  DeviceId uuid = {};
  if (driver.device_of_context(&device) != 0 || driver.uuid_of_device(&uuid, device) != 0 ||
      uuid == DeviceId{}) {
    return std::nullopt;
  }
  return uuid;
}

}  // namespace hocket::nccl
