// Operations that put numbers elsewhere, as they are: words of 16, 4 or 2 bytes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/strided_walk.h"

namespace hocket::kernels {
namespace {

struct alignas(16) LongWord {
  std::uint32_t parts[4];
};

/// Calls body<Word, Half>() with the longest word that divides all addresses, and of which the
/// numbers of each pack of `bytes` have a whole number.
template <class Body>
Result<void> dispatch_words(std::int64_t bytes, std::initializer_list<const void*> addresses,
                            const Body& body) {
  std::uintptr_t all = static_cast<std::uintptr_t>(bytes);
  for (const void* const address : addresses) all |= reinterpret_cast<std::uintptr_t>(address);
  if (all % 16 == 0) return body.template operator()<LongWord>();
  if (all % 4 == 0) return body.template operator()<std::uint32_t>();
  return body.template operator()<std::uint16_t>();
}

/// y[i] = x[place of i]
template <class Word>
__global__ void strided_copy_kernel(std::size_t count, const __grid_constant__ StridedWalk<1> walk,
                                    const Word* x, Word* y) {
  for_elements<1>(count, [=, &walk]<int M>(std::size_t i) {
    y[i] = x[walk.find(static_cast<std::int64_t>(i))];
  });
}

constexpr int kTile = 32, kTileRows = 8;

/// Transposes matrices of which neighbours in x are `column` apart in y: y[place + i · row + j] =
/// x[place + i + j · column]. A block moves a tile, by rows of x and then by rows of y.
template <class Word>
__global__ void transpose_kernel(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                 std::int64_t column_stride,
                                 const __grid_constant__ StridedWalk<2> matrices,
                                 std::int64_t across, const Word* x, Word* y) {
  __shared__ Word tile[kTile][kTile + 1];
  const std::int64_t number = blockIdx.x;
  std::int64_t places[2];
  matrices.find(number / across, places);
  const std::int64_t left = number % across * kTile;
  const std::int64_t top = static_cast<std::int64_t>(blockIdx.y) * kTile;
  for (int k = warp(); k < kTile; k += kTileRows) {
    const std::int64_t i = top + lane(), j = left + k;
    if (i < rows && j < columns) tile[k][lane()] = x[places[0] + i + j * column_stride];
  }
  __syncthreads();
  for (int k = warp(); k < kTile; k += kTileRows) {
    const std::int64_t i = top + k, j = left + lane();
    if (i < rows && j < columns) y[places[1] + i * row_stride + j] = tile[lane()][k];
  }
}

/// Blocks of `count` words that are copied from one place in each block to one in another, with
/// zeros up to the end of the blocks where `fills`.
struct CopiedBlocks {
  std::int64_t blocks = 1, count = 0;
  std::int64_t from_words = 0, from_begin = 0;  ///< of a block of x, and where to begin in it
  std::int64_t to_words = 0, to_begin = 0;
  bool fills = false;
};

template <class Word>
__global__ void block_copy_kernel(CopiedBlocks copied, const Word* x, Word* y) {
  const std::int64_t each = copied.fills ? copied.to_words : copied.count;
  for_elements<1>(static_cast<std::size_t>(copied.blocks * each), [=]<int M>(std::size_t number) {
    const auto i = static_cast<std::int64_t>(number);
    const std::int64_t block = i / each;
    const std::int64_t at = i % each - (copied.fills ? copied.to_begin : 0);
    Word word = {};
    if (at >= 0 && at < copied.count) word = x[block * copied.from_words + copied.from_begin + at];
    y[block * copied.to_words + copied.to_begin + at] = word;
  });
}

/// Sizes in bytes.
Result<void> copy_blocks(CopiedBlocks copied, const void* x, void* y, DeviceStream stream) {
  const std::int64_t bytes =
      copied.count | copied.from_words | copied.from_begin | copied.to_words | copied.to_begin;
  return dispatch_words(bytes, {x, y}, [&]<class Word>() {
    constexpr std::int64_t kBytes = sizeof(Word);
    const CopiedBlocks words{copied.blocks,
                             copied.count / kBytes,
                             copied.from_words / kBytes,
                             copied.from_begin / kBytes,
                             copied.to_words / kBytes,
                             copied.to_begin / kBytes,
                             copied.fills};
    const std::int64_t all = words.blocks * (words.fills ? words.to_words : words.count);
    return launch("copy of blocks", block_copy_kernel<Word>,
                  elements_grid(static_cast<std::size_t>(all), 1), stream, words,
                  static_cast<const Word*>(x), static_cast<Word*>(y));
  });
}

template <class Word>
__global__ void fill_kernel(std::size_t count, Word word, Word* y) {
  for_elements<1>(count, [=]<int M>(std::size_t i) { y[i] = word; });
}

/// Copies a value whose numbers are x[strides] in the order of the result.
MadeKernel strided_copy(const Repeated<1>& all, NumberType type) {
  const std::int64_t bytes = number_bytes(type), pack = 16 / bytes;
  // Packs, if neighbours in the result are neighbours in x.
  Repeated<1> packed = all;
  bool in_packs = goes_on_in_packs(all, pack) && all.inner(0) == 1;
  if (in_packs) {
    packed.sizes[packed.rank - 1] /= pack;
    for (std::size_t i = 0; i + 1 < packed.rank; ++i) packed.strides[i][0] /= pack;
  }
  const auto count = static_cast<std::size_t>(all.count());
  return cuda_kernel({}, [=, single = StridedWalk<1>(all), packs = StridedWalk<1>(packed)](
                             const KernelCall& call, const DeviceTask& task) {
    if (in_packs && are_aligned(call)) {
      const std::size_t words = count / static_cast<std::size_t>(pack);
      return launch("strided copy", strided_copy_kernel<LongWord>, elements_grid(words, 1),
                    task.stream, words, packs, operand_of<LongWord>(call, 0),
                    result_of<LongWord>(call));
    }
    const auto copy = [&]<class Word>() {
      return launch("strided copy", strided_copy_kernel<Word>, elements_grid(count, 1), task.stream,
                    count, single, operand_of<Word>(call, 0), result_of<Word>(call));
    };
    return bytes == 4 ? copy.template operator()<std::uint32_t>()
                      : copy.template operator()<std::uint16_t>();
  });
}

/// The innermost dimension of the result is not the innermost one of x, which is dimension `inner`
/// of the result: matrices of these two are transposed.
MadeKernel matrices_kernel(const Repeated<1>& all, std::size_t inner, NumberType type) {
  const std::size_t last = all.rank - 1;
  Shape shape;
  std::array<DimensionStrides, 2> strides;
  std::int64_t stride = 1, row_stride = 1;
  for (std::size_t i = all.rank; i-- > 0; stride *= all.sizes[i]) {
    if (i == inner) row_stride = stride;
    if (i == inner || i == last) continue;
    shape.insert(shape.begin(), all.sizes[i]);
    strides[0].insert(strides[0].begin(), all.strides[i][0]);
    strides[1].insert(strides[1].begin(), stride);
  }
  const Repeated<2> matrices(shape, strides);
  const std::int64_t rows = all.sizes[inner], columns = all.width();
  const std::int64_t column_stride = all.inner(0), across = (columns + kTile - 1) / kTile;
  const LaunchGrid grid{static_cast<unsigned>(across * matrices.count()),
                        static_cast<unsigned>((rows + kTile - 1) / kTile), kTileRows * kWarp};
  return cuda_kernel(
      {}, [=, walk = StridedWalk<2>(matrices)](const KernelCall& call, const DeviceTask& task) {
        const auto move = [&]<class Word>() {
          return launch("transpose", transpose_kernel<Word>, grid, task.stream, rows, columns,
                        row_stride, column_stride, walk, across, operand_of<Word>(call, 0),
                        result_of<Word>(call));
        };
        return number_bytes(type) == 4 ? move.template operator()<std::uint32_t>()
                                       : move.template operator()<std::uint16_t>();
      });
}

/// Blocks of consecutive numbers, in bytes: as many as the dimensions around one have indices.
struct ByteBlocks {
  ByteBlocks(const ValueType& type, std::int64_t attribute) : inner(number_bytes(type.numbers)) {
    const Shape& shape = type.shape;
    const std::size_t dimension = dimension_at(attribute, shape.size());
    for (std::size_t i = 0; i < dimension; ++i) count *= shape[i];
    for (std::size_t i = dimension + 1; i < shape.size(); ++i) inner *= shape[i];
    bytes = shape[dimension] * inner;
  }

