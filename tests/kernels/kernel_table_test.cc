#include "kernels/kernel_table.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

using Kind = OperationKind;

constexpr NumberType kFloat32 = NumberType::float32, kBfloat16 = NumberType::bfloat16;

/// A kernel that does nothing.
class IdleKernel : public Kernel {
 public:
  IdleKernel() : Kernel({.units = 3}) {}

  using Kernel::run;
  Result<void> run(const KernelCall&, UnitRange range) const override {
    if (range.begin == 0 && range.end == 3) return {};
    return invalid("a part");
  }
};

Result<std::unique_ptr<Kernel>> make_idle(const KernelSignature&) {
  return std::make_unique<IdleKernel>();
}
Result<std::unique_ptr<Kernel>> refuse(const KernelSignature&) {
  return invalid("too large");
}

KernelSignature product(NumberType from, NumberType to) {
  return {Kind::matmul, {}, {{from, {4, 8}}, {from, {8, 2}}}, {{to, {4, 2}}}};
}

TEST(KernelTable, FindsByKindTypesAndDevice) {
  KernelTable table;
  table.add(Kind::matmul, {}, KernelDevice::host, make_idle);
  const auto made = table.make(product(kFloat32, kFloat32), KernelDevice::host);
  ASSERT_TRUE(made);
  EXPECT_TRUE((*made)->run({}));
  EXPECT_FALSE((*made)->run({}, {1, 2}));
  EXPECT_TRUE(table.find(product(kFloat32, kFloat32), KernelDevice::host));
  EXPECT_FALSE(table.find(product(kFloat32, kFloat32), KernelDevice::cuda));
  EXPECT_FALSE(table.find(product(kBfloat16, kFloat32), KernelDevice::host));
  EXPECT_FALSE(table.find(product(kBfloat16, kBfloat16), KernelDevice::host));
}

TEST(KernelTable, SaysWhatIsMissingAndWhatThereIs) {
  KernelTable table;
  table.add(Kind::matmul, {kBfloat16, kFloat32}, KernelDevice::cuda, make_idle);
  table.add(Kind::matmul, {}, KernelDevice::cuda, make_idle);
  const auto missing = table.make(product(kBfloat16, kBfloat16), KernelDevice::cuda);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message,
            "matmul of bfloat16[4, 8] and bfloat16[8, 2] has no kernel on a CUDA device, where "
            "there are those for float32, bfloat16 to float32; convert its operands");
  EXPECT_EQ(table.find(product(kFloat32, kFloat32), KernelDevice::host).error().message,
            "matmul of float32[4, 8] and float32[8, 2] has no kernel on the host, which has none "
            "for matmul; write the graph without it");
}

TEST(KernelTable, NamesTheOperationThatCannotBePrepared) {
  KernelTable table;
  table.add(Kind::matmul, {}, KernelDevice::host, refuse);
  EXPECT_EQ(table.make(product(kFloat32, kFloat32), KernelDevice::host).error().message,
            "matmul of float32[4, 8] and float32[8, 2]: too large");
}

TEST(KernelTable, TypesAreThoseOfNumbersThatAreNoIndices) {
  const ValueType whole{NumberType::int32, {2}};
  const auto expect = [](const KernelSignature& signature, KernelTypes types) {
    EXPECT_EQ(types_of(signature), types);
  };
  expect({Kind::embedding_gradient, {}, {whole, {kBfloat16, {2, 3}}}, {{kBfloat16, {9, 3}}}},
         {kBfloat16, kBfloat16});
  expect({Kind::cross_entropy, {}, {{kBfloat16, {2, 3}}, whole}, {{kFloat32, {2}}}},
         {kBfloat16, kFloat32});
  expect({Kind::reshape, {}, {whole}, {whole}}, {NumberType::int32, NumberType::int32});
  expect({Kind::constant, {}, {}, {whole}}, {NumberType::int32, NumberType::int32});
}

}  // namespace
}  // namespace hocket
