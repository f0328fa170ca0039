#include "tests/plugins/nccl/host/loaded_plugin.h"

#include <dlfcn.h>
#include <strings.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hocket::nccl_host {
namespace {

constexpr int kInternalError = 3;

void* try_open(const std::string& name, std::string& errors) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) errors.append("\n  ").append(dlerror());
  return library;
}

}  // namespace

void* open_plugin(const std::string& kind, const std::string& value) {
  if (strcasecmp(value.c_str(), "none") == 0) return nullptr;
  const std::string prefix = "libnccl-" + kind;
  std::string errors;
  void* library = try_open(value.empty() ? prefix + ".so" : value, errors);
  const bool is_library_name = value.starts_with("lib") && value.ends_with(".so");
  if (library == nullptr && !value.empty() && value.find('/') == std::string::npos &&
      !is_library_name) {
    library = try_open(prefix + "-" + value + ".so", errors);
  }
  if (library == nullptr && !value.empty()) {
    std::fprintf(stderr, "nccl_host: no %s plugin:%s\n", kind.c_str(), errors.c_str());
  }
  return library;
}

void log_line(int level, unsigned long /*subsystem*/, const char* file, int line,
              const char* format, ...) {
  static const bool is_on = std::getenv("NCCL_HOST_LOG") != nullptr;
  if (!is_on) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "nccl_host: level %d %s:%d %s\n", level, file, line, text);
}

LoadedTuner::LoadedTuner(std::string value, int newest_version)
    : value_(std::move(value)), newest_version_(newest_version) {}

bool LoadedTuner::find_symbols() {
  for (int version = newest_version_; version >= 4; --version) {
    const void* symbol = dlsym(library_, ("ncclTunerPlugin_v" + std::to_string(version)).c_str());
    if (symbol == nullptr) continue;
    version_ = version;
    if (version == 4) v4_ = static_cast<const TunerV4*>(symbol);
    // Version 6 begins as version 5 does.
    if (version > 4) v5_ = static_cast<const TunerV5*>(symbol);
    return true;
  }
  return false;
}

bool LoadedTuner::acquire(bool& opened) {
  opened = false;
  if (failed_) return false;
  if (version_ == 0) {
    library_ = open_plugin("tuner", value_);
    if (library_ == nullptr || !find_symbols()) {
      if (library_ != nullptr) dlclose(library_);
      library_ = nullptr;
      failed_ = true;
      return false;
    }
    opened = true;
  }
  ++users_;
  return true;
}

void LoadedTuner::release(bool opened) {
  if (!opened || --users_ > 0) return;
  dlclose(library_);
  library_ = nullptr;
  v4_ = nullptr;
  v5_ = nullptr;
  version_ = 0;
}

Result LoadedTuner::init(void** context, std::uint64_t comm_id, int ranks, int nodes) const {
  if (v4_ != nullptr) return v4_->init(ranks, nodes, log_line, context);
  NvlDomain domain{nodes, ranks / nodes, (ranks + nodes - 1) / nodes};
  // NCCL's constants are doubles. What they are does not matter here, but a plugin that wrote to
  // them would change NCCL's model.
  TunerConstants constants = {};
  return v5_->init(context, comm_id, ranks, nodes, log_line, &domain, &constants);
}

Result LoadedTuner::get_coll_info(void* context, int function, std::uint64_t bytes, int pipe_ops,
                                  CostTable table, bool registered, int* channels) const {
  const GetCollInfo call = v4_ != nullptr ? v4_->get_coll_info : v5_->get_coll_info;
  return call(context, function, bytes, pipe_ops, reinterpret_cast<float**>(table), kAlgorithms,
              kProtocols, registered ? 1 : 0, channels);
}

Result LoadedTuner::finalize(void* context) const {
  return v4_ != nullptr ? v4_->destroy(context) : v5_->finalize(context);
}

LoadedProfiler::LoadedProfiler(std::string value, int newest_version, RankRecord& record)
    : value_(std::move(value)),
      newest_version_(newest_version),
      record_(record),
      clock_overhead_ns_(clock_overhead_ns()) {}

bool LoadedProfiler::acquire() {
  if (failed_) return false;
  if (version_ == 0) {
    library_ = open_plugin("profiler", value_);
    for (int version = newest_version_; library_ != nullptr && version >= 4; --version) {
      const void* symbol = dlsym(library_, ("ncclProfiler_v" + std::to_string(version)).c_str());
      if (symbol == nullptr) continue;
      version_ = version;
      if (version == 4) v4_ = static_cast<const ProfilerV4*>(symbol);
      // Version 6 has the form of version 5.
      if (version > 4) v5_ = static_cast<const ProfilerV5*>(symbol);
      break;
    }
    if (version_ == 0) {
      if (library_ != nullptr) dlclose(library_);
      failed_ = true;
      return false;
    }
  }
  ++users_;
  return true;
}

void LoadedProfiler::release() {
  if (--users_ != 0) return;
  dlclose(library_);
  library_ = nullptr;
  v4_ = nullptr;
  v5_ = nullptr;
  version_ = 0;
}

Result LoadedProfiler::init(void** context, std::uint64_t comm_id, const char* name, int nodes,
                            int ranks, int rank) {
  if (v5_ != nullptr) {
    return v5_->init(context, comm_id, &mask_, name, nodes, ranks, rank, log_line);
  }
  const Result result = v4_->init(context, &mask_, name, comm_id, nodes, ranks, rank, log_line);
  // NCCL fills in the functions of version 4 when init succeeds.
  if (result == 0) v4_is_ready_ = true;
  return result;
}

template <class Call>
void LoadedProfiler::timed(Call call) {
  const std::int64_t begin = now_ns();
  call();
  record_.profiler_call.add(now_ns() - begin - clock_overhead_ns_);
}

void LoadedProfiler::start(void* context, void** handle, EventV5& event) {
  if (v5_ != nullptr) {
    timed([&] { v5_->start_event(context, handle, &event); });
  } else if (v4_is_ready_) {
    start_v4(context, handle, event);
  } else {
    // NCCL would call a null function.
    ++record_.violations[static_cast<int>(Violation::mask_without_context)];
  }
}

void LoadedProfiler::start_v4(void* context, void** handle, EventV5& event) {
  EventV4 old;
  std::memset(&old, 0xa5, sizeof(old));  // NCCL leaves what it does not set uninitialized
  old.type = static_cast<std::uint8_t>(event.type);
  old.parent = event.parent;
  old.rank = event.rank;
  if (event.type == kCollective) {
    std::memcpy(&old.collective, &event.collective, sizeof(old.collective));
    old.parent = event.collective.parent_group;
  } else if (event.type == kKernelChannel) {
    old.kernel_channel = event.kernel_channel;
  } else if (event.type != kGroup) {
    return;
  }
  timed([&] { v4_->start_event(context, handle, &old); });
}

void LoadedProfiler::stop(void* handle) {
  if (v5_ != nullptr) {
    timed([&] { v5_->stop_event(handle); });
  } else if (v4_is_ready_) {
    timed([&] { v4_->stop_event(handle); });
  }
}

void LoadedProfiler::record_state(void* handle, int state, StateArguments* arguments) {
  if (v5_ != nullptr) {
    timed([&] { v5_->record_event_state(handle, state, arguments); });
  } else if (v4_is_ready_ && state == kKernelChannelStop) {
    timed([&] { v4_->record_event_state(handle, state, arguments); });
  }
}

Result LoadedProfiler::finalize(void* context) {
  return v5_ != nullptr ? v5_->finalize(context) : v4_->finalize(context);
}

}  // namespace hocket::nccl_host
