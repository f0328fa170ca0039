#include "tuner/trial/process/capture.h"

#include <gtest/gtest.h>

#include <string>

namespace hocket {
namespace {

TEST(OutputCapture, AnExcerptIsWhatALowerLimitWouldHaveKept) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += std::to_string(i) + (i % 7 == 0 ? "\n" : " ");
  for (const std::size_t limit : {10u, 64u, 256u, 500u, 4000u}) {
    OutputCapture whole(limit);
    for (std::size_t at = 0; at < text.size(); at += 13) {
      whole.append(std::string_view(text).substr(at, 13));
      for (const std::size_t lower : {0u, 2u, 10u, 60u, 64u, 200u, 256u, 498u}) {
        if (lower > limit) continue;
        OutputCapture part(lower);
        part.append(std::string_view(text).substr(0, at + 13));
        ASSERT_EQ(whole.excerpt(lower), part.text()) << limit << ' ' << lower << ' ' << at;
      }
      EXPECT_EQ(whole.excerpt(limit), whole.text());
    }
  }
}

TEST(OutputCapture, AShortTextIsKeptAsItIs) {
  OutputCapture capture(100);
  capture.append("one\ntwo");
  EXPECT_EQ(capture.excerpt(8), "one\ntwo");
  EXPECT_EQ(capture.excerpt(6), "one\n[1 bytes left out]\ntwo");
}

}  // namespace
}  // namespace hocket
