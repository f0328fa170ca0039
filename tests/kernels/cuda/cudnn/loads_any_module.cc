// A stub of the CUDA driver that is sufficient for compiling kernels: it has no device and accepts
// every module. With it cuDNN makes plans for a device of which only the description exists. Built
// under the driver's own name, so that cuDNN finds it instead of an installed one.

extern "C" {

constexpr int kSuccess = 0, kNoDevice = 100, kNotSupported = 801;

int cuInit(unsigned) {
  return kNoDevice;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}
int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  static char loaded;
  *library = &loaded;
  return kSuccess;
}
int cuLibraryUnload(void*) {
  return kSuccess;
}
int cuLibraryGetKernel(void** kernel, void*, const char*) {
  static char found;
  *kernel = &found;
  return kSuccess;
}
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return kSuccess;
}
int cuKernelSetAttribute(int, int, void*, int) {
  return kSuccess;
}

// These must exist, but nothing calls them.
#define HOCKET_NOT_SUPPORTED(name) \
  int name() {                     \
    return kNotSupported;          \
  }
HOCKET_NOT_SUPPORTED(cuCtxGetCurrent)
HOCKET_NOT_SUPPORTED(cuCtxGetLimit)
HOCKET_NOT_SUPPORTED(cuCtxPopCurrent)
HOCKET_NOT_SUPPORTED(cuCtxPushCurrent)
HOCKET_NOT_SUPPORTED(cuDeviceGet)
HOCKET_NOT_SUPPORTED(cuDeviceGetCount)
HOCKET_NOT_SUPPORTED(cuGetErrorName)
HOCKET_NOT_SUPPORTED(cuGetErrorString)
HOCKET_NOT_SUPPORTED(cuLaunchCooperativeKernel)
HOCKET_NOT_SUPPORTED(cuLaunchKernel)
HOCKET_NOT_SUPPORTED(cuLaunchKernelEx)
HOCKET_NOT_SUPPORTED(cuLibraryLoadFromFile)
HOCKET_NOT_SUPPORTED(cuLinkAddData)
HOCKET_NOT_SUPPORTED(cuLinkComplete)
HOCKET_NOT_SUPPORTED(cuLinkCreate)
HOCKET_NOT_SUPPORTED(cuLinkDestroy)
HOCKET_NOT_SUPPORTED(cuOccupancyMaxPotentialClusterSize)
HOCKET_NOT_SUPPORTED(cuStreamGetCtx)
#undef HOCKET_NOT_SUPPORTED

}  // extern "C"
