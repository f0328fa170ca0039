#include "core/trace/collective_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 9> kBackends{
    "gloo:", "nccl:", "mpi:", "ucc:", "xccl:", "rccl:", "hccl:", "ccl:", "oneccl:"};
constexpr std::array<std::string_view, 6> kDispatchers{
    "c10d::",     "c10d_functional::", "_c10d_functional::", "record_param_comms",
    "symm_mem::", "torch_ccl::"};

enum class Match : std::uint8_t {
  begins,      ///< the qualified name begins with the text
  library,     ///< likewise, and "Kernel" follows anywhere in the name
  nested,      ///< the qualified name contains the text: it may lie in another namespace
  identifier,  ///< the identifier begins with the text
  kernel,      ///< the identifier contains the text and says that it is a kernel
  instruction  ///< the name is the text, or "-start", "-done", "-fusion" or a number follows it
};

/// Kernels that communicate. A row without a collective leaves it to the spelling of the name.
struct KernelNames {
  Match match = Match::begins;
  std::string_view text;
  std::optional<CollectiveKind> collective = std::nullopt;
};

/// Names of kernels, by library. The first row that matches counts. A name that is not here can be
/// added for one import: archive/profiles/import/communication_patterns.h.
constexpr std::array kKernelNames{
    // NCCL, RCCL, MSCCL of RCCL: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)", "ncclKernel_…",
    // "ncclSymkDevKernel_…", "ncclAllReduceRingLLKernel_…", "rcclGenericKernel<…>".
    KernelNames{Match::begins, "ncclDevFunc"},
    KernelNames{Match::library, "nccl"},
    KernelNames{Match::library, "rccl"},
    KernelNames{Match::begins, "mscclKernel_"},
    KernelNames{Match::begins, "msccl_kernel"},
    // MSCCL++: "mscclpp::executionKernel<…>", "mscclpp::collective::allreducePacket<…>".
    KernelNames{Match::begins, "mscclpp"},
    // oneCCL; HCCL: "hcom_allReduce__503_96_1".
    KernelNames{Match::begins, "oneccl_"},
    KernelNames{Match::begins, "oneccl::"},
    KernelNames{Match::begins, "oneapi::ccl::"},
    KernelNames{Match::begins, "hcom_"},
    KernelNames{Match::begins, "Hccl"},
    // DeepEP, also within a program's own namespace ("dpsk::ep::internode::dispatch<…>"), and
    // libraries with its interface. What computes the layout of a dispatch communicates nothing;
    // what notifies of one is no all-to-all.
    KernelNames{Match::nested, "ep::internode::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::internode::combine", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::internode_ll::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::internode_ll::combine", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::intranode::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::intranode::combine", CollectiveKind::all_to_all},
    KernelNames{Match::nested, "ep::internode"},
    KernelNames{Match::nested, "ep::intranode"},
    KernelNames{Match::begins, "hybrid_ep::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "hybrid_ep::combine", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "uccl::internode::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "uccl::internode::combine", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "uccl::intranode::dispatch", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "uccl::intranode::combine", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "uccl::internode"},
    KernelNames{Match::begins, "uccl::intranode"},
    KernelNames{Match::begins, "mori::moe::EpDispatch", CollectiveKind::all_to_all},
    KernelNames{Match::begins, "mori::moe::EpCombine", CollectiveKind::all_to_all},
    KernelNames{Match::identifier, "moeA2ADispatch", CollectiveKind::all_to_all},
    KernelNames{Match::identifier, "moeA2ACombine", CollectiveKind::all_to_all},
    // NVSHMEM, and PyTorch's operations over it.
    KernelNames{Match::begins, "nvshmem"},
    KernelNames{Match::begins, "rocshmem"},
    KernelNames{Match::begins, "c10d::nvshmem_extension::"},
    KernelNames{Match::identifier, "nvshmem"},
    // PyTorch's symmetric memory, and kernels of frameworks over mapped memory of other devices.
    KernelNames{Match::identifier, "multimem_one_shot_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::identifier, "multimem_"},
    KernelNames{Match::begins, "c10d::symmetric_memory::"},
    KernelNames{Match::kernel, "one_shot_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "two_shot_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "oneshot_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "twoshot_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "oneShotAllReduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "twoShotAllReduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "hybrid_all_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::kernel, "allreduce_fusion_kernel", CollectiveKind::all_reduce},
    KernelNames{Match::identifier, "cross_device_reduce", CollectiveKind::all_reduce},
    KernelNames{Match::begins, "quickreduce::", CollectiveKind::all_reduce},
    // Instructions of XLA: "all-reduce.3", "all-gather-start.1".
    KernelNames{Match::instruction, "all-reduce", CollectiveKind::all_reduce},
    KernelNames{Match::instruction, "all-gather", CollectiveKind::all_gather},
    KernelNames{Match::instruction, "reduce-scatter", CollectiveKind::reduce_scatter},
    KernelNames{Match::instruction, "all-to-all", CollectiveKind::all_to_all},
    KernelNames{Match::instruction, "ragged-all-to-all", CollectiveKind::all_to_all},
    KernelNames{Match::instruction, "collective-broadcast", CollectiveKind::broadcast},
    KernelNames{Match::instruction, "collective-permute"},
    KernelNames{Match::instruction, "async-collective"},
    // Transformer Engine's user buffers.
    KernelNames{Match::identifier, "userbuffers_fp16_sum_inplace", CollectiveKind::all_reduce},
    KernelNames{Match::identifier, "userbuffers_"},
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

/// Returns the name that "_ZN…" spells by lengths, "7deep_ep9intranode8dispatchILi1E" as
/// "deep_ep::intranode::dispatch", as far as it goes.
std::string spelled_by_lengths(std::string_view name) {
  std::string found;
  while (!name.empty() && name.front() >= '0' && name.front() <= '9') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), length);
    if (error != std::errc()) break;
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    const std::string_view part = name.substr(0, length);
    name.remove_prefix(part.size());
    if (part.starts_with("_GLOBAL__N_")) continue;  // a namespace without a name
    found.append(found.empty() ? "" : "::").append(part);
  }
  return found;
}

