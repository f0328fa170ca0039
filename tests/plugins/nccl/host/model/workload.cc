#include "tests/plugins/nccl/host/model/workload.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <stdexcept>

namespace hocket::nccl_host {
namespace {

constexpr const char* kDdp = R"(
iteration
  compute 500
  all-reduce world 1MiB
  compute 250
  all-reduce world 4MiB
  compute 250
  all-reduce world 9MiB
  compute 250
  all-reduce world 25MiB
  compute 250
  all-reduce world 25MiB
  compute 250
  all-reduce world 16MiB
  compute 250
  all-reduce world 12MiB
  compute 250
  all-reduce world 2MiB
  wait world
  compute 300
)";

constexpr const char* kFsdp = R"(
iteration
  all-gather world 8MiB
  wait world
  all-gather world 24MiB
  compute 250
  wait world
  all-gather world 24MiB
  compute 250
  wait world
  compute 250
  all-gather world 24MiB
  compute 350
  wait world
  reduce-scatter world 24MiB
  compute 350
  reduce-scatter world 24MiB
  compute 250
  reduce-scatter world 8MiB
  wait world
  compute 200
)";

constexpr const char* kSmall = R"(
iteration
  all-reduce world 4KiB
  compute 40
  all-reduce world 16KiB
  compute 40
  all-reduce world 64KiB
  compute 40
  all-reduce world 256KiB
  compute 40
  all-reduce world 1MiB
  compute 40
  all-reduce world 4MiB
  wait world
  compute 40
)";

constexpr const char* kTwoComms = R"(
comm rows split world by WIDTH
comm columns split world mod WIDTH
iteration
  compute 150
  all-reduce rows 2MiB
  wait rows
  compute 150
  all-reduce rows 2MiB
  all-reduce columns 8MiB
  compute 150
  reduce-scatter columns 4MiB
  wait rows
  wait columns
  compute 100
)";

constexpr const char* kEdge = R"(
comm again world
comm rows split world by WIDTH
comm columns split again mod WIDTH
comm alone split world by 1
setup
  capture step
    all-reduce world 1MiB
    all-gather rows 256KiB
  end-capture
iteration
  compute 50
  group
    all-reduce world 1MiB
    all-reduce world 3MiB
    all-reduce world 64KiB
    reduce-scatter world 2MiB
    all-reduce again 32KiB bfloat16
  end
  all-reduce alone 1MiB
  all-reduce world 0
  broadcast again 128KiB
  group
    all-reduce rows 512KiB
  simulate
  replay step
  reduce columns 64KiB
  group
    all-gather columns 16KiB
    all-gather columns 24KiB
  end
  wait world
  compute 50
)";

int width(int ranks) {
  int result = 1;
  while (result * result < ranks || ranks % result != 0) ++result;
  return result;
}

