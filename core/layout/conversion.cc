#include "core/layout/conversion.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/check.h"

namespace hocket {
namespace {

class Conversion {
 public:
  Conversion(const Layout& from, const Layout& to, const Mesh& mesh)
      : present_(from), to_(to), axes_(mesh.axes().size()) {}

  std::vector<ConversionStep> find() && {
    // Each turn removes a division that is in the way, or puts the next one into its place, so
    // there are at most as many as divisions of both layouts.
    while (step()) {
    }
    HOCKET_CHECK(present_ == to_, "the layout that was asked for");
    return std::move(steps_);
  }

 private:
  /// Takes the next step, of those that send least first.
  bool step() {
    for (std::size_t d = 0; d < to_.rank(); ++d) {
      const auto next = next_division(d);
      if (next && present_.is_whole(next->axis)) return put(ConversionKind::slice, d, *next);
    }
    for (std::size_t d = 0; d < to_.rank(); ++d) {
      const auto next = next_division(d);
      if (next && present_.is_partial(next->axis))
        return put(ConversionKind::reduce_scatter, d, *next);
    }
    if (reduce_sums()) return true;
    if (make_summand()) return true;
    for (std::size_t d = 0; d < to_.rank(); ++d) {
      if (has_prefix(d)) continue;
      const DividedDimension last = present_.divided(d).back();
      const auto place = to_.place(last.axis);
      const auto next = place ? next_division(place->dimension) : std::nullopt;
      if (next && next->axis == last.axis) return move(d, last, *place);
    }
    for (std::size_t d = 0; d < to_.rank(); ++d)
      if (!has_prefix(d)) return gather(d);
    return false;
  }

  /// Returns whether the present divisions of a dimension are the first ones of those sought.
  bool has_prefix(std::size_t dimension) const {
    const auto& present = present_.divided(dimension);
    const auto& sought = to_.divided(dimension);
    return present.size() <= sought.size() &&
           std::equal(present.begin(), present.end(), sought.begin());
  }

  std::optional<DividedDimension> next_division(std::size_t dimension) const {
    if (!has_prefix(dimension)) return std::nullopt;
    const std::size_t done = present_.divided(dimension).size();
    const auto& sought = to_.divided(dimension);
    return done < sought.size() ? std::optional(sought[done]) : std::nullopt;
  }

  bool put(ConversionKind kind, std::size_t dimension, const DividedDimension& next) {
    const Layout before = present_;
    const DividedPlace place{dimension, next.parts};
    present_.make_whole(next.axis);
    present_.divide(next.axis, place);
    if (!steps_.empty() && kind == ConversionKind::reduce_scatter) {
      ConversionStep& last = steps_.back();
      if (last.kind == kind && last.to == place && last.axes.back() < next.axis) {
        last.axes.push_back(next.axis);
        last.after = present_;
        return true;
      }
    }
    steps_.push_back({kind, {next.axis}, {}, place, before, present_});
    return true;
  }

  bool move(std::size_t from, const DividedDimension& last, const DividedPlace& place) {
    const Layout before = present_;
    present_.make_whole(last.axis);
    present_.divide(last.axis, place);
    steps_.push_back(
        {ConversionKind::all_to_all, {last.axis}, {from, last.parts}, place, before, present_});
    return true;
  }

  bool gather(std::size_t dimension) {
    const Layout before = present_;
    const DividedDimension last = present_.divided(dimension).back();
    const DividedPlace place{dimension, last.parts};
    present_.make_whole(last.axis);
    if (!steps_.empty()) {
      ConversionStep& step = steps_.back();
      if (step.kind == ConversionKind::all_gather && step.from == place &&
          step.axes.front() > last.axis) {
        step.axes.insert(step.axes.begin(), last.axis);
        step.after = present_;
        return true;
      }
    }
    steps_.push_back({ConversionKind::all_gather, {last.axis}, place, {}, before, present_});
    return true;
  }

  /// Sums what is whole in the end.
  bool reduce_sums() {
    ConversionStep step{ConversionKind::all_reduce, {}, {}, {}, present_, {}};
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      if (!present_.is_partial(axis) || !to_.is_whole(axis)) continue;
      step.axes.push_back(axis);
      present_.make_whole(axis);
    }
    if (step.axes.empty()) return false;
    step.after = present_;
    steps_.push_back(std::move(step));
    return true;
  }

  bool make_summand() {
    ConversionStep step{ConversionKind::summand, {}, {}, {}, present_, {}};
    for (std::size_t axis = 0; axis < axes_; ++axis) {
      if (!present_.is_whole(axis) || !to_.is_partial(axis)) continue;
      step.axes.push_back(axis);
      present_.make_partial(axis);
    }
    if (step.axes.empty()) return false;
    step.after = present_;
    steps_.push_back(std::move(step));
    return true;
  }

  Layout present_;
  const Layout& to_;
  const std::size_t axes_;
  std::vector<ConversionStep> steps_;
};

}  // namespace

std::string_view to_string(ConversionKind kind) {
  constexpr std::array<std::string_view, 6> names{"slice",      "all_reduce", "reduce_scatter",
                                                  "all_gather", "all_to_all", "summand"};
  return names[static_cast<std::size_t>(kind)];
}

double ConversionStep::sent_bytes(const ValueType& type, const Mesh& mesh) const {
  if (kind == ConversionKind::slice || kind == ConversionKind::summand) return 0;
  double ranks = 1;
  for (const std::size_t axis : axes) ranks *= static_cast<double>(mesh.axes()[axis].size);
  const Layout& larger = kind == ConversionKind::all_gather ? after : before;
  const auto numbers = count_of(local_shape(larger, type.shape, mesh));
  const double bytes = static_cast<double>(numbers * number_bytes(type.numbers));
  return (kind == ConversionKind::all_reduce ? 2 : 1) * bytes * (ranks - 1) / ranks;
}

std::vector<ConversionStep> convert_layout(const Layout& from, const Layout& to, const Mesh& mesh) {
  return Conversion(from, to, mesh).find();
}

double sent_bytes(const std::vector<ConversionStep>& steps, const ValueType& type,
                  const Mesh& mesh) {
  double bytes = 0;
  for (const ConversionStep& step : steps) bytes += step.sent_bytes(type, mesh);
  return bytes;
}

}  // namespace hocket
