#include "benchmarks/papers/transformer_steps.h"

#include <cmath>
#include <string>
#include <utility>

namespace hocket {
namespace {

constexpr std::int64_t kVocabulary = 50'257;
/// Parameters, gradients and activations are in bfloat16.
constexpr std::int64_t kBytesPerValue = 2;
/// Adam reads and writes two moments, the weights and their copy, and reads the gradient.
constexpr double kUpdateBytesPerParameter = 28;
/// Number of units into which the computation of a gradient may be divided.
constexpr std::int64_t kGradientUnits = 64;

/// Builds a step task by task.
class StepMaker {
 public:
  StepMaker(const TransformerSize& model, const GpuWork& work) : model_(model), work_(work) {
    step.name = model.name;
    step.channel_split = 0;
  }

  DataId data(const std::string& name) {
    step.data.push_back(name);
    return {static_cast<std::uint32_t>(step.data.size() - 1)};
  }

  StepTask& compute(const std::string& name, std::int64_t layer, double ns,
                    std::vector<Access> accesses) {
    StepTask& task = add(name, layer, std::move(accesses));
    task.duration_ns = std::llround(ns);
    return task;
  }

  StepTask& communicate(const std::string& name, std::int64_t layer, CollectiveKind kind,
                        CollectiveGroup group, std::int64_t bytes, DataId what) {
    StepTask& task = add(name, layer, {update(what)});
    task.collective = kind;
    task.group = group;
    task.bytes = bytes;
    return task;
  }

  /// Returns the time of a layer's forward pass: two operations per parameter and token.
  double forward_ns(std::int64_t parameters) const {
    return 2e9 * static_cast<double>(parameters * work_.sequences * work_.tokens) /
           work_.sustained_flops;
  }
  double update_ns(double parameters) const {
    return 1e9 * kUpdateBytesPerParameter * parameters / work_.memory_bytes_per_second;
  }
  /// Returns the parameters of a layer: four projections in attention, and two in the MLP, which is
  /// four times as wide.
  std::int64_t layer_parameters() const { return 12 * model_.width * model_.width; }
  std::int64_t embedding_parameters() const { return kVocabulary * model_.width; }

  /// Returns the number of layers; the embedding is layer 0.
  std::int64_t layers() const { return model_.layers + 1; }
  std::int64_t parameters_of(std::int64_t layer) const {
    return layer == 0 ? embedding_parameters() : layer_parameters();
  }

  /// Returns the rows of a gradient, of the whole one or of a rank's share.
  static Dimension rows(DataId gradient, std::int64_t bytes) {
    return {.name = "rows",
            .kind = DimensionKind::outer,
            .extent = kGradientUnits,
            .slices = {{.data = gradient,
                        .bytes_per_unit = bytes / kGradientUnits,
                        .tail_bytes = bytes % kGradientUnits}}};
  }

  StepDescription step;

 private:
  StepTask& add(const std::string& name, std::int64_t layer, std::vector<Access> accesses) {
    StepTask& task = step.tasks.emplace_back();
    task.name = name + " " + std::to_string(layer);
    task.priority = static_cast<std::uint32_t>(layer);
    task.accesses = std::move(accesses);
    task.place.region = name;
    return task;
  }

