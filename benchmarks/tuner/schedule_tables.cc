// Writes tables of schedules for tuner_benchmark, in families of training steps, from an event
// simulation of its own. It shares no code with hocket's simulator, so that the search's model is
// wrong about these tables in ways of its own, as it is about machines.
//
//   bin/schedule_tables FOLDER [--seed 1] [--per-family 2]
//
// Each FAMILY-N.csv has five measurements of each of 1,144 settings, FAMILY-N.truth.csv the value
// without noise, FAMILY-N.step.json what a profile of the default would give, and
// FAMILY-N.busy.json the same on a busy machine, whose computation took 1.3 to 2.5 times as long
// with a scatter from layer to layer. The model in words is in benchmarks/tables/README.md.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

struct Layer {
  double bytes = 0, forward_ns = 0, backward_ns = 0;
};

/// A step and the machine that it runs on.
struct Machine {
  std::vector<Layer> layers;
  double overhead_ns = 0, byte_ns = 0, credit_latency_ns = 0;
  /// 1: each channel has a fixed share of the link; 0: one channel may use all of it.
  double fixed_share = 1;
  /// Slow-down of computation while parts are sent, its relative growth with each further channel,
  /// and what 64 MiB in flight add.
  double slowdown = 0, per_channel = 0, per_64mib = 0;
  double noise = 0.02;
};

struct Setting {
  double part = 0, credit = 0;
  bool by_priority = false;
  int channels = 1;
};

