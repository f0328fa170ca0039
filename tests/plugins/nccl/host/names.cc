#include "tests/plugins/nccl/host/nccl_plugin_calls.h"

namespace hocket::nccl_host {
namespace {

template <std::size_t size>
const char* entry(const char* const (&names)[size], int index) {
  return index >= 0 && index < static_cast<int>(size) ? names[index] : "Unknown";
}

}  // namespace

const char* function_name(int function) {
  static constexpr const char* names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                          "AllReduce"};
  return entry(names, function);
}

const char* algorithm_name(int algorithm) {
  static constexpr const char* names[] = {
      "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
  return entry(names, algorithm);
}

const char* protocol_name(int protocol) {
  static constexpr const char* names[] = {"LL", "LL128", "SIMPLE"};
  return entry(names, protocol);
}

}  // namespace hocket::nccl_host
