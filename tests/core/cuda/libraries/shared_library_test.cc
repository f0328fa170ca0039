#include "core/cuda/libraries/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::HasSubstr;

struct Mathematics {
  double (*cosine)(double);
  double (*missing)(double);
};

constexpr auto kFindCosine = [](FunctionLookup& library, Mathematics& f) {
  library.find("cos", f.cosine);
};

TEST(SharedLibrary, GivesTheFunctionsOfTheFirstCandidateThatHasThemAll) {
  const std::vector<std::string> candidates{"libno-such-library.so", "libm.so.6"};
  const auto loaded = load_functions<Mathematics>(candidates, kFindCosine);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->cosine(0), 1);
  EXPECT_THAT(library_file(reinterpret_cast<const void*>(loaded->cosine)), HasSubstr("libm"));
}

TEST(SharedLibrary, AFileThatCannotBeOpenedIsNamed) {
  const auto loaded = load_functions<Mathematics>("libno-such-library.so", kFindCosine);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::not_found);
  EXPECT_THAT(loaded.error().message, HasSubstr("libno-such-library.so"));
}

TEST(SharedLibrary, TheFirstMissingFunctionIsNamed) {
  const auto loaded =
      load_functions<Mathematics>("libm.so.6", [](FunctionLookup& library, Mathematics& f) {
        library.find("cos", f.cosine);
        library.find("no_such_function", f.missing);
        library.find("neither_this", f.missing);
      });
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "libm.so.6 has no function no_such_function");
}

TEST(SharedLibrary, WithoutCandidatesNothingIsFound) {
  EXPECT_FALSE(load_functions<Mathematics>(std::vector<std::string>{}, kFindCosine));
}

}  // namespace
}  // namespace hocket