  std::int64_t count = 1;  ///< blocks, one after the other
  std::int64_t inner = 1;  ///< for an index of the dimension
  std::int64_t bytes = 1;  ///< in a block
};

}  // namespace

MadeKernel make_constant(const KernelSignature& signature) {
  const double value = signature.attributes.number("value");
  const ValueType& type = signature.results[0];
  auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type.numbers == NumberType::int32)
    bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  if (type.numbers == NumberType::bfloat16) {
    const __nv_bfloat16 narrow = __float2bfloat16(static_cast<float>(value));
    bits = std::bit_cast<std::uint16_t>(narrow);
  }
  const auto count = static_cast<std::size_t>(type.count());
  const bool is_narrow = number_bytes(type.numbers) == 2;
  return cuda_kernel({}, [=](const KernelCall& call, const DeviceTask& task) {
    const LaunchGrid grid = elements_grid(count, 1);
    if (is_narrow) {
      return launch("constant", fill_kernel<std::uint16_t>, grid, task.stream, count,
                    static_cast<std::uint16_t>(bits), result_of<std::uint16_t>(call));
    }
    return launch("constant", fill_kernel<std::uint32_t>, grid, task.stream, count, bits,
                  result_of<std::uint32_t>(call));
  });
}

MadeKernel make_reshape(const KernelSignature& signature) {
  const std::int64_t bytes = signature.results[0].bytes();
  return cuda_kernel({.in_place = {{0, 0}}},
                     [bytes](const KernelCall& call, const DeviceTask& task) -> Result<void> {
                       if (call.operands[0] == call.results[0]) return {};
                       return copy_blocks({.count = bytes, .from_words = bytes, .to_words = bytes},
                                          call.operands[0], call.results[0], task.stream);
                     });
}

