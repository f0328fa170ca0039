#include "core/cuda/executor/step_graph.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/executor/task_issue.h"

namespace hocket {

Result<std::unique_ptr<StepGraph>> StepGraph::open(const StepGraphParts& parts) {
  std::unique_ptr<StepGraph> graph(new StepGraph(parts));
  HOCKET_TRY(graph->streams_.open());
  const auto stream = parts.driver.create_stream(StreamPriority::normal);
  if (!stream) return failure(stream.error().in("making a stream to capture"));
  graph->capturing_ = *stream;
  return graph;
}

StepGraph::~StepGraph() {
  drop_graph();
  if (capturing_.handle) parts_.driver.destroy_stream(capturing_);
}

void StepGraph::drop_graph() {
  if (graph_) parts_.driver.destroy_graph(*graph_);
  graph_.reset();
}

Result<void> StepGraph::launch(const StepWork& work, DeviceStream stream) {
  if (version_ != work.version) {
    drop_graph();
    version_ = work.version;
    has_run_ = false;
  }
  if (!std::exchange(has_run_, true)) return put(work, stream);
  if (!graph_) {
    if (auto ok = capture(work); !ok) return failure(ok.error().in("capturing the step"));
  }
  return parts_.driver.launch(*graph_, stream);
}

Result<void> StepGraph::capture(const StepWork& work) {
  if (auto ok = parts_.driver.begin_capture(capturing_); !ok) return ok;
  const auto put_there = put(work, capturing_);
  // The capture must be ended in any case: the stream would otherwise keep capturing.
  const auto graph = parts_.driver.end_capture(capturing_);
  if (graph) graph_ = *graph;
  if (!put_there) {
    drop_graph();
    return put_there;
  }
  return graph ? Result<void>() : failure(graph.error());
}

Result<void> StepGraph::put(const StepWork& work, DeviceStream stream) {
  if (auto ok = streams_.fork(stream); !ok) return ok;
  TaskIssue issue(parts_.driver, streams_, parts_.memory, parts_.groups);
  std::vector<StreamPosition> positions;  // of the parts so far, in order
  // The last one on each channel of the first `ended` parts, which end before the next part begins.
  std::vector<StreamPosition> also_after;
  std::uint64_t ended = 0;
  for (const StepEntry& entry : work.sequence) {
    const CapturedStep::Task& task = work.step->task(entry.task);
    if (!entry.is_part) {
      const auto position = issue.compute(task.accesses, *work.bodies[entry.task], nullptr);
      if (!position) return failure(position.error().in("task \"" + task.name + "\""));
      continue;
    }
    for (; entry.after_part && ended <= *entry.after_part; ++ended) {
      const auto same_channel =
          std::ranges::find(also_after, positions[ended].stream, &StreamPosition::stream);
      if (same_channel == also_after.end()) {
        also_after.push_back(positions[ended]);
      } else {
        *same_channel = positions[ended];
      }
    }
    const PartWork& part = work.parts[entry.part];
    const auto position = issue.part(part, nullptr, also_after);
    if (!position) {
      return failure(position.error().in(std::string(in_words(part.collective.kind)) + " of \"" +
                                         task.name + "\""));
    }
    positions.push_back(*position);
  }
  return streams_.join();
}

}  // namespace hocket
