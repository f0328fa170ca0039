#include "examples/gpt2/model/layers.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace hocket {
namespace {

/// Granularity, in rows, of a gradient's pieces where it divides the rows; smaller pieces make
/// products inefficient.
constexpr int kRowsOfUnit = 16;

/// Returns a slice of a gradient's own data, which begin with the gradient, and the same slice of
/// all gradients of the group.
std::vector<DimensionSlice> gradient_slices(const BufferSlice& gradient,
                                            std::int64_t bytes_per_unit, std::size_t tail_bytes) {
  const DimensionSlice own{.data = {},
                           .begin_bytes = 0,
                           .bytes_per_unit = bytes_per_unit,
                           .tail_bytes = static_cast<std::int64_t>(tail_bytes)};
  DimensionSlice of_all = own;
  of_all.begin_bytes = static_cast<std::int64_t>(gradient.offset * sizeof(float));
  return {own, of_all};
}

}  // namespace

std::vector<Dimension> weight_gradient_dimensions(const Backend& backend, int rows, int tokens,
                                                  const BufferSlice& weight,
                                                  std::size_t bias_bytes) {
  if (!backend.divides()) return {};
  const int unit_rows = std::gcd(rows, kRowsOfUnit);
  const auto row_bytes = static_cast<std::int64_t>(weight.size * sizeof(float)) / rows;
  return {{.name = "rows",
           .kind = DimensionKind::outer,
           .extent = rows / unit_rows,
           .slices = gradient_slices(weight, unit_rows * row_bytes, bias_bytes)},
          {.name = "batch",
           .kind = DimensionKind::contraction,
           .extent = tokens / std::gcd(tokens, kRowsOfUnit),
           .slices = {}}};
}

GradientPart gradient_part(const TaskPiece& piece, const GradientPart& whole) {
  GradientPart part = whole;
  const bool sums = piece.dimension == 1;
  int& begin = sums ? part.token_begin : part.row_begin;
  int& end = sums ? part.token_end : part.row_end;
  const std::int64_t unit = std::gcd(end, kRowsOfUnit);
  begin = static_cast<int>(piece.begin * unit);
  end = static_cast<int>(std::min<std::int64_t>(piece.end * unit, end));
  part.add = whole.add || (sums && begin > 0);
  return part;
}

Linear::Linear(ParameterGroup& group, const std::string& name, std::size_t weight,
               const LinearShape& shape, MicroBatch of)
    : group_(group),
      micro_batch_(of),
      tasks_(group.name() + "." + name, group.layer(), of),
      gelu_tasks_(group.name() + ".gelu", group.layer(), of),
      add_task_(group.name() + ".add", "forward", group.layer(), of.place()),
      shape_(shape),
      index_(weight),
      weight_(group.weights(weight)),
      bias_(group.weights(weight + 1)),
      dweight_(group.gradient(weight)),
      dbias_(group.gradient(weight + 1)) {
  tasks_.weight_gradient.place.dimensions = weight_gradient_dimensions(
      group.backend(), shape.in, shape.rows, dweight_, dbias_.size * sizeof(float));
}

void Linear::submit_forward(Submitter& submitter, const Buffer& x, Buffer& y) const {
  submitter.compute(
      tasks_.forward.options(group_.priorities().forward),
      std::array{read(group_.parameters().id), read(x.id), write(y.id)},
      [this, &x, &y] { group_.backend().linear_forward(shape_, x, weight_, bias_, {}, y); });
}

void Linear::submit_forward(Submitter& submitter, const Buffer& x, const Buffer& residual,
                            Buffer& y) const {
  const std::uint32_t priority = group_.priorities().forward;
  if (group_.backend().fuses()) {
    submitter.compute(
        tasks_.forward.options(priority),
        std::array{read(group_.parameters().id), read(x.id), read(residual.id), write(y.id)},
        [this, &x, &residual, &y] {
          group_.backend().linear_forward(shape_, x, weight_, bias_, residual, y);
        });
    return;
  }
  submit_forward(submitter, x, y);
  submitter.compute(add_task_.options(priority), std::array{read(residual.id), update(y.id)},
                    [this, &residual, &y] { group_.backend().residual_add(residual, y); });
}

void Linear::submit_gelu_forward(Submitter& submitter, const Buffer& x, Buffer& before,
                                 Buffer& y) const {
  const std::uint32_t priority = group_.priorities().forward;
  if (group_.backend().fuses()) {
    submitter.compute(
        tasks_.forward.options(priority),
        std::array{read(group_.parameters().id), read(x.id), write(before.id), write(y.id)},
        [this, &x, &before, &y] {
          group_.backend().linear_gelu_forward(shape_, x, weight_, bias_, before, y);
        });
    return;
  }
  submit_forward(submitter, x, before);
  submitter.compute(gelu_tasks_.forward.options(priority), std::array{read(before.id), write(y.id)},
                    [this, &before, &y] { group_.backend().gelu_forward(before, y); });
}