  const TransformerSize model_;
  const GpuWork work_;
};

/// Adds one piece of data per layer.
std::vector<DataId> data_of_layers(StepMaker& maker, const std::string& name) {
  std::vector<DataId> data;
  for (std::int64_t i = 0; i < maker.layers(); ++i)
    data.push_back(maker.data(name + " " + std::to_string(i)));
  return data;
}

}  // namespace

StepDescription data_parallel_step(const TransformerSize& model, const GpuWork& work) {
  StepMaker maker(model, work);
  const auto weights = data_of_layers(maker, "weights");
  const auto gradients = data_of_layers(maker, "gradient");
  const DataId activations = maker.data("activations");
  const std::int64_t layers = maker.layers();
  const auto at = [](const std::vector<DataId>& data, std::int64_t layer) {
    return data[static_cast<std::size_t>(layer)];
  };
  // The embedding's lookup takes no time, but the output head multiplies with its weights.
  for (std::int64_t i = 0; i < layers; ++i) {
    maker.compute("forward", i, i == 0 ? 0 : maker.forward_ns(maker.layer_parameters()),
                  {read(at(weights, i)), update(activations)});
  }
  maker.compute("logits", layers, 3 * maker.forward_ns(maker.embedding_parameters()),
                {read(weights[0]), update(activations)});
  for (std::int64_t i = layers; i-- > 0;) {
    const double ns = i == 0 ? 0 : maker.forward_ns(maker.layer_parameters());
    const std::int64_t bytes = maker.parameters_of(i) * kBytesPerValue;
    maker.compute("backward", i, ns, {read(at(weights, i)), update(activations)});
    maker.compute("gradient", i, ns, {read(activations), write(at(gradients, i))})
        .place.dimensions = {StepMaker::rows(at(gradients, i), bytes)};
    maker.communicate("sum", i, CollectiveKind::all_reduce, CollectiveGroup::world, bytes,
                      at(gradients, i));
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t bytes = maker.parameters_of(i) * kBytesPerValue;
    maker
        .compute("update", i, maker.update_ns(static_cast<double>(maker.parameters_of(i))),
                 {read(at(gradients, i)), update(at(weights, i))})
        .place.dimensions = {StepMaker::rows(at(gradients, i), bytes)};
  }
  return std::move(maker.step);
}

StepDescription fully_sharded_step(const TransformerSize& model, const GpuWork& work) {
  StepMaker maker(model, work);
  const auto weights = data_of_layers(maker, "weights");
  const auto gradients = data_of_layers(maker, "gradient");
  // A gathered layer uses the memory of the layer gathered two before it.
  const DataId memory[] = {maker.data("memory 0"), maker.data("memory 1")};
  const DataId activations = maker.data("activations");
  std::int64_t gathered = 0;
  const auto gather = [&](const std::string& name, std::int64_t layer) {
    const DataId place = memory[gathered++ % 2];
    const DataId what = weights[static_cast<std::size_t>(layer)];
    maker.compute("free " + name, layer, 0, {update(what), update(place)}).priority = 0;
    maker.communicate(name, layer, CollectiveKind::all_gather, CollectiveGroup::world,
                      maker.parameters_of(layer) * kBytesPerValue, what);
    return place;
  };
  const std::int64_t layers = maker.layers();
  const auto ns = maker.forward_ns(maker.layer_parameters());
  const auto weights_of = [&](std::int64_t layer) {
    return weights[static_cast<std::size_t>(layer)];
  };
  // The embedding is not scattered, since it is used at both ends of the step.
  DataId next = gather("gather forward", 1);
  for (std::int64_t i = 1; i < layers; ++i) {
    const DataId place = next;
    if (i + 1 < layers) next = gather("gather forward", i + 1);
    maker.compute("forward", i, ns, {read(weights_of(i)), update(place), update(activations)});
  }
  next = gather("gather backward", layers - 1);
  maker.compute("logits", layers, 3 * maker.forward_ns(maker.embedding_parameters()),
                {read(weights[0]), update(activations)});
  for (std::int64_t i = layers; i-- > 1;) {
    const DataId place = next;
    // Submitted before the gradients of this layer, so that it does not queue behind them.
    if (i > 1) next = gather("gather backward", i - 1);
    maker.compute("backward", i, ns, {read(weights_of(i)), update(place), update(activations)});
    const DataId gradient = gradients[static_cast<std::size_t>(i)];
    maker.compute("gradient", i, ns, {read(activations), write(gradient)});
    maker.communicate("scatter", i, CollectiveKind::reduce_scatter, CollectiveGroup::world,
                      maker.parameters_of(i) * kBytesPerValue, gradient);
  }
  maker.compute("gradient", 0, 0, {read(activations), write(gradients[0])});
  maker.communicate("sum", 0, CollectiveKind::all_reduce, CollectiveGroup::world,
                    maker.embedding_parameters() * kBytesPerValue, gradients[0]);
  // Each rank updates only its share of a layer, which takes almost no time.
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    maker.compute("update", i,
                  i == 0 ? maker.update_ns(static_cast<double>(maker.embedding_parameters())) : 0,
                  {read(gradients[layer]), update(weights[layer])});
  }
  return std::move(maker.step);
}

