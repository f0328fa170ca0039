#include "plugins/nccl/abi/chain.h"

#include <dlfcn.h>

#include <cstring>
#include <string_view>

#include "plugins/nccl/abi/log.h"
#include "plugins/nccl/abi/tables.h"

namespace hocket::nccl::abi {
namespace {

const char* word_of(PluginKind kind) {
  return kind == PluginKind::tuner ? "tuner" : "profiler";
}

bool is_switched_off(std::string_view value) {
  return value.empty() || value == "none";
}

/// Appends what NCCL opens for a value of its variables.
void append_named(std::vector<std::string>& names, const std::string& value,
                  const std::string& prefix) {
  names.push_back(value);
  names.push_back(prefix + value + ".so");
}

void append_net_plugins(std::vector<std::string>& names, Environment environment) {
  const char* variable = environment("NCCL_NET_PLUGIN");
  if (variable == nullptr || *variable == '\0') {
    names.emplace_back("libnccl-net.so");
    return;
  }
  std::string_view rest = variable;  // one value, or several with commas
  while (!rest.empty()) {
    const std::string_view value = rest.substr(0, rest.find(','));
    rest.remove_prefix(value.size() == rest.size() ? value.size() : value.size() + 1);
    if (!is_switched_off(value)) append_named(names, std::string(value), "libnccl-net-");
  }
}

struct Found {
  int version = 0;
  const void* table = nullptr;
};

/// Returns the name of a table, which every version has first.
const char* name_of(const void* table) {
  const char* name = *static_cast<const char* const*>(table);
  return name == nullptr ? "" : name;
}

/// This library may be found under another name, by another path or as a copy, which would call
/// itself in turn.
bool is_hocket(const void* table) {
  return std::strcmp(name_of(table), kPluginName) == 0;
}

/// Returns the table of the first version in `versions` that the library has.
Found table_in(void* library, const char* prefix, const std::vector<int>& versions) {
  for (const int version : versions) {
    const std::string symbol = prefix + std::to_string(version);
    const void* table = dlsym(library, symbol.c_str());
    if (table != nullptr) return {version, table};
  }
  return {};
}

Found find(PluginKind kind, Environment environment, const char* prefix,
           const std::vector<int>& versions, Logger logger) {
  for (const std::string& name : chain_candidates(kind, environment)) {
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const Found found = table_in(library, prefix, versions);
    if (found.table != nullptr && !is_hocket(found.table)) {
      log_line(logger, kLogInfo, "hocket: calls the %s %s (version %d) of %s, too", word_of(kind),
               name_of(found.table), found.version, name.c_str());
      return found;
    }
    dlclose(library);
  }
  const std::string variable =
      kind == PluginKind::tuner ? "HOCKET_NCCL_TUNER_CHAIN" : "HOCKET_NCCL_PROFILER_CHAIN";
  const char* value = environment(variable.c_str());
  if (value != nullptr && !is_switched_off(value)) {
    log_line(logger, kLogWarning, "hocket: %s=%s names no %s that can be called", variable.c_str(),
             value, word_of(kind));
  }
  return {};
}

}  // namespace

std::vector<std::string> chain_candidates(PluginKind kind, Environment environment) {
  std::vector<std::string> names;
  const std::string prefix = std::string("libnccl-") + word_of(kind);
  const char* value = environment(kind == PluginKind::tuner ? "HOCKET_NCCL_TUNER_CHAIN"
                                                            : "HOCKET_NCCL_PROFILER_CHAIN");
  if (value == nullptr) {
    names.push_back(prefix + ".so");
    append_net_plugins(names, environment);
  } else if (!is_switched_off(value)) {
    append_named(names, value, prefix + "-");
  }
  return names;
}

ChainedTuner ChainedTuner::load(Environment environment, int version, Logger logger) {
  const std::vector<int> versions =
      version <= 4 ? std::vector<int>{4, 6, 5} : std::vector<int>{6, 5, 4};
  const Found found = find(PluginKind::tuner, environment, "ncclTunerPlugin_v", versions, logger);
  ChainedTuner tuner;
  tuner.version_ = found.version;
  tuner.table_ = found.table;
  return tuner;
}

const char* ChainedTuner::name() const {
  return name_of(table_);
}

int ChainedTuner::init(const TunerOpening& opening, void** context) const {
  if (version_ == 4) {
    return static_cast<const TunerV4*>(table_)->init(opening.ranks, opening.nodes, opening.logger,
                                                     context);
  }
  // Version 4 of NCCL has no constants to give. The tuner gets its own to write to.
  static constinit NvLinkInfo nv_link = {};
  static constinit TunerConstants constants = {};
  NvLinkInfo* its_nv_link = opening.nv_link;
  TunerConstants* its_constants = opening.constants;
  if (opening.version <= 4) {
    its_nv_link = &nv_link;
    its_constants = &constants;
  }
  // Version 6 is version 5 with a function at the end.
  return static_cast<const TunerV5*>(table_)->init(context, opening.comm_id, opening.ranks,
                                                   opening.nodes, opening.logger, its_nv_link,
                                                   its_constants);
}

GetCollInfo ChainedTuner::get_coll_info() const {
  if (version_ == 4) return static_cast<const TunerV4*>(table_)->get_coll_info;
  return static_cast<const TunerV5*>(table_)->get_coll_info;
}

int ChainedTuner::finalize(void* context) const {
  if (version_ == 4) return static_cast<const TunerV4*>(table_)->destroy(context);
  return static_cast<const TunerV5*>(table_)->finalize(context);
}

ChainedProfiler ChainedProfiler::load(Environment environment, int version, Logger logger) {
  const std::vector<int> versions =
      version <= 4 ? std::vector<int>{4, 6, 5} : std::vector<int>{6, 5, 4};
  const Found found = find(PluginKind::profiler, environment, "ncclProfiler_v", versions, logger);
  ChainedProfiler profiler;
  profiler.version_ = found.version;
  profiler.table_ = found.table;
  return profiler;
}

const char* ChainedProfiler::name() const {
  return name_of(table_);
}

int ChainedProfiler::init(const ProfilerOpening& opening, void** context) const {
  if (version_ == 4) {
    return static_cast<const ProfilerV4*>(table_)->init(
        context, opening.event_mask, opening.comm_name, opening.comm_id, opening.nodes,
        opening.ranks, opening.rank, opening.logger);
  }
  return static_cast<const ProfilerV5*>(table_)->init(context, opening.comm_id, opening.event_mask,
                                                      opening.comm_name, opening.nodes,
                                                      opening.ranks, opening.rank, opening.logger);
}

void* ChainedProfiler::start_event(void* context, const EventDescriptorV5& descriptor) const {
  void* handle = nullptr;
  int result = kSuccess;
  if (version_ == 4) {
    if (descriptor.type > UINT8_MAX) return nullptr;
    EventDescriptorV4 converted = to_v4(descriptor);
    result = static_cast<const ProfilerV4*>(table_)->start_event(context, &handle, &converted);
  } else {
    if (version_ < 6 && descriptor.type >= kCopyEngineCollectiveEvent) return nullptr;
    EventDescriptorV5 copy = descriptor;
    result = static_cast<const ProfilerV5*>(table_)->start_event(context, &handle, &copy);
  }
  return result == kSuccess ? handle : nullptr;
}

void ChainedProfiler::stop_event(void* handle) const {
  // These functions have the same place and form in all versions.
  static_cast<const ProfilerV5*>(table_)->stop_event(handle);
}

void ChainedProfiler::record_event_state(void* handle, int state,
                                         EventStateArguments* arguments) const {
  static_cast<const ProfilerV5*>(table_)->record_event_state(handle, state, arguments);
}

int ChainedProfiler::finalize(void* context) const {
  return static_cast<const ProfilerV5*>(table_)->finalize(context);
}

}  // namespace hocket::nccl::abi
