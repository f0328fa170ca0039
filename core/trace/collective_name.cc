#include "core/trace/collective_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 5> kBackends{"gloo:", "nccl:", "mpi:", "ucc:", "xccl:"};
constexpr std::array<std::string_view, 4> kDispatchers{
    "c10d::", "c10d_functional::", "_c10d_functional::", "record_param_comms"};

/// Returns the letters of `text` in lower case.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte)) letters += static_cast<char>(std::tolower(byte));
  }
  return letters;
}

/// Returns `name` without the compiler's prefix: "void ", or "_Z" and a length.
std::string_view without_decoration(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  if (name.starts_with("_Z")) {
    name.remove_prefix(2);
    name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
  }
  return name;
}

/// Matches "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", "ncclKernel_…",
/// "ncclAllReduceRingLLKernel_…".
bool is_nccl_kernel(std::string_view name) {
  return name.starts_with("nccl") && name.find("Kernel") != std::string_view::npos;
}

}  // namespace

std::optional<CollectiveKind> spelled_collective(std::string_view text) {
  const std::string letters = letters_of(text);
  for (const CollectiveKind kind : kCollectiveKinds) {
    if (letters.find(letters_of(to_string(kind))) != std::string::npos) return kind;
  }
  return std::nullopt;
}

std::optional<CommunicationName> communication_name(std::string_view name) {
  name = without_decoration(name);
  // Parameter types are not part of the operation's name.
  const std::string_view plain = name.substr(0, name.find('('));
  const auto starts = [&](std::string_view prefix) { return plain.starts_with(prefix); };
  if (is_nccl_kernel(plain)) return {{CommunicationSource::kernel, spelled_collective(plain)}};
  if (std::any_of(kDispatchers.begin(), kDispatchers.end(), starts)) {
    return {{CommunicationSource::dispatch, spelled_collective(plain)}};
  }
  const auto backend = std::find_if(kBackends.begin(), kBackends.end(), starts);
  if (backend == kBackends.end() || plain.substr(backend->size()).starts_with(':')) {
    return std::nullopt;
  }
  return {{CommunicationSource::backend, spelled_collective(plain.substr(backend->size()))}};
}

}  // namespace hocket
