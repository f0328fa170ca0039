#include "tuner/percent.h"

#include <cmath>
#include <cstdio>

namespace hocket {

std::string percent(double share) {
  const double value = 100 * share;
  char text[400];  // as long as the largest double
  std::snprintf(text, sizeof text, std::abs(value) < 0.995 && value != 0 ? "%.2g %%" : "%.1f %%",
                value);
  return text;
}

}  // namespace hocket