/// One step from its backward pass on to the end of the next forward pass, in events.
class Run {
 public:
  Run(const Machine& machine, const Setting& setting)
      : machine_(machine),
        setting_(setting),
        left_(machine.layers.size()),
        position_(static_cast<int>(machine.layers.size()) - 1) {
    work_ = machine.layers.back().backward_ns;
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] = machine.layers[i].bytes;
  }

  double time_ns() {
    while (!done_) {
      start_parts();
      advance(next_event_in());
      settle();
    }
    return now_;
  }

 private:
  struct Part {
    int layer = 0;
    double bytes = 0;
  };
  struct Sending {
    Part part;
    double overhead_ns = 0, bytes_left = 0;
  };
  struct Returning {
    double at = 0;
    Part part;
  };

  void start_parts() {
    while (!queue_.empty() && static_cast<int>(sending_.size()) < setting_.channels) {
      auto next = queue_.begin();
      if (setting_.by_priority) {
        next = std::min_element(queue_.begin(), queue_.end(),
                                [](const auto& a, const auto& b) { return a.first < b.first; });
      }
      const double bytes = std::min(setting_.part, next->second);
      if (in_flight_ > 0 && in_flight_ + bytes > setting_.credit) return;
      sending_.push_back({{next->first, bytes}, machine_.overhead_ns, bytes});
      in_flight_ += bytes;
      next->second -= bytes;
      if (next->second <= 0) queue_.erase(next);
    }
  }

  /// Bytes per ns of each channel that sends.
  double rate() const {
    const auto active = static_cast<double>(std::count_if(
        sending_.begin(), sending_.end(), [](const Sending& s) { return s.overhead_ns <= 0; }));
    const double most = 1 / (1 + machine_.fixed_share * (setting_.channels - 1));
    return std::min(most, 1 / std::max(1.0, active)) / machine_.byte_ns;
  }
  /// Work of computation done in a ns.
  double pace() const {
    if (in_flight_ <= 0) return 1;
    const double beside = sending_.empty() ? 0 : machine_.slowdown;
    return 1 / (1 + beside * (1 + machine_.per_channel * (setting_.channels - 1)) +
                machine_.per_64mib * in_flight_ / (64 << 20));
  }

  double next_event_in() const {
    double least = std::numeric_limits<double>::infinity();
    if (computes_) least = work_ / pace();
    for (const Sending& s : sending_)
      least = std::min(least, s.overhead_ns > 0 ? s.overhead_ns : s.bytes_left / rate());
    if (!returning_.empty()) least = std::min(least, returning_.front().at - now_);
    return std::max(least, 0.0);
  }

  void advance(double ns) {
    const double sent = rate() * ns;
    if (computes_) work_ -= ns * pace();
    for (Sending& s : sending_)
      (s.overhead_ns > 0 ? s.overhead_ns : s.bytes_left) -= s.overhead_ns > 0 ? ns : sent;
    now_ += ns;
  }

  void settle() {
    constexpr double tiny = 1e-3;
    for (auto s = sending_.begin(); s != sending_.end();) {
      if (s->overhead_ns > 0 && s->overhead_ns < tiny) s->overhead_ns = 0;
      if (s->overhead_ns <= 0 && s->bytes_left < tiny) {
        returning_.push_back({now_ + machine_.credit_latency_ns, s->part});
        s = sending_.erase(s);
      } else {
        ++s;
      }
    }
    while (!returning_.empty() && returning_.front().at <= now_ + tiny) {
      const Part part = returning_.front().part;
      returning_.pop_front();
      in_flight_ = std::max(0.0, in_flight_ - part.bytes);
      left_[static_cast<std::size_t>(part.layer)] -= part.bytes;
    }
    if (computes_ && work_ < tiny) finish_computation();
    if (!computes_) start_forward();
  }

  void finish_computation() {
    if (!forward_) {
      const Layer& layer = machine_.layers[static_cast<std::size_t>(position_)];
      if (layer.bytes > 0) queue_.emplace_back(position_, layer.bytes);
      if (position_ > 0) {
        work_ = machine_.layers[static_cast<std::size_t>(--position_)].backward_ns;
        return;
      }
      forward_ = true;
    } else {
      ++position_;
    }
    computes_ = false;
    done_ = position_ == static_cast<int>(machine_.layers.size());
  }

  void start_forward() {
    if (done_ || left_[static_cast<std::size_t>(position_)] > 0.5) return;
    work_ = machine_.layers[static_cast<std::size_t>(position_)].forward_ns;
    computes_ = true;
  }

  const Machine& machine_;
  const Setting setting_;
  std::vector<double> left_;                  ///< bytes of each layer that have not arrived
  std::deque<std::pair<int, double>> queue_;  ///< layers and their bytes that were not started
  std::vector<Sending> sending_;
  std::deque<Returning> returning_;
  double in_flight_ = 0, now_ = 0, work_ = 0;
  int position_;
  bool computes_ = true, forward_ = false, done_ = false;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double between(double low, double high) { return low + (high - low) * uniform_(engine_); }
  double log_between(double low, double high) {
    return std::exp(between(std::log(low), std::log(high)));
  }
  double around(double deviation) { return std::exp(deviation * normal_(engine_)); }
  int integer(int low, int high) {
    return low + static_cast<int>(uniform_(engine_) * (high - low + 1));
  }
  bool chance(double probability) { return uniform_(engine_) < probability; }

 private:
  std::mt19937_64 engine_;
  std::uniform_real_distribution<double> uniform_;
  std::normal_distribution<double> normal_;
};

/// Gives the layers times that add up to `total_ns`, a third of it forward, and the link a rate at
/// which all bytes take `link_share` of that.
void scale(Machine& machine, double total_ns, double link_share) {
  double bytes = 0, time = 0;
  for (const Layer& layer : machine.layers) {
    bytes += layer.bytes;
    time += layer.forward_ns;
  }
  for (Layer& layer : machine.layers) {
    // Whole bytes, whose sums and differences are exact.
    layer.bytes = std::round(layer.bytes);
    const double share = layer.forward_ns / time;
    layer.forward_ns = total_ns * share / 3;
    layer.backward_ns = total_ns * share * 2 / 3;
  }
  machine.byte_ns = link_share * total_ns / bytes;
}

