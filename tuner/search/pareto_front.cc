#include "tuner/search/pareto_front.h"

#include <algorithm>

namespace hocket {
namespace {

bool at_most(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x <= y; });
}

}  // namespace

std::vector<std::size_t> pareto_front(std::span<const std::vector<double>> values) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool stays = true;
    for (std::size_t j = 0; stays && j < values.size(); ++j) {
      if (i == j || !at_most(values[j], values[i])) continue;
      stays = values[j] == values[i] && i < j;
    }
    if (stays) front.push_back(i);
  }
  return front;
}

}  // namespace hocket
