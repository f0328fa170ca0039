// Rotation by position. A thread takes a pair of a position in several rows, so that its angle,
// which is in double precision, is made once for them.

#include <algorithm>
#include <cmath>

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

struct RotaryFacts {
  std::int64_t rows = 0;  ///< that have each position
  std::int64_t positions = 0, pairs = 0;
  double base = 1, direction = 1;
};

template <class T>
__global__ void rotary_kernel(RotaryFacts facts, const T* x, T* y) {
  const std::int64_t place = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (place >= facts.positions * facts.pairs) return;
  const std::int64_t position = place / facts.pairs, pair = place % facts.pairs;
  const double exponent = -static_cast<double>(pair) / static_cast<double>(facts.pairs);
  const double angle = facts.direction * static_cast<double>(position) * pow(facts.base, exponent);
  const auto cosine = static_cast<float>(cos(angle)), sine = static_cast<float>(sin(angle));
  for (std::int64_t row = blockIdx.y; row < facts.rows; row += gridDim.y) {
    const std::int64_t low = (row * facts.positions + position) * 2 * facts.pairs + pair;
    const std::int64_t high = low + facts.pairs;
    const float a = to_float(x[low]), b = to_float(x[high]);
    assign(a * cosine - b * sine, y[low]);
    assign(b * cosine + a * sine, y[high]);
  }
}

}  // namespace

MadeKernel make_rotary(const KernelSignature& signature) {
  const ValueType& type = signature.operands[0];
  RotaryFacts facts{.positions = type.shape[type.shape.size() - 2],
                    .pairs = type.shape.back() / 2,
                    .base = signature.attributes.number("base"),
                    .direction = signature.attributes.flag("inverse") ? -1.0 : 1.0};
  facts.rows = type.count() / facts.positions / facts.pairs / 2;
  constexpr std::int64_t kThreads = 4 * kWarp, kEnough = 1 << 18;
  const std::int64_t places = facts.positions * facts.pairs;
  HOCKET_TRY(check_sizes({places}));
  // Few places take few rows each: enough threads for a large device.
  const std::int64_t down =
      std::min({facts.rows, (kEnough + places - 1) / places, std::int64_t{65535}});
  const LaunchGrid grid{blocks_for(static_cast<std::size_t>(places), kThreads),
                        static_cast<unsigned>(down), kThreads};
  return cuda_kernel({.in_place = {{0, 0}}}, [=, elements = element_type(type.numbers)](
                                                 const KernelCall& call, const DeviceTask& task) {
    return dispatch_packs(elements, false, [&]<class T, int N>() {
      return launch("rotary", rotary_kernel<T>, grid, task.stream, facts, operand_of<T>(call, 0),
                    result_of<T>(call));
    });
  });
}

}  // namespace hocket::kernels
