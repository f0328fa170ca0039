#include "tuner/space/sobol_sequence.h"

#include "tuner/search/methods/model_free.h"
#include "tuner/search/methods/sobol_search.h"

namespace hocket {
namespace {

/// Consecutive points that are not new, after which any remaining setting is taken.
constexpr std::uint64_t kSobolTries = 1024;
constexpr std::size_t kBatch = 16;

class SobolSearch final : public ModelFreeSearch {
 public:
  SobolSearch(Space space, std::uint64_t seed) : ModelFreeSearch(std::move(space), seed) {}

 private:
  std::optional<Suggestion> propose() override {
    for (std::uint64_t tries = 0; tries < kSobolTries; tries += kBatch) {
      const auto batch = sobol_points(space().parameters().size(), next_, kBatch, seed());
      for (const UnitPoint& point : batch) {
        Params params = space().decode(point);
        if (is_new(params)) {
          return Suggestion{std::move(params),
                            "point " + std::to_string(next_ + 1) + " of a Sobol sequence"};
        }
        ++next_;
      }
    }
    return std::nullopt;
  }

  std::uint64_t next_ = 0;  ///< no earlier point of the sequence is new
};

}  // namespace

std::unique_ptr<Search> make_sobol_search(Space space, std::uint64_t seed) {
  return std::make_unique<SobolSearch>(std::move(space), seed);
}

}  // namespace hocket
