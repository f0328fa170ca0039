// The ways of rows to the slots of experts, and back. A warp counts the rows of an expert in their
// order; then warps move or sum rows.

#include "kernels/cuda/cuda_kernel.h"
#include "kernels/cuda/device/device_values.h"

namespace hocket::kernels {
namespace {

struct ExpertSizes {
  std::int64_t rows = 0, choices = 0, experts = 0, capacity = 0, width = 0;

  std::int64_t slots() const { return experts * capacity; }
};

__global__ void no_places_kernel(std::size_t count, std::int32_t* places) {
  for_elements<1>(count, [=]<int M>(std::size_t i) { places[i] = -1; });
}

/// A warp gives its expert's places, and says which choice each of the slots has, or −1. Choices of
/// experts that there are not keep the place −1.
__global__ void dispatch_places_kernel(ExpertSizes sizes, const std::int32_t* experts,
                                       std::int32_t* places, std::int32_t* choice_of_slot) {
  const auto expert = static_cast<std::int64_t>(row_of_warp());
  if (expert >= sizes.experts) return;
  const std::int64_t choices = sizes.rows * sizes.choices;
  std::int32_t* const own = choice_of_slot + expert * sizes.capacity;
  std::int64_t taken = 0;
  for (std::int64_t base = 0; base < choices && taken < sizes.capacity; base += kWarp) {
    const std::int64_t i = base + lane();
    const bool is_mine = i < choices && experts[i] == expert;
    const unsigned found = __ballot_sync(kAllLanes, is_mine);
    const std::int64_t place = taken + __popc(found & ((1u << lane()) - 1));
    taken += __popc(found);
    if (!is_mine || place >= sizes.capacity) continue;
    places[i] = static_cast<std::int32_t>(place);
    own[place] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t place = taken + lane(); place < sizes.capacity; place += kWarp) own[place] = -1;
}

/// One warp per slot.
template <class T, int N>
__global__ void dispatch_rows_kernel(ExpertSizes sizes, const std::int32_t* choice_of_slot,
                                     const T* x, T* slots) {
  const auto slot = static_cast<std::int64_t>(row_of_warp());
  if (slot >= sizes.experts * sizes.capacity) return;
  const std::int64_t choice = choice_of_slot[slot];
  const T* const from = x + (choice < 0 ? 0 : choice / sizes.choices) * sizes.width;
  for_row<N>(static_cast<int>(sizes.width), [=](int i) {
    float values[N] = {};
    if (choice >= 0) load(from + i, values);
    store(values, slots + slot * sizes.width + i);
  });
}

/// Returns the slot of a choice, or −1 if it has none or there is no such slot.
__device__ inline std::int64_t slot_of(const ExpertSizes& sizes, const std::int32_t* experts,
                                       const std::int32_t* places, std::int64_t choice) {
  const std::int64_t expert = experts[choice], place = places[choice];
  const bool is_there =
      expert >= 0 && expert < sizes.experts && place >= 0 && place < sizes.capacity;
  return is_there ? expert * sizes.capacity + place : -1;
}

/// One warp per row: the sum of its slots, times their weights where there are some.
template <class T, int N>
__global__ void combine_kernel(ExpertSizes sizes, const T* slots, const std::int32_t* experts,
                               const std::int32_t* places, const T* weights, T* y) {
  const auto row = static_cast<std::int64_t>(row_of_warp());
  if (row >= sizes.rows) return;
  for_row<N>(static_cast<int>(sizes.width), [=](int i) {
    float sums[N] = {};
    for (std::int64_t k = row * sizes.choices; k < (row + 1) * sizes.choices; ++k) {
      const std::int64_t slot = slot_of(sizes, experts, places, k);
      if (slot < 0) continue;
      const float weight = weights ? to_float(weights[k]) : 1.0f;
      float values[N];
      load(slots + slot * sizes.width + i, values);
      for (int j = 0; j < N; ++j) sums[j] += values[j] * weight;
    }
    store(sums, y + row * sizes.width + i);
  });
}

template <class T, int N>
__global__ void zero_slots_kernel(std::size_t count, T* slots) {
  for_elements<N>(count, [=]<int M>(std::size_t i) {
    const float values[M] = {};
    store(values, slots + i);
  });
}

/// One warp per choice, which has its slot alone.
template <class T, int N>
__global__ void combine_gradient_kernel(ExpertSizes sizes, const T* slots,
                                        const std::int32_t* experts, const std::int32_t* places,
                                        const T* weights, const T* dy, T* dslots, T* dweights) {
  const auto choice = static_cast<std::int64_t>(row_of_warp());
  if (choice >= sizes.rows * sizes.choices) return;
  const std::int64_t slot = slot_of(sizes, experts, places, choice);
  const std::int64_t row = choice / sizes.choices;
  const float weight = to_float(weights[choice]);
  float product = 0;
  if (slot >= 0) {
    for_row<N>(static_cast<int>(sizes.width), [&](int i) {
      float values[N], slopes[N];
      load(slots + slot * sizes.width + i, values);
      load(dy + row * sizes.width + i, slopes);
      for (int j = 0; j < N; ++j) {
        product += values[j] * slopes[j];
        slopes[j] *= weight;
      }
      store(slopes, dslots + slot * sizes.width + i);
    });
  }
  product = warp_sum(product);
  if (lane() == 0) assign(product, dweights[choice]);
}

Result<ExpertSizes> sizes_of(const ValueType& experts, const Shape& slots) {
  const ExpertSizes sizes{experts.shape[0], experts.shape[1], slots[0], slots[1], slots[2]};
  HOCKET_TRY(check_sizes({experts.count(), sizes.slots(), sizes.width}));
  return sizes;
}

std::size_t rows_of(std::int64_t rows) {
  return static_cast<std::size_t>(rows);
}

/// dispatch_gradient is a sum without weights.
MadeKernel summed_slots(const KernelSignature& signature, std::size_t slots, std::size_t experts) {
  const auto sizes = sizes_of(signature.operands[experts], signature.operands[slots].shape);
  HOCKET_TRY(sizes);
  const bool has_weights = signature.kind == OperationKind::combine;
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=, sizes = *sizes](const KernelCall& call, const DeviceTask& task) {
    const auto buffers = {call.operands[slots], static_cast<const void*>(call.results[0])};
    return dispatch(type, static_cast<std::size_t>(sizes.width), buffers, [&]<class T, int N>() {
      return launch("sum of slots", combine_kernel<T, N>, rows_grid(rows_of(sizes.rows)),
                    task.stream, sizes, operand_of<T>(call, slots),
                    operand_of<std::int32_t>(call, experts),
                    operand_of<std::int32_t>(call, experts + 1),
                    has_weights ? operand_of<T>(call, 3) : nullptr, result_of<T>(call));
    });
  });
}

}  // namespace

