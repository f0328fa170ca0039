#include <utility>

#include "tuner/search/initial_design.h"

namespace hocket {
namespace {

class TransferredDesign final : public InitialDesign {
 public:
  TransferredDesign(std::vector<Params> replayed, std::string reason,
                    std::unique_ptr<InitialDesign> then)
      : replayed_(std::move(replayed)), reason_(std::move(reason)), then_(std::move(then)) {}

  std::size_t size() const override { return replayed_.size() + then_->size(); }

  Params point(std::uint64_t index) const override {
    return is_replayed(index) ? replayed_[index - 1] : then_->point(place(index));
  }

  std::string reason(std::uint64_t index) const override {
    return is_replayed(index) ? reason_ : then_->reason(place(index));
  }

 private:
  bool is_replayed(std::uint64_t index) const { return index > 0 && index <= replayed_.size(); }
  std::uint64_t place(std::uint64_t index) const {
    return index == 0 ? 0 : index - replayed_.size();
  }

  const std::vector<Params> replayed_;
  const std::string reason_;
  const std::unique_ptr<InitialDesign> then_;
};

}  // namespace

std::unique_ptr<InitialDesign> transferred_design(std::vector<Params> replayed, std::string reason,
                                                  std::unique_ptr<InitialDesign> then) {
  return std::make_unique<TransferredDesign>(std::move(replayed), std::move(reason),
                                             std::move(then));
}

}  // namespace hocket
