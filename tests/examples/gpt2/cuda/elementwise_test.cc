// Tests GELU, the residual connection, the optimiser's update and rounding against the host's.

#include <cmath>
#include <span>
#include <vector>

#include "examples/gpt2/cuda/kernels.h"
#include "tests/examples/gpt2/cuda/kernel_cases.h"

namespace hocket {
namespace {

class ElementwiseKernels : public KernelTest {};

std::size_t draw_count(KernelCase& of) {
  return static_cast<std::size_t>(of.width()) * of.integer(1, 3);
}

TEST_F(ElementwiseKernels, GeluForward) {
  for_kernel_cases([](KernelCase& of) {
    const Vector x = of.normal(draw_count(of), 0, 3);
    Vector expected(x.size());
    gelu_forward(x, expected);
    const DeviceArray in(of, x);
    const auto apply = [&](const DeviceArray& out) {
      EXPECT_TRUE(kernels::gelu_forward(x.size(), of.type, in.data(), out.data(),
                                        kernel_device()->stream()));
      return out.read();
    };
    expect_close(same_each_time([&] { return apply(DeviceArray(of, junk(x.size()))); }), expected,
                 of.type, 2e-6f);
    expect_close(apply(in), expected, of.type, 2e-6f);
  });
}

TEST_F(ElementwiseKernels, GeluBackward) {
  for_kernel_cases([](KernelCase& of) {
    const Vector x = of.normal(draw_count(of), 0, 3), dy = of.normal(x.size());
    Vector expected = dy;
    gelu_backward(x, expected);
    const DeviceArray in(of, x);
    const Vector dx = same_each_time([&] {
      const DeviceArray gradient(of, dy);
      EXPECT_TRUE(kernels::gelu_backward(x.size(), of.type, in.data(), gradient.data(),
                                         kernel_device()->stream()));
      return gradient.read();
    });
    expect_close(dx, expected, of.type, 2e-6f);
  });
}

TEST_F(ElementwiseKernels, GeluStaysFiniteFarOut) {
  const Vector x{-1e4f, -200, 200, 1e4f};
  const DeviceArray in(x, ElementType::float32, 0), out(junk(4), ElementType::float32, 0),
      gradient(Vector(4, 1), ElementType::float32, 0);
  const DeviceStream stream = kernel_device()->stream();
  ASSERT_TRUE(kernels::gelu_forward(4, ElementType::float32, in.data(), out.data(), stream));
  ASSERT_TRUE(kernels::gelu_backward(4, ElementType::float32, in.data(), gradient.data(), stream));
  expect_close(out.read(), {0, 0, 200, 1e4f}, ElementType::float32, 1e-9f);
  expect_close(gradient.read(), {0, 0, 1, 1}, ElementType::float32, 1e-9f);
}

TEST_F(ElementwiseKernels, ResidualAdd) {
  for_kernel_cases([](KernelCase& of) {
    const Vector x = of.normal(draw_count(of)), before = of.normal(x.size());
    Vector expected = before;
    residual_add(x, expected);
    const DeviceArray in(of, x);
    const Vector y = same_each_time([&] {
      const DeviceArray out(of, before);
      EXPECT_TRUE(kernels::residual_add(x.size(), of.type, in.data(), out.data(),
                                        kernel_device()->stream()));
      return out.read();
    });
    EXPECT_EQ(y, rounded(expected, of.type));
  });
}

TEST_F(ElementwiseKernels, AdamWUpdate) {
  for_kernel_cases([](KernelCase& of) {
    const std::size_t count = draw_count(of);
    const Vector gradients = of.normal_float32(count), parameters = of.normal_float32(count),
                 first = of.normal_float32(count);
    Vector second = of.normal_float32(count);
    for (float& v : second) v *= v;
    const AdamW options{.learning_rate = 0.01};
    const int update = of.integer(1, 1000);
    const bool copies = of.type == ElementType::bfloat16;
    std::vector<AdamWRange> ranges;
    for (std::size_t left = count; left > 0; left -= ranges.back().size) {
      const bool is_last = ranges.size() + 1 == kMostAdamWRanges;
      const auto size = static_cast<std::size_t>(of.integer(1, static_cast<int>(left)));
      ranges.push_back({is_last ? left : size, of.integer(0, 1) == 1});
    }
    Vector expected = parameters, expected_first = first, expected_second = second;
    std::size_t begin = 0;
    for (const AdamWRange& range : ranges) {
      const auto part = [&](auto& all) { return std::span(all).subspan(begin, range.size); };
      adamw_update(options, update, range.decay, 0.25, part(gradients), part(expected),
                   part(expected_first), part(expected_second));
      begin += range.size;
    }

    const DeviceArray gradient = float32_array(of, gradients);
    const DeviceArray parameter = float32_array(of, parameters);
    const DeviceArray m = float32_array(of, first), v = float32_array(of, second);
    const DeviceArray copy(of, junk(count));
    const DeviceCount updates(update - 1);
    const DeviceArray corrections = float32_array(of, Vector(2));
    ASSERT_TRUE(kernels::adamw_update(options, updates.data(), 0.25, ranges, gradient.as<float>(),
                                      parameter.as<float>(), m.as<float>(), v.as<float>(),
                                      copies ? copy.data() : nullptr, corrections.as<float>(),
                                      kernel_device()->stream()));
    EXPECT_EQ(updates.read(), update);
    const Vector after = parameter.read();
    expect_close(after, expected, ElementType::float32, 2e-6f);
    expect_close(m.read(), expected_first, ElementType::float32, 1e-6f);
    expect_close(v.read(), expected_second, ElementType::float32, 1e-6f);
    EXPECT_EQ(copy.read(), copies ? rounded(after, of.type) : junk(count));
  });
}

TEST_F(ElementwiseKernels, ConvertRounds) {
  for_kernel_cases([](KernelCase& of) {
    const Vector values = of.normal_float32(draw_count(of), 0, 100);
    const DeviceArray from = float32_array(of, values);
    const DeviceArray to(junk(values.size()), ElementType::bfloat16, of.shift);
    ASSERT_TRUE(
        kernels::convert(values.size(), from.as<float>(), to.data(), kernel_device()->stream()));
    EXPECT_EQ(to.read(), rounded(values, ElementType::bfloat16));
  });
}

TEST_F(ElementwiseKernels, NothingIsDoneToNothing) {
  const DeviceArray x(Vector{}, ElementType::float32, 0);
  EXPECT_TRUE(kernels::gelu_forward(0, ElementType::float32, x.data(), x.data(),
                                    kernel_device()->stream()));
}

}  // namespace
}  // namespace hocket