MadeKernel make_dispatch(const KernelSignature& signature) {
  const auto made = sizes_of(signature.operands[1], signature.results[0].shape);
  HOCKET_TRY(made);
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel(
      {.scratch_bytes = made->slots() * 4},
      [=, sizes = *made](const KernelCall& call, const DeviceTask& task) -> Result<void> {
        const std::size_t choices = rows_of(sizes.rows * sizes.choices);
        auto* const places = result_of<std::int32_t>(call, 1);
        auto* const choice_of_slot = scratch_of<std::int32_t>(call);
        HOCKET_TRY(launch("places of dispatch", no_places_kernel, elements_grid(choices, 1),
                          task.stream, choices, places));
        HOCKET_TRY(launch("places of dispatch", dispatch_places_kernel,
                          rows_grid(rows_of(sizes.experts)), task.stream, sizes,
                          operand_of<std::int32_t>(call, 1), places, choice_of_slot));
        const auto buffers = {call.operands[0], static_cast<const void*>(call.results[0])};
        const auto width = static_cast<std::size_t>(sizes.width);
        return dispatch(type, width, buffers, [&]<class T, int N>() {
          return launch("dispatch", dispatch_rows_kernel<T, N>, rows_grid(rows_of(sizes.slots())),
                        task.stream, sizes, choice_of_slot, operand_of<T>(call, 0),
                        result_of<T>(call));
        });
      });
}

MadeKernel make_dispatch_gradient(const KernelSignature& signature) {
  return summed_slots(signature, 2, 0);
}

MadeKernel make_combine(const KernelSignature& signature) {
  return summed_slots(signature, 0, 1);
}

MadeKernel make_combine_gradient(const KernelSignature& signature) {
  const auto made = sizes_of(signature.operands[1], signature.operands[0].shape);
  HOCKET_TRY(made);
  const ElementType type = element_type(signature.results[0].numbers);
  return cuda_kernel({}, [=, sizes = *made](const KernelCall& call, const DeviceTask& task) {
    const auto buffers = {call.operands[0], call.operands[4],
                          static_cast<const void*>(call.results[0])};
    const auto width = static_cast<std::size_t>(sizes.width);
    return dispatch(type, width, buffers, [&]<class T, int N>() -> Result<void> {
      const std::size_t numbers = rows_of(sizes.slots()) * width;
      HOCKET_TRY(launch("zeros of combine_gradient", zero_slots_kernel<T, N>,
                        elements_grid(numbers, N), task.stream, numbers, result_of<T>(call)));
      return launch("combine_gradient", combine_gradient_kernel<T, N>,
                    rows_grid(rows_of(sizes.rows * sizes.choices)), task.stream, sizes,
                    operand_of<T>(call, 0), operand_of<std::int32_t>(call, 1),
                    operand_of<std::int32_t>(call, 2), operand_of<T>(call, 3),
                    operand_of<T>(call, 4), result_of<T>(call, 0), result_of<T>(call, 1));
    });
  });
}

}  // namespace hocket::kernels