MadeKernel make_broadcast(const KernelSignature& signature) {
  const ValueType& y = signature.results[0];
  return strided_copy({y.shape, {repeated_strides(signature.operands[0].shape, y.shape)}},
                      y.numbers);
}

MadeKernel make_transpose(const KernelSignature& signature) {
  const DimensionStrides own = dense_strides(signature.operands[0].shape);
  DimensionStrides strides;
  for (const std::int64_t each : signature.attributes.integers("order"))
    strides.push_back(own[dimension_at(each, own.size())]);
  const Repeated<1> all(signature.results[0].shape, {strides});
  const NumberType type = signature.results[0].numbers;
  if (all.inner(0) == 1) return strided_copy(all, type);
  std::size_t inner = 0;
  while (all.strides[inner][0] != 1) ++inner;
  constexpr std::int64_t kMostRows = 65535 * std::int64_t{kTile};  // that a grid has
  if (all.sizes[inner] > kMostRows) return strided_copy(all, type);
  return matrices_kernel(all, inner, type);
}

MadeKernel make_slice(const KernelSignature& signature) {
  const std::int64_t dimension = signature.attributes.integer("dimension");
  const ByteBlocks x(signature.operands[0], dimension), y(signature.results[0], dimension);
  const CopiedBlocks copied{.blocks = y.count,
                            .count = y.bytes,
                            .from_words = x.bytes,
                            .from_begin = signature.attributes.integer("begin") * x.inner,
                            .to_words = y.bytes};
  return cuda_kernel({}, [copied](const KernelCall& call, const DeviceTask& task) {
    return copy_blocks(copied, call.operands[0], call.results[0], task.stream);
  });
}

MadeKernel make_pad(const KernelSignature& signature) {
  const std::int64_t dimension = signature.attributes.integer("dimension");
  const ByteBlocks x(signature.operands[0], dimension), y(signature.results[0], dimension);
  const CopiedBlocks copied{.blocks = y.count,
                            .count = x.bytes,
                            .from_words = x.bytes,
                            .to_words = y.bytes,
                            .to_begin = signature.attributes.integer("before") * x.inner,
                            .fills = true};
  return cuda_kernel({}, [copied](const KernelCall& call, const DeviceTask& task) {
    return copy_blocks(copied, call.operands[0], call.results[0], task.stream);
  });
}

MadeKernel make_concatenate(const KernelSignature& signature) {
  const std::int64_t dimension = signature.attributes.integer("dimension");
  const ByteBlocks y(signature.results[0], dimension);
  std::vector<CopiedBlocks> parts;
  std::int64_t begin = 0;
  for (const ValueType& operand : signature.operands) {
    const ByteBlocks x(operand, dimension);
    parts.push_back({.blocks = y.count,
                     .count = x.bytes,
                     .from_words = x.bytes,
                     .to_words = y.bytes,
                     .to_begin = begin});
    begin += x.bytes;
  }
  return cuda_kernel({}, [parts](const KernelCall& call, const DeviceTask& task) -> Result<void> {
    for (std::size_t i = 0; i < parts.size(); ++i)
      HOCKET_TRY(copy_blocks(parts[i], call.operands[i], call.results[0], task.stream));
    return {};
  });
}

}  // namespace hocket::kernels
