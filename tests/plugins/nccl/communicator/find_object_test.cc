// The unwinder's lookup that the plugin has for glibc before 2.35, in a program with GCC's unwinder
// and C++ library in it, like the plugin.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

namespace hocket::nccl {
namespace {

TEST(FindObject, AgreesWithGlibcs) {
  using Find = int (*)(void*, dl_find_object*);
  const auto of_glibc = reinterpret_cast<Find>(dlsym(RTLD_NEXT, "_dl_find_object"));
  ASSERT_NE(of_glibc, nullptr);
  ASSERT_NE(of_glibc, static_cast<Find>(&_dl_find_object)) << "this program has none of its own";
  for (void* address : {reinterpret_cast<void*>(&dlsym), reinterpret_cast<void*>(&std::abort),
                        reinterpret_cast<void*>(+[] {})}) {
    dl_find_object own = {}, expected = {};
    ASSERT_EQ(_dl_find_object(address, &own), 0);
    ASSERT_EQ(of_glibc(address, &expected), 0);
    EXPECT_EQ(own.dlfo_eh_frame, expected.dlfo_eh_frame);
  }
  int on_the_stack = 0;
  dl_find_object none = {};
  EXPECT_NE(_dl_find_object(&on_the_stack, &none), 0);
  EXPECT_NE(_dl_find_object(nullptr, &none), 0);
}

TEST(FindObject, ExceptionsAreCaught) {
  const auto throws = [](int depth, const auto& self) -> int {
    if (depth == 0) throw std::runtime_error("deep");
    return self(depth - 1, self) + 1;
  };
  try {
    throws(20, throws);
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_EQ(std::string(error.what()), "deep");
  }
}

}  // namespace
}  // namespace hocket::nccl

#endif