/// Returns `name` without what compilers add: "void ", and the parts of a mangled name.
std::string without_decoration(std::string_view name) {
  for (const std::string_view prefix : {"void ", "__global__ ", "[clone .kd] "}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (!name.starts_with("_Z")) return std::string(name);
  name.remove_prefix(2);
  if (name.starts_with('N')) name.remove_prefix(1);
  return spelled_by_lengths(name);
}

/// Returns the identifier that a kernel's name begins with, without the namespaces before it and
/// the arguments of a template behind it.
std::string_view identifier_of(std::string_view name) {
  name = name.substr(0, name.find('<'));
  const auto colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

/// An operation of the same name runs on the host: "symm_mem::one_shot_all_reduce".
bool says_kernel(std::string_view identifier) {
  return identifier.ends_with("_kernel") || identifier.ends_with("Kernel") ||
         identifier.find("_kernel_") != std::string_view::npos;
}

bool is_instruction(std::string_view name, std::string_view text) {
  if (!name.starts_with(text)) return false;
  name.remove_prefix(text.size());
  return name.empty() || name.front() == '.' || name.starts_with("-start") ||
         name.starts_with("-done") || name.starts_with("-fusion");
}

const KernelNames* kernel_names(std::string_view name) {
  const std::string_view identifier = identifier_of(name);
  const auto found = std::ranges::find_if(kKernelNames, [&](const KernelNames& row) {
    switch (row.match) {
      case Match::begins:
        return name.starts_with(row.text);
      case Match::library:
        return name.starts_with(row.text) && name.find("Kernel") != std::string_view::npos;
      case Match::nested:
        return name.substr(0, name.find('<')).find(row.text) != std::string_view::npos;
      case Match::identifier:
        return identifier.starts_with(row.text);
      case Match::kernel:
        return identifier.find(row.text) != std::string_view::npos && says_kernel(identifier);
      case Match::instruction:
        return is_instruction(name, row.text);
    }
    return false;
  });
  return found == kKernelNames.end() ? nullptr : &*found;
}

}  // namespace

std::optional<CollectiveKind> spelled_collective(std::string_view text) {
  const std::string letters = letters_of(text);
  for (const CollectiveKind kind : kCollectiveKinds) {
    // The word names much else in programs.
    if (kind == CollectiveKind::shift) continue;
    if (letters.find(letters_of(to_string(kind))) != std::string::npos) return kind;
  }
  return std::nullopt;
}

std::optional<CollectiveKind> spelled_message(std::string_view text) {
  // Behind the operation there may be the places of the two ranks in their group.
  if (const auto colon = text.substr(0, text.find(' ')).rfind(':'); colon != text.npos)
    text.remove_prefix(colon + 1);
  const std::string letters = letters_of(text.substr(0, text.find(' ')));
  if (letters == "send" || letters == "isend") return CollectiveKind::send;
  if (letters == "recv" || letters == "irecv" || letters == "receive" || letters == "recvanysource")
    return CollectiveKind::receive;
  return std::nullopt;
}

bool names_messages(std::string_view name) {
  const std::string plain = without_decoration(name);
  const std::string_view operation = std::string_view(plain).substr(0, plain.find('('));
  return operation.find("SendRecv") != std::string_view::npos || spelled_message(operation);
}

std::optional<CommunicationName> communication_name(std::string_view decorated) {
  std::string name = without_decoration(decorated);
  // A namespace without a name is spelled with brackets.
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (const auto at = name.find(kAnonymous); at < name.find_first_of("<(") + 1) {
    name.erase(at, kAnonymous.size());
  }
  // Parameter types are not part of the operation's name.
  const std::string_view plain = std::string_view(name).substr(0, name.find('('));
  const auto starts = [&](std::string_view prefix) { return plain.starts_with(prefix); };
  if (const KernelNames* kernel = kernel_names(plain)) {
    return {{CommunicationSource::kernel,
             kernel->collective ? kernel->collective : spelled_collective(plain)}};
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
