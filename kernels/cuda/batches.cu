#include "kernels/cuda/batches.h"

#include "kernels/cuda/device/device_values.h"

namespace hocket {
namespace kernels {
namespace {

template <class Word>
__global__ void take_drawn_kernel(const Word* first, std::size_t words, std::int64_t count,
                                  const std::int64_t* taken, Word* to) {
  const Word* const from = first + static_cast<std::size_t>(*taken % count) * words;
  for_elements<1>(words, [=]<int M>(std::size_t i) { to[i] = from[i]; });
}

__global__ void count_kernel(std::int64_t* count) {
  if (threadIdx.x == 0) ++*count;
}

__global__ void keep_number_kernel(const float* value, float* first, std::int64_t* kept) {
  if (threadIdx.x != 0) return;
  first[*kept] = *value;
  ++*kept;
}

template <class Word>
Result<void> take_words(const void* first, std::int64_t bytes, std::int64_t count,
                        const std::int64_t* taken, void* to, DeviceStream stream) {
  const std::size_t words = static_cast<std::size_t>(bytes) / sizeof(Word);
  return launch("take_drawn", take_drawn_kernel<Word>, elements_grid(words, 1), stream,
                static_cast<const Word*>(first), words, count, taken, static_cast<Word*>(to));
}

}  // namespace
}  // namespace kernels

Result<void> take_drawn(const void* first, std::int64_t bytes, std::int64_t count,
                        std::int64_t* taken, void* to, DeviceStream stream) {
  const auto all = static_cast<std::uintptr_t>(bytes) | reinterpret_cast<std::uintptr_t>(first) |
                   reinterpret_cast<std::uintptr_t>(to);
  HOCKET_TRY(all % 4 == 0
                 ? kernels::take_words<std::uint32_t>(first, bytes, count, taken, to, stream)
                 : kernels::take_words<unsigned char>(first, bytes, count, taken, to, stream));
  return kernels::launch("take_drawn", kernels::count_kernel, {1, 1, kernels::kWarp}, stream,
                         taken);
}

Result<void> keep_number(const float* value, float* first, std::int64_t* kept,
                         DeviceStream stream) {
  return kernels::launch("keep_number", kernels::keep_number_kernel, {1, 1, kernels::kWarp}, stream,
                         value, first, kept);
}

}  // namespace hocket
