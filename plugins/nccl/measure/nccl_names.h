#pragma once

// Numbers for the names that NCCL gives to a profiler. Case and underscores do not matter, since
// NCCL has written the same names in several ways. Pure functions; thread-safe.

#include <cstdint>
#include <string_view>

namespace hocket::nccl::measure {

/// Return NCCL's number, or kUnknown. A null name is unknown.
int function_of(const char* name);
int algorithm_of(const char* name);
int protocol_of(const char* name);

/// Returns the size of an element, as of "ncclBfloat16"; 0 for an unknown name.
int bytes_of_datatype(const char* name);

/// Returns the size that a tuner is told for a collective of `count` elements a rank.
std::uint64_t collective_bytes(int function, std::uint64_t count, int element_bytes, int ranks);

}  // namespace hocket::nccl::measure
