#include "plugins/nccl/measure/nccl_names.h"

#include <cstddef>
#include <limits>

#include "plugins/nccl/interface/nccl_interface.h"
#include "plugins/nccl/measure/measured_collective.h"
#include "plugins/nccl/tuning/choice.h"
#include "plugins/nccl/tuning/collective_class.h"

namespace hocket::nccl::measure {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Compares a name of NCCL's with a word in lower case, both without underscores.
bool is_word(const char* name, std::string_view word) {
  std::size_t at = 0;
  for (; *name != '\0'; ++name) {
    if (*name == '_') continue;
    while (at < word.size() && word[at] == '_') ++at;
    if (at == word.size() || lower(*name) != word[at]) return false;
    ++at;
  }
  return at == word.size();
}

int number_of(const char* name, int count, const char* (*word_of)(int)) {
  if (name == nullptr) return kUnknown;
  for (int number = 0; number < count; ++number) {
    if (is_word(name, word_of(number))) return number;
  }
  return kUnknown;
}

}  // namespace

int function_of(const char* name) {
  return number_of(name, kFunctions,
                   [](int number) { return to_string(static_cast<Function>(number)); });
}

int algorithm_of(const char* name) {
  return number_of(name, abi::kAlgorithms, algorithm_word);
}

int protocol_of(const char* name) {
  return number_of(name, abi::kProtocols, protocol_word);
}

int bytes_of_datatype(const char* name) {
  struct Datatype {
    std::string_view word;
    int bytes;
  };
  static constexpr Datatype kDatatypes[] = {
      {"ncclint8", 1},       {"ncclchar", 1},   {"nccluint8", 1},    {"ncclint32", 4},
      {"ncclint", 4},        {"nccluint32", 4}, {"ncclint64", 8},    {"nccluint64", 8},
      {"ncclfloat16", 2},    {"ncclhalf", 2},   {"ncclfloat32", 4},  {"ncclfloat", 4},
      {"ncclfloat64", 8},    {"nccldouble", 8}, {"ncclbfloat16", 2}, {"ncclfloat8e4m3", 1},
      {"ncclfloat8e5m2", 1},
  };
  if (name == nullptr) return 0;
  for (const Datatype& datatype : kDatatypes) {
    if (is_word(name, datatype.word) || is_word(name, datatype.word.substr(4))) {
      return datatype.bytes;
    }
  }
  return 0;
}

std::uint64_t collective_bytes(int function, std::uint64_t count, int element_bytes, int ranks) {
  const bool has_all = function == abi::kAllGather || function == abi::kReduceScatter;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes < 0 ? 0 : element_bytes, &bytes) ||
      __builtin_mul_overflow(bytes, has_all && ranks > 0 ? ranks : 1, &bytes)) {
    return std::numeric_limits<std::uint64_t>::max();
  }
  return bytes;
}

}  // namespace hocket::nccl::measure