class Parser {
 public:
  Workload parse(const std::string& text) {
    result_.communicators.push_back({.name = "world"});
    indices_["world"] = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++number_;
      words_.clear();
      std::istringstream words(line);
      for (std::string word; words >> word && word[0] != '#';) words_.push_back(word);
      if (!words_.empty()) parse_line();
    }
    require(!in_group_ && !in_capture_, "a group or capture without an end");
    if (result_.iteration.empty()) throw std::invalid_argument("a workload without an iteration");
    return result_;
  }

 private:
  void require(bool condition, const std::string& what) const {
    if (!condition) {
      throw std::invalid_argument("workload, line " + std::to_string(number_) + ": " + what);
    }
  }

  const std::string& word(std::size_t index) const {
    require(index < words_.size(), "a word is missing");
    return words_[index];
  }

  double number(std::size_t index, std::string* unit = nullptr) const {
    std::size_t end = 0;
    double value = -1;
    try {
      value = std::stod(word(index), &end);
    } catch (const std::logic_error&) {
      // `value` stays -1.
    }
    const std::string rest = word(index).substr(end);
    require(value >= 0 && (unit != nullptr || rest.empty()), "not a number: " + word(index));
    if (unit != nullptr) *unit = rest;
    return value;
  }

  std::uint64_t size(std::size_t index) const {
    static const std::map<std::string, double> units = {
        {"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    std::string unit;
    const double value = number(index, &unit);
    require(units.contains(unit), "not a size: " + word(index));
    return static_cast<std::uint64_t>(value * units.at(unit));
  }

  int communicator(std::size_t index) const {
    require(indices_.contains(word(index)), "no communicator " + word(index));
    return indices_.at(word(index));
  }

  void parse_communicator() {
    CommunicatorSpec spec{.name = word(1)};
    require(!indices_.contains(spec.name), "a second communicator " + spec.name);
    if (word(2) == "split") {
      spec.parent = communicator(3);
      const int count = static_cast<int>(number(5));
      require(count > 0 && (word(4) == "by" || word(4) == "mod"), "split PARENT by|mod N");
      (word(4) == "by" ? spec.by : spec.mod) = count;
    } else {
      require(word(2) == "world", "comm NAME world or comm NAME split");
    }
    indices_[spec.name] = static_cast<int>(result_.communicators.size());
    result_.communicators.push_back(spec);
  }

  Step collective(int function) const {
    Step step{.kind = StepKind::collective,
              .communicator = communicator(1),
              .function = function,
              .bytes = size(2)};
    if (words_.size() > 3 && word(3) == "bfloat16") {
      step.datatype = {.name = "ncclBfloat16", .bytes = 2};
    } else {
      require(words_.size() == 3 || word(3) == "float32", "no datatype " + words_.back());
    }
    return step;
  }

  void parse_line() {
    static const std::map<std::string, int> functions = {{"broadcast", kBroadcast},
                                                         {"reduce", kReduce},
                                                         {"all-gather", kAllGather},
                                                         {"reduce-scatter", kReduceScatter},
                                                         {"all-reduce", kAllReduce}};
    const std::string& first = word(0);
    if (first == "comm") return parse_communicator();
    if (first == "setup" || first == "iteration") {
      steps_ = first == "setup" ? &result_.setup : &result_.iteration;
      return;
    }
    require(steps_ != nullptr, "a step before \"setup\" or \"iteration\"");
    if (functions.contains(first)) return steps_->push_back(collective(functions.at(first)));
    if (first == "compute") {
      steps_->push_back({.kind = StepKind::compute, .compute_us = number(1)});
    } else if (first == "wait") {
      steps_->push_back({.kind = StepKind::wait, .communicator = communicator(1)});
    } else if (first == "group" || first == "end" || first == "simulate") {
      require(in_group_ == (first != "group"), first + " in the wrong place");
      in_group_ = first == "group";
      steps_->push_back({.kind = in_group_        ? StepKind::group
                                 : first == "end" ? StepKind::group_end
                                                  : StepKind::simulate_end});
    } else {
      parse_graph(first);
    }
  }

  void parse_graph(const std::string& first) {
    if (first == "capture") {
      require(!in_capture_ && !in_group_, "a capture within another or a group");
      graphs_[word(1)] = result_.graphs;
      steps_->push_back({.kind = StepKind::capture, .graph = result_.graphs++});
    } else if (first == "end-capture") {
      require(in_capture_, "no capture to end");
      steps_->push_back({.kind = StepKind::capture_end});
    } else {
      require(first == "replay" && graphs_.contains(word(1)), "no such step: " + first);
      steps_->push_back({.kind = StepKind::replay, .graph = graphs_.at(word(1))});
    }
    if (first != "replay") in_capture_ = first == "capture";
  }

  Workload result_;
  std::map<std::string, int> indices_, graphs_;
  std::vector<Step>* steps_ = nullptr;
  std::vector<std::string> words_;
  int number_ = 0;
  bool in_group_ = false, in_capture_ = false;
};

}  // namespace

Workload parse_workload(const std::string& text) {
  return Parser().parse(text);
}

std::string built_in_workload(const std::string& name, int ranks) {
  static const std::map<std::string, const char*> texts = {
      {"ddp", kDdp}, {"fsdp", kFsdp}, {"small", kSmall}, {"two-comms", kTwoComms}, {"edge", kEdge}};
  if (!texts.contains(name)) return "";
  std::string text = texts.at(name);
  constexpr std::string_view placeholder = "WIDTH";
  for (auto at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder)) {
    text.replace(at, placeholder.size(), std::to_string(width(ranks)));
  }
  return text;
}

namespace {

int color_of(const CommunicatorSpec& spec, int rank) {
  return spec.by > 0 ? rank / spec.by : spec.mod > 0 ? rank % spec.mod : 0;
}

int position(const std::vector<int>& ranks, int world_rank) {
  return static_cast<int>(std::find(ranks.begin(), ranks.end(), world_rank) - ranks.begin());
}

}  // namespace

std::vector<int> members(const Workload& workload, int index, int world_rank, int world_ranks) {
  const CommunicatorSpec& spec = workload.communicators[index];
  if (spec.parent < 0) {
    std::vector<int> all(world_ranks);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::vector<int> parents = members(workload, spec.parent, world_rank, world_ranks);
  const int color = color_of(spec, position(parents, world_rank));
  std::vector<int> result;
  for (int rank = 0; rank < static_cast<int>(parents.size()); ++rank) {
    if (color_of(spec, rank) == color) result.push_back(parents[rank]);
  }
  return result;
}

Membership membership(const Workload& workload, int index, int world_rank, int world_ranks,
                      int nodes) {
  const CommunicatorSpec& spec = workload.communicators[index];
  const std::vector<int> all = members(workload, index, world_rank, world_ranks);
  Membership place{.rank = position(all, world_rank), .ranks = static_cast<int>(all.size())};
  if (spec.parent >= 0) {
    const std::vector<int> parents = members(workload, spec.parent, world_rank, world_ranks);
    place.part = color_of(spec, position(parents, world_rank));
  }
  std::set<std::int64_t> used_nodes;
  for (const int rank : all) {
    used_nodes.insert(static_cast<std::int64_t>(rank) * nodes / world_ranks);
  }
  place.nodes = static_cast<int>(used_nodes.size());
  return place;
}

}  // namespace hocket::nccl_host