void Linear::submit_backward_input(Submitter& submitter, const Buffer& dy, Buffer& dx) const {
  submitter.compute(
      tasks_.input_gradient.options(group_.priorities().backward),
      std::array{read(group_.parameters().id), read(dy.id), write(dx.id)},
      [this, &dy, &dx] { group_.backend().linear_backward_input(shape_, dy, weight_, dx); });
}

void Linear::submit_gelu_backward_input(Submitter& submitter, const Buffer& dy,
                                        const Buffer& before, Buffer& dx) const {
  const std::uint32_t priority = group_.priorities().backward;
  if (group_.backend().fuses()) {
    submitter.compute(
        tasks_.input_gradient.options(priority),
        std::array{read(group_.parameters().id), read(dy.id), read(before.id), write(dx.id)},
        [this, &dy, &before, &dx] {
          group_.backend().linear_gelu_backward_input(shape_, dy, weight_, before, dx);
        });
    return;
  }
  submit_backward_input(submitter, dy, dx);
  submitter.compute(gelu_tasks_.input_gradient.options(priority),
                    std::array{read(before.id), update(dx.id)},
                    [this, &before, &dx] { group_.backend().gelu_backward(before, dx); });
}

void Linear::submit_backward_weight(Submitter& submitter, const Buffer& x, const Buffer& dy) const {
  submit_divisible(submitter, tasks_.weight_gradient, group_.priorities().weight_gradient,
                   std::array{read(x.id), read(dy.id), read(group_.gradients().id),
                              group_.first_access(index_, micro_batch_)},
                   [this, &x, &dy](const TaskPiece& piece) {
                     GradientPart whole = whole_weight(shape_);
                     whole.add = !micro_batch_.is_first();
                     group_.backend().linear_backward_weight(shape_, gradient_part(piece, whole), x,
                                                             dy, dweight_, dbias_);
                   });
}

LayerNorm::LayerNorm(ParameterGroup& group, const LayerNormShape& shape, MicroBatch of)
    : group_(group),
      micro_batch_(of),
      tasks_(group.name() + ".norm", group.layer(), of),
      shape_(shape),
      gain_(group.values(BlockParameter::gain)),
      bias_(group.values(BlockParameter::bias)),
      dgain_(group.gradient(BlockParameter::gain)),
      dbias_(group.gradient(BlockParameter::bias)) {
  if (!group.backend().divides()) return;
  // The task is not to be divided; the dimension declares that it touches no other gradients of the
  // group.
  const auto gain_bytes = static_cast<std::int64_t>(dgain_.size * sizeof(float));
  tasks_.weight_gradient.place.dimensions = {
      {.name = "width",
       .kind = DimensionKind::outer,
       .extent = 1,
       .slices = gradient_slices(dgain_, gain_bytes, dbias_.size * sizeof(float))}};
}

void LayerNorm::submit_forward(Submitter& submitter, const Buffer& x, Buffer& y,
                               Buffer& statistics) const {
  submitter.compute(
      tasks_.forward.options(group_.priorities().forward),
      std::array{read(group_.parameters().id), read(x.id), write(y.id), write(statistics.id)},
      [this, &x, &y, &statistics] {
        group_.backend().layer_norm_forward(shape_, x, gain_, bias_, y, statistics);
      });
}

void LayerNorm::submit_backward_input(Submitter& submitter, const Buffer& x,
                                      const Buffer& statistics, const Buffer& dy,
                                      const Buffer* skip, Buffer& dx) const {
  const std::array accesses{
      read(group_.parameters().id),    read(x.id), read(statistics.id), read(dy.id), write(dx.id),
      read(skip ? skip->id : DataId{})};
  submitter.compute(
      tasks_.input_gradient.options(group_.priorities().backward),
      std::span(accesses).first(skip ? 6 : 5), [this, &x, &statistics, &dy, skip, &dx] {
        group_.backend().layer_norm_backward_input(shape_, x, gain_, statistics, dy,
                                                   skip ? BufferSlice(*skip) : BufferSlice(), dx);
      });
}

void LayerNorm::submit_backward_weight(Submitter& submitter, const Buffer& x,
                                       const Buffer& statistics, const Buffer& dy) const {
  submit_divisible(
      submitter, tasks_.weight_gradient, group_.priorities().weight_gradient,
      std::array{read(x.id), read(statistics.id), read(dy.id), read(group_.gradients().id),
                 group_.first_access(BlockParameter::gain, micro_batch_)},
      [this, &x, &statistics, &dy](const TaskPiece&) {
        group_.backend().layer_norm_backward_weight(shape_, x, statistics, dy, dgain_, dbias_,
                                                    !micro_batch_.is_first());
      });
}

}  // namespace hocket