/// Draws what all families have in common: link constants from the time of a byte, contention and
/// noise.
void draw_machine(Machine& machine, Random& random) {
  const double mib_ns = machine.byte_ns * (1 << 20);
  machine.overhead_ns = mib_ns * random.log_between(0.03, 0.4);
  machine.credit_latency_ns = machine.overhead_ns * random.log_between(1.5, 8);
  machine.fixed_share = random.chance(0.7) ? 1 : random.between(0.5, 1);
  machine.slowdown = random.log_between(0.005, 0.03);
  machine.per_channel = random.between(0.2, 1);
  machine.per_64mib = random.log_between(0.003, 0.04);
  machine.noise = random.between(0.01, 0.05);
}

Machine layered(Random& random, int count, const std::function<Layer(int)>& layer, double link_low,
                double link_high) {
  Machine machine;
  for (int i = 0; i < count; ++i) machine.layers.push_back(layer(i));
  scale(machine, random.log_between(5e7, 1.5e9), random.log_between(link_low, link_high));
  draw_machine(machine, random);
  return machine;
}

Machine few_big(Random& random) {
  return layered(
      random, random.integer(2, 4),
      [&](int) {
        return Layer{random.log_between(2e7, 3e8), random.around(0.5), 0};
      },
      0.6, 1.5);
}

/// Bytes grow with depth as in residual networks.
Layer convolution(Random& random, int i, int count) {
  const double depth = static_cast<double>(i) / count;
  return {random.log_between(3e4, 3e5) * std::exp(3.5 * depth), random.around(0.4), 0};
}

Machine many_small(Random& random, double link_low, double link_high) {
  const int count = random.integer(40, 110);
  return layered(
      random, count, [&](int i) { return convolution(random, i, count); }, link_low, link_high);
}

Machine mixed(Random& random) {
  const int count = random.integer(12, 20);
  return layered(
      random, count,
      [&](int i) {
        Layer layer = convolution(random, i, count);
        if (i >= count - 3) {
          layer.bytes = random.log_between(1e7, 4e8);
          layer.forward_ns *= 0.1;
        } else {
          layer.forward_ns *= std::exp(-2.0 * i / count);
        }
        return layer;
      },
      0.5, 1.6);
}

Machine transformer(Random& random) {
  const int blocks = random.integer(6, 16);
  const double width = random.integer(6, 16) * 128;
  return layered(
      random, 4 * blocks + 2,
      [&](int i) {
        if (i == 0) return Layer{4 * random.log_between(2e4, 6e4) * width, 0.3, 0};
        if (i == 4 * blocks + 1) return Layer{8 * width, 1.5, 0};
        constexpr double kinds[] = {3, 1, 4, 4};
        const double kind = kinds[(i - 1) % 4];
        return Layer{4 * kind * width * width, (0.4 + kind / 3) * random.around(0.05), 0};
      },
      0.4, 1.6);
}

Machine compute_bound(Random& random) {
  const int count = random.integer(8, 40);
  return layered(
      random, count,
      [&](int) {
        return Layer{random.log_between(5e5, 4e7), random.around(0.4), 0};
      },
      0.1, 0.35);
}

Machine latency_bound(Random& random) {
  const int count = random.integer(10, 60);
  Machine machine = layered(
      random, count, [&](int i) { return convolution(random, i, count); }, 0.4, 1);
  machine.overhead_ns = machine.byte_ns * (1 << 20) * random.log_between(0.5, 2);
  machine.credit_latency_ns = machine.overhead_ns * random.log_between(1.5, 10);
  return machine;
}

Machine contended(Random& random) {
  Machine machine = random.chance(0.5) ? transformer(random) : mixed(random);
  machine.slowdown = random.log_between(0.05, 0.3);
  machine.per_64mib = random.log_between(0.02, 0.1);
  return machine;
}

struct Family {
  std::string name;
  std::function<Machine(Random&)> draw;
};

