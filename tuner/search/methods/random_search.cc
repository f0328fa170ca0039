#include "tuner/search/methods/random_search.h"

#include "tuner/search/methods/model_free.h"

namespace hocket {
namespace {

class RandomSearch final : public ModelFreeSearch {
 public:
  RandomSearch(Space space, std::uint64_t seed) : ModelFreeSearch(std::move(space), seed) {}

 private:
  std::optional<Suggestion> propose() override {
    auto params = random_point();
    if (!params) return std::nullopt;
    return Suggestion{std::move(*params), "drawn at random"};
  }
};

}  // namespace

std::unique_ptr<Search> make_random_search(Space space, std::uint64_t seed) {
  return std::make_unique<RandomSearch>(std::move(space), seed);
}

}  // namespace hocket
