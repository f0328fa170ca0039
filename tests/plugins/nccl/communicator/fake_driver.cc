// CUDA's driver library as far as the plugin and `hocket doctor` ask it: one device, on which all
// processes are.

#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int cuInit(unsigned flags);
EXPORTED int cuDeviceGetCount(int* count);
EXPORTED int cuCtxGetDevice(int* device);
EXPORTED int cuDeviceGetUuid_v2(void* uuid, int device);

int cuInit(unsigned) {
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}

int cuDeviceGetUuid_v2(void* uuid, int) {
  std::memset(uuid, 7, 16);
  return 0;
}