StepDescription tensor_parallel_step(const TransformerSize& model, const GpuWork& work,
                                     std::int64_t ranks_per_host) {
  StepMaker maker(model, work);
  const auto weights = data_of_layers(maker, "weights");
  const auto gradients = data_of_layers(maker, "gradient");
  const auto share = static_cast<double>(ranks_per_host);
  const std::int64_t layers = maker.layers();
  const std::int64_t sequence_bytes = work.tokens * model.width * kBytesPerValue;
  // Attention is a third of a layer's parameters.
  const double layer_ns = maker.forward_ns(maker.layer_parameters()) / share;
  const double part_ns[] = {layer_ns / 3, 2 * layer_ns / 3};
  const char* const part_names[] = {"attention", "mlp"};

  const auto sequences_of = [&](std::vector<DataId> activations) {
    Dimension batch{
        .name = "batch", .kind = DimensionKind::outer, .extent = work.sequences, .slices = {}};
    for (const DataId data : activations)
      batch.slices.push_back({.data = data, .bytes_per_unit = sequence_bytes});
    return batch;
  };
  DataId last = maker.data("embedded");
  /// Reads the previous part's output, computes its own, and sums it inside the host.
  const auto run_part = [&](const std::string& name, std::int64_t layer, double ns) {
    const DataId made = maker.data(name + " " + std::to_string(layer));
    maker
        .compute(name, layer, ns,
                 {read(weights[static_cast<std::size_t>(layer)]), read(last), write(made)})
        .place.dimensions = {sequences_of({last, made})};
    maker.communicate("sum " + name, layer, CollectiveKind::all_reduce, CollectiveGroup::inside,
                      work.sequences * sequence_bytes, made);
    last = made;
  };
  maker.compute("embed", 0, 0, {read(weights[0]), write(last)});
  for (std::int64_t i = 1; i < layers; ++i)
    for (const int part : {0, 1}) run_part(part_names[part], i, part_ns[part]);
  const DataId loss = maker.data("loss");
  maker.compute("logits", layers, 3 * maker.forward_ns(maker.embedding_parameters()) / share,
                {read(weights[0]), read(last), write(loss)});
  last = loss;
  for (std::int64_t i = layers; i-- > 0;) {
    const auto layer = static_cast<std::size_t>(i);
    const auto bytes = static_cast<std::int64_t>(
        static_cast<double>(maker.parameters_of(i) * kBytesPerValue) / share);
    if (i > 0)
      for (const int part : {1, 0})
        run_part(std::string("backward ") + part_names[part], i, part_ns[part]);
    maker.compute("gradient", i, i == 0 ? 0 : layer_ns, {read(last), write(gradients[layer])})
        .place.dimensions = {StepMaker::rows(gradients[layer], bytes)};
    maker.communicate("sum", i, CollectiveKind::all_reduce, CollectiveGroup::between, bytes,
                      gradients[layer]);
  }
  for (std::int64_t i = 0; i < layers; ++i) {
    const auto layer = static_cast<std::size_t>(i);
    maker.compute("update", i, maker.update_ns(static_cast<double>(maker.parameters_of(i)) / share),
                  {read(gradients[layer]), update(weights[layer])});
  }
  return std::move(maker.step);
}

}  // namespace hocket
