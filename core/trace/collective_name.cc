#include "core/trace/collective_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 9> kBackends{
    "gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "rccl:", "hccl:", "ccl:", "oneccl:"};
constexpr std::array<std::string_view, 6> kDispatchers{
    "c10d::",     "c10d_functional::", "_c10d_functional::", "record_param_comms",
    "symm_mem::", "torch_ccl::"};

/// Prefixes of the kernels of libraries that name no operation otherwise: NCCL's device functions,
/// MSCCL of RCCL, and oneCCL.
constexpr std::array<std::string_view, 4> kLibraryKernels{"ncclDevFunc", "mscclKernel_",
                                                          "msccl_kernel", "oneccl_"};

/// Kernels of frameworks that communicate over mapped memory of other devices, and what they do.
struct DirectKernel {
  std::string_view part;  ///< part of the kernel's name
  std::optional<CollectiveKind> collective;
};

constexpr std::array kDirectKernels{
    DirectKernel{"multimem_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"multimem_one_shot_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"multimem_one_shot_reduce", std::nullopt},
    DirectKernel{"multimem_all_gather", CollectiveKind::all_gather},
    DirectKernel{"one_shot_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"two_shot_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"oneshot_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"twoshot_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"oneShotAllReduce", CollectiveKind::all_reduce},
    DirectKernel{"twoShotAllReduce", CollectiveKind::all_reduce},
    DirectKernel{"hybrid_all_reduce", CollectiveKind::all_reduce},
    DirectKernel{"cross_device_reduce", CollectiveKind::all_reduce},
    DirectKernel{"allreduce_fusion_kernel", CollectiveKind::all_reduce},
    DirectKernel{"userbuffers_fp16_sum_inplace", CollectiveKind::all_reduce},
};

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
  for (const std::string_view prefix : {"void ", "__global__ ", "[clone .kd] "}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name.starts_with("_Z")) {
    name.remove_prefix(2);
    if (name.starts_with('N')) name.remove_prefix(1);
    name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
  }
  return name;
}

/// Matches "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", "ncclKernel_…", "ncclSymkDevKernel_…",
/// "ncclAllReduceRingLLKernel_…", and RCCL's "rcclGenericKernel<…>".
bool is_library_kernel(std::string_view name) {
  if (std::ranges::any_of(kLibraryKernels, [&](auto prefix) { return name.starts_with(prefix); }))
    return true;
  return (name.starts_with("nccl") || name.starts_with("rccl")) &&
         name.find("Kernel") != std::string_view::npos;
}

/// Returns the identifier that a kernel's name begins with, without the namespaces before it and
/// the arguments of a template behind it.
std::string_view identifier_of(std::string_view name) {
  name = name.substr(0, name.find('<'));
  const auto colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

const DirectKernel* direct_kernel(std::string_view name) {
  const std::string_view identifier = identifier_of(name);
  // An operation of the same name runs on the host: "symm_mem::one_shot_all_reduce".
  const bool is_kernel = identifier.ends_with("_kernel") || identifier.ends_with("Kernel") ||
                         identifier.find("_kernel_") != std::string_view::npos ||
                         identifier.find("cross_device_reduce") != std::string_view::npos ||
                         identifier.starts_with("userbuffers_");
  if (!is_kernel) return nullptr;
  const auto found = std::ranges::find_if(kDirectKernels, [&](const DirectKernel& each) {
    return identifier.find(each.part) != std::string_view::npos;
  });
  return found == kDirectKernels.end() ? nullptr : &*found;
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
  // A namespace without a name is spelled with brackets.
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const auto at = name.find(kAnonymous); at < name.find_first_of("<(", 0) + 1) {
    name.remove_prefix(at + kAnonymous.size());
  }
  // Parameter types are not part of the operation's name.
  const std::string_view plain = name.substr(0, name.find('('));
  const auto starts = [&](std::string_view prefix) { return plain.starts_with(prefix); };
  if (is_library_kernel(plain)) return {{CommunicationSource::kernel, spelled_collective(plain)}};
  if (const DirectKernel* direct = direct_kernel(plain)) {
    return {{CommunicationSource::kernel, direct->collective}};
  }
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
