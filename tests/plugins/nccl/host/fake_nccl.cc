// NCCL's library as far as `hocket doctor` asks it: a communicator of one rank, for which it opens
// the profiler and the tuner as NCCL 2.28.9 does. With FAKE_NCCL=deaf it opens neither, and with
// FAKE_NCCL=broken it makes no communicator.

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "tests/plugins/nccl/host/loaded_plugin.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int ncclGetVersion(int* version);
EXPORTED const char* ncclGetErrorString(int result);
EXPORTED int ncclCommInitAll(void** communicator, int devices, const int* numbers);
EXPORTED int ncclCommDestroy(void* communicator);

namespace hocket::nccl_host {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns a table of the plugin; null if there is no plugin, or it has none of this version.
template <class Table>
const Table* table_of(const char* kind, const char* file_variable, const char* table) {
  void* const library = open_plugin(kind, variable(file_variable));
  return library == nullptr ? nullptr : static_cast<const Table*>(dlsym(library, table));
}

struct Opened {
  const TunerV5* tuner = nullptr;
  const ProfilerV5* profiler = nullptr;
  void *tuner_context = nullptr, *profiler_context = nullptr;
  int mask = 0;
};

void open_plugins(Opened& opened) {
  opened.profiler = table_of<ProfilerV5>("profiler", "NCCL_PROFILER_PLUGIN", "ncclProfiler_v5");
  if (opened.profiler != nullptr)
    opened.profiler->init(&opened.profiler_context, 7, &opened.mask, "", 1, 1, 0, log_line);
  opened.tuner = table_of<TunerV5>("tuner", "NCCL_TUNER_PLUGIN", "ncclTunerPlugin_v5");
  NvlDomain domain{1, 1, 1};
  TunerConstants constants = {};
  if (opened.tuner != nullptr)
    opened.tuner->init(&opened.tuner_context, 7, 1, 1, log_line, &domain, &constants);
}

}  // namespace
}  // namespace hocket::nccl_host

int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}

const char* ncclGetErrorString(int) {
  return "unhandled cuda error";
}

int ncclCommInitAll(void** communicator, int devices, const int*) {
  using namespace hocket::nccl_host;
  if (devices != 1 || variable("FAKE_NCCL") == "broken") return 1;
  auto* const opened = new Opened;
  if (variable("FAKE_NCCL") != "deaf") open_plugins(*opened);
  *communicator = opened;
  return 0;
}

int ncclCommDestroy(void* communicator) {
  auto* const opened = static_cast<hocket::nccl_host::Opened*>(communicator);
  if (opened->tuner != nullptr) opened->tuner->finalize(opened->tuner_context);
  if (opened->profiler != nullptr) opened->profiler->finalize(opened->profiler_context);
  delete opened;
  return 0;
}
