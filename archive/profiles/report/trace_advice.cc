// Advice on what to try, from the figures of a trace report.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "archive/profiles/rank_ranges.h"
#include "archive/profiles/report/trace_report.h"
#include "core/base/statistics.h"
#include "core/base/text.h"

namespace hocket {
namespace {

/// Shares of an iteration from which something is worth a try, and below which it is not.
constexpr double kWorthwhileShare = 0.05;
constexpr double kNothingShare = 0.02;
constexpr double kSmallPartBytes = 1 << 20;
constexpr double kManyParts = 8;
/// Relative spread() from which iterations differ too much to compare two runs by a few.
constexpr double kUnsteadySpread = 0.05;

/// Median shares of an iteration over the ranks that have iterations.
struct Shares {
  double exposed = 0, hidden = 0, compute = 0, exposed_copy = 0, idle = 0;
  double host = 0, event = 0, unknown = 0, unsteady = 0;
  bool is_known = false;
  std::string_view of_whole;  ///< " of an iteration", or " of the trace" where there are none
};

Shares shares_of(const TraceReport& report) {
  const auto middle = [&](auto&& value) {
    std::vector<double> shares;
    for (const RankReport& rank : report.ranks)
      if (rank.iteration_ns > 0) shares.push_back(value(rank) / rank.iteration_ns);
    return shares.empty() ? 0 : median(std::move(shares));
  };
  Shares shares;
  shares.exposed = middle([](const RankReport& r) { return r.exposed_ns; });
  shares.hidden = middle([](const RankReport& r) { return r.communication_ns - r.exposed_ns; });
  shares.compute = middle([](const RankReport& r) { return r.compute_ns; });
  shares.exposed_copy = middle([](const RankReport& r) { return r.exposed_copy_ns; });
  shares.idle = middle([](const RankReport& r) { return r.idle_ns; });
  shares.host = middle([](const RankReport& r) { return r.gap_host_ns; });
  shares.event = middle([](const RankReport& r) { return r.gap_event_ns; });
  shares.unknown = middle([](const RankReport& r) { return r.gap_unknown_ns; });
  shares.unsteady = middle([](const RankReport& r) { return r.spread_ns; });
  shares.of_whole = report.is_of_whole_trace ? " of the trace" : " of an iteration";
  shares.is_known =
      std::ranges::any_of(report.ranks, [](const auto& r) { return r.iteration_ns > 0; });
  return shares;
}

/// Returns a share with what it is a share of, for people.
std::string of_whole(double share, const Shares& shares) {
  return percent(share).append(shares.of_whole);
}

/// Advice with the share of an iteration that it is about.
struct Idea {
  double share = 0;
  std::string text;
};

double exposed_in(const TraceReport& report, auto&& which) {
  double sum = 0;
  for (const CollectiveReport& each : report.collectives)
    if (which(each)) sum += each.exposed_ns;
  return sum;
}

/// Returns how the exposed communication could shrink, by what it consists of.
std::string exposed_idea(const TraceReport& report, const Shares& shares) {
  const std::string begin =
      of_whole(shares.exposed, shares) + " is communication that no computation hides";
  const auto any = [](const CollectiveReport&) { return true; };
  const double all = exposed_in(report, any);
  const auto is_small = [](const CollectiveReport& each) {
    return each.bytes > 0 && each.bytes < kSmallPartBytes * each.per_iteration;
  };
  double small_parts = 0;
  for (const CollectiveReport& each : report.collectives)
    if (is_small(each)) small_parts += each.per_iteration;
  if (all <= 0) return begin;
  const double small = exposed_in(report, is_small) / all;
  if (small > 0.5 && small_parts >= kManyParts) {
    return begin + ", " + percent(small) +
           " of it in collectives of less than 1 MiB: try fewer, larger ones (PyTorch's "
           "bucket_cap_mb; hocket's bucket_bytes)";
  }
  if (shares.hidden < 0.1 * shares.exposed) {
    return begin +
           ", and next to none runs beside computation: see that it is started before the whole "
           "backward pass is done, on a stream of its own (DDP's buckets, FSDP's prefetching)";
  }
  const CollectiveReport& first = report.collectives.front();
  if (first.exposed_ns > 0.5 * all) {
    return begin + ", " + percent(first.exposed_ns / all) + " of it in " + first.name +
           ": start it earlier, or cut it into parts that begin when their values are there";
  }
  return begin +
         ": try other bucket sizes and another order; `hocket tune` searches for them, and "
         "`hocket profiles import` without --report predicts what an order gains";
}

void add_communication(const TraceReport& report, const Shares& shares, std::vector<Idea>& ideas) {
  const bool has_any = shares.exposed + shares.hidden > 0;
  if (shares.exposed >= kWorthwhileShare) {
    ideas.push_back({shares.exposed, exposed_idea(report, shares)});
  } else if (has_any && shares.exposed < kNothingShare) {
    ideas.push_back({0, "communication is hidden behind computation but for " +
                            of_whole(shares.exposed, shares) +
                            ": another schedule of it cannot gain more"});
  }
}

/// Adds which ranks the others wait for.
void add_stragglers(const TraceReport& report, std::vector<Idea>& ideas) {
  if (!report.stragglers) return;
  const Stragglers& found = report.stragglers->found;
  if (found.iteration_ns <= 0) return;
  const double blocked = found.blocked_ns / found.iteration_ns;
  const std::string more = "; `hocket stragglers` says more of an imported profile";
  if (found.verdict == StragglerVerdict::late_ranks) {
    std::vector<std::int64_t> late;
    std::string causes;
    for (const StragglerRank& rank : found.ranks) {
      if (rank.pattern == StragglerPattern::none) continue;
      late.push_back(rank.rank);
      if (rank.cause != StragglerCause::unknown &&
          causes.find(to_string(rank.cause)) == causes.npos)
        causes.append(causes.empty() ? " (" : ", ").append(to_string(rank.cause));
    }
    if (!late.empty()) {
      ideas.push_back({blocked, "the others wait for " + ranks_text(late) +
                                    (causes.empty() ? "" : causes + ")") + more});
    }
  } else if (found.verdict == StragglerVerdict::uneven ||
             found.verdict == StragglerVerdict::alternating) {
    if (blocked >= kWorthwhileShare) {
      ideas.push_back({blocked, percent(blocked) +
                                    " of an iteration is waiting for later ranks, and it is not "
                                    "the same rank each time: look at the data, at other load and "
                                    "at what differs between iterations" +
                                    more});
    }
  }
}

void add_gaps(const Shares& shares, std::vector<Idea>& ideas) {
  if (shares.exposed_copy >= kWorthwhileShare) {
    ideas.push_back(
        {shares.exposed_copy, of_whole(shares.exposed_copy, shares) +
                                  " is copies beside which nothing runs: use pinned memory "
                                  "and asynchronous copies, and fetch the next batch earlier"});
  }
  if (shares.idle < kWorthwhileShare) return;
  std::string text = "nothing runs for " + of_whole(shares.idle, shares);
  if (shares.host >= std::max({shares.event, shares.unknown, kNothingShare})) {
    text +=
        ", most of it before the host submits work: fewer and larger kernels, graphs "
        "(torch.compile, CUDA graphs), and no waits for the device (.item(), prints) in the "
        "step";
  } else if (shares.event >= std::max(shares.unknown, kNothingShare)) {
    text +=
        ", most of it after work was submitted, until what it depends on is done: look at what "
        "the streams wait for (`hocket traces show`)";
  } else {
    text +=
        "; the trace does not say why: record the host's calls as well (PyTorch's "
        "ProfilerActivity.CPU, nsys --trace=cuda,nvtx), and look at the input of data";
  }
  ideas.push_back({shares.idle, std::move(text)});
}

}  // namespace

std::vector<std::string> advice_for(const TraceReport& report) {
  const Shares shares = shares_of(report);
  std::vector<Idea> ideas;
  if (!shares.is_known) return {"nothing can be said: no rank has an iteration"};
  add_communication(report, shares, ideas);
  add_stragglers(report, ideas);
  add_gaps(shares, ideas);
  if (shares.unsteady >= kUnsteadySpread && !report.is_of_whole_trace) {
    ideas.push_back({0, "iterations differ by ±" + percent(shares.unsteady) +
                            ": compare two runs by many iterations"});
  }
  if (std::ranges::none_of(ideas, [](const Idea& idea) { return idea.share > 0; })) {
    ideas.push_back({0, "computation takes " + of_whole(shares.compute, shares) +
                            ": only faster kernels make it shorter"});
  }
  if (report.is_of_whole_trace) {
    ideas.push_back({0,
                     "mark the steps (torch.profiler's step(), an NVTX range and --step-range), "
                     "so that iterations can be told apart"});
  }
  std::ranges::stable_sort(ideas, std::greater<>(), &Idea::share);
  std::vector<std::string> texts;
  for (Idea& idea : ideas) texts.push_back(std::move(idea.text));
  return texts;
}

}  // namespace hocket