const std::vector<Family> kFamilies = {
    {"few-big", few_big},
    {"many-small", [](Random& random) { return many_small(random, 0.4, 0.9); }},
    {"many-small-slow", [](Random& random) { return many_small(random, 0.9, 2); }},
    {"mixed", mixed},
    {"transformer", transformer},
    {"compute-bound", compute_bound},
    {"latency-bound", latency_bound},
    {"contended", contended},
};

nlohmann::json step_json(const Machine& machine, Random& random, double busy) {
  auto layers = nlohmann::json::array();
  for (std::size_t i = 0; i < machine.layers.size(); ++i) {
    const Layer& layer = machine.layers[i];
    const double scatter = busy > 1 ? 0.35 : 0.03;
    layers.push_back(
        {{"name", "layer" + std::to_string(i)},
         {"parameter_bytes", std::llround(layer.bytes)},
         {"forward_ns", std::llround(layer.forward_ns * busy * random.around(scatter))},
         {"backward_ns", std::llround(layer.backward_ns * busy * random.around(scatter))}});
  }
  const auto off = [&] {
    const double amount = random.between(0.1, 0.3);
    return random.chance(0.5) ? 1 + amount : 1 / (1 + amount);
  };
  const double in_flight = 16.0 / 64;
  return {{"format", "hocket-step"},
          {"version", 1},
          {"layers", layers},
          {"collective",
           {{"alpha_ns", std::llround(machine.overhead_ns * off())},
            {"beta_ns_per_byte", machine.byte_ns * off()},
            {"latency_ns", std::llround(machine.credit_latency_ns * off())}}},
          {"compute_slowdown",
           (machine.slowdown + machine.per_64mib * in_flight) * random.around(0.2)}};
}

void write_tables(const std::filesystem::path& stem, const Machine& machine, Random& random) {
  std::ofstream table(stem.string() + ".csv"), truth(stem.string() + ".truth.csv");
  for (std::ofstream* out : {&table, &truth})
    *out << "partition_bytes,credit_bytes,order,channels,iteration_ns\n";
  for (int part = 16; part <= 26; ++part) {
    for (int credit = 16; credit <= 28; ++credit) {
      for (const bool by_priority : {false, true}) {
        for (const int channels : {1, 2, 4, 8}) {
          const double time =
              Run(machine, {std::ldexp(1, part), std::ldexp(1, credit), by_priority, channels})
                  .time_ns();
          const std::string row = std::to_string(std::int64_t{1} << part) + "," +
                                  std::to_string(std::int64_t{1} << credit) + "," +
                                  (by_priority ? "priority" : "fifo") + "," +
                                  std::to_string(channels) + ",";
          truth << row << std::llround(time) << "\n";
          for (int i = 0; i < 5; ++i) {
            const double outlier = random.chance(0.015) ? random.between(1.2, 1.6) : 1;
            table << row << std::llround(time * random.around(machine.noise) * outlier) << "\n";
          }
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string folder;
  std::uint64_t seed = 1;
  int per_family = 2;
  CLI::App program("tables of schedules in families, from a simulation of its own");
  program.add_option("FOLDER", folder, "to write to")->required();
  program.add_option("--seed", seed, "of everything drawn")->capture_default_str();
  program.add_option("--per-family", per_family, "tables of each family")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  CLI11_PARSE(program, argc, argv);
  std::filesystem::create_directories(folder);
  for (std::size_t family = 0; family < kFamilies.size(); ++family) {
    for (int i = 0; i < per_family; ++i) {
      Random random(seed * 1'000'003 + family * 1009 + static_cast<std::uint64_t>(i));
      const Machine machine = kFamilies[family].draw(random);
      const auto stem =
          std::filesystem::path(folder) / (kFamilies[family].name + "-" + std::to_string(i + 1));
      std::ofstream(stem.string() + ".step.json") << step_json(machine, random, 1).dump(1) << "\n";
      std::ofstream(stem.string() + ".busy.json")
          << step_json(machine, random, random.between(1.3, 2.5)).dump(1) << "\n";
      write_tables(stem, machine, random);
    }
  }
}
