#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class LayerNormKernels : public KernelTest {};

/// Inputs, and the results of the forward pass that the backward pass needs.
struct NormCase {
  explicit NormCase(KernelCase& of, int most_rows = 20)
      : NormCase(of, {.rows = of.integer(1, most_rows), .width = of.width()}) {}
  NormCase(KernelCase& of, const LayerNormShape& of_shape)
      : shape(of_shape),
        x(of.normal(std::size_t(shape.rows) * shape.width, 1, 2)),
        dy(of.normal(x.size())),
        gain(of.normal_float32(shape.width, 1, 0.5f)),
        bias(of.normal_float32(shape.width)),
        y(x.size()),
        statistics(2 * shape.rows) {
    layer_norm_forward(shape, x, gain, bias, y, statistics);
  }
  LayerNormShape shape;
  Vector x, dy, gain, bias, y, statistics;
};

void check_forward(const KernelCase& of, const NormCase& norm) {
  const DeviceArray in(of, norm.x);
  const DeviceArray gain = float32_array(of, norm.gain), bias = float32_array(of, norm.bias);
  Vector statistics;
  const Vector y = same_each_time([&] {
    const DeviceArray out(of, junk(norm.y.size()));
    const DeviceArray kept = float32_array(of, junk(norm.statistics.size()));
    EXPECT_TRUE(kernels::layer_norm_forward(norm.shape, of.type, in.data(), gain.as<float>(),
                                            bias.as<float>(), out.data(), kept.as<float>(),
                                            kernel_device()->stream()));
    statistics = kept.read();
    return out.read();
  });
  expect_close(y, norm.y, of.type);
  expect_close(statistics, norm.statistics, ElementType::float32);
}

void check_backward_input(KernelCase& of, const NormCase& norm) {
  const Vector skipped = of.normal(norm.x.size());
  Vector without(norm.x.size()), with(norm.x.size());
  layer_norm_backward_input(norm.shape, norm.x, norm.gain, norm.statistics, norm.dy, {}, without);
  layer_norm_backward_input(norm.shape, norm.x, norm.gain, norm.statistics, norm.dy, skipped, with);
  const DeviceArray in(of, norm.x), gradient(of, norm.dy),
      gain = float32_array(of, norm.gain), statistics = float32_array(of, norm.statistics);
  const auto apply = [&](const void* skip, const DeviceArray& dx) {
    EXPECT_TRUE(kernels::layer_norm_backward_input(norm.shape, of.type, in.data(), gain.as<float>(),
                                                   statistics.as<float>(), gradient.data(), skip,
                                                   dx.data(), kernel_device()->stream()));
    return dx.read();
  };
  const DeviceArray skip(of, skipped);
  const Vector empty = junk(norm.x.size());
  const float tolerance = 1e-4f;  // the reciprocal deviation of a narrow row is large
  expect_close(same_each_time([&] { return apply(nullptr, DeviceArray(of, empty)); }), without,
               of.type, tolerance);
  expect_close(same_each_time([&] { return apply(skip.data(), DeviceArray(of, empty)); }), with,
               of.type, tolerance);
  expect_close(apply(skip.data(), skip), with, of.type, tolerance);
  expect_close(apply(nullptr, gradient), without, of.type, tolerance);
}

TEST_F(LayerNormKernels, Forward) {
  for_kernel_cases([](KernelCase& of) { check_forward(of, NormCase(of)); });
}

TEST_F(LayerNormKernels, BackwardInput) {
  for_kernel_cases([](KernelCase& of) { check_backward_input(of, NormCase(of)); });
}

// Widths at which another number of packs stays in registers, and one beyond.
TEST_F(LayerNormKernels, RowsOfTheModels) {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    for (const int width : {760, 768, 776, 1024, 1280, 1600, 1608}) {
      SCOPED_TRACE(width);
      KernelCase of(static_cast<std::uint64_t>(width), type, 0);
      const NormCase norm(of, {.rows = 3, .width = width});
      check_forward(of, norm);
      check_backward_input(of, norm);
    }
  }
}

TEST_F(LayerNormKernels, BackwardWeight) {
  for_kernel_cases([](KernelCase& of) {
    const NormCase norm(of, 300);
    const Vector gain_before = of.normal_float32(norm.shape.width),
                 bias_before = of.normal_float32(norm.shape.width);
    const DeviceArray in(of, norm.x), gradient(of, norm.dy),
        statistics = float32_array(of, norm.statistics);
    for (const bool add : {false, true}) {
      SCOPED_TRACE(add ? "added" : "overwritten");
      Vector expected = gain_before, expected_bias = bias_before, bias;
      layer_norm_backward_weight(norm.shape, norm.x, norm.statistics, norm.dy, expected,
                                 expected_bias, add);
      const Vector gain = same_each_time([&] {
        const DeviceArray scratch =
            float32_array(of, junk(kernels::layer_norm_scratch_floats(norm.shape)));
        const DeviceArray dgain = float32_array(of, add ? gain_before : junk(norm.shape.width)),
                          dbias = float32_array(of, add ? bias_before : junk(norm.shape.width));
        EXPECT_TRUE(kernels::layer_norm_backward_weight(
            norm.shape, of.type, in.data(), statistics.as<float>(), gradient.data(),
            scratch.as<float>(), dgain.as<float>(), dbias.as<float>(), add,
            kernel_device()->stream()));
        bias = dbias.read();
        return dgain.read();
      });
      expect_close(gain, expected, ElementType::float32, 1e-4f);
      expect_close(bias, expected_bias, ElementType::float32, 1e-4f);
    }
  });
}

}  // namespace
}  // namespace hocket
