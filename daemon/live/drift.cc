#include "daemon/live/drift.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

#include "core/base/statistics.h"

namespace hocket {
namespace {

/// A time of 0 has no logarithm.
constexpr double kShortestNs = 1;
/// The normal distribution has no quantile at 0.
constexpr double kSmallest = 1e-300;

double level_of(const std::deque<double>& logs, std::size_t begin, std::size_t end) {
  const auto at = [&](std::size_t i) { return logs.begin() + static_cast<std::ptrdiff_t>(i); };
  return quantile({at(begin), at(end)}, kDriftQuantile);
}

}  // namespace

double DriftDetector::Noise::scale() const {
  const double usual = kUsualWindows * kUsualScale * kUsualScale;
  return std::sqrt((usual + squares) / (kUsualWindows + windows));
}

double DriftDetector::Noise::needed(double evidence) const {
  return std::max(
      std::log1p(kDriftShare),
      student_t_quantile(std::erfc(-evidence / std::numbers::sqrt2) / 2, kUsualWindows + windows) *
          scale());
}

double DriftDetector::Noise::evidence(double difference) const {
  const boost::math::students_t t(kUsualWindows + windows);
  const double p = boost::math::cdf(boost::math::complement(t, difference / scale()));
  return -boost::math::quantile(boost::math::normal(), std::max(p, kSmallest));
}

void DriftDetector::restart(std::span<const double> reference_ns) {
  logs_.clear();
  in_block_ = 0;
  for (Noise& noise : noise_) noise.latest.clear();
  edges_.latest.clear();
  for (const double ns : reference_ns) logs_.push_back(std::log(std::max(ns, kShortestNs)));
}

double DriftDetector::level_ns() const {
  if (logs_.size() < kDriftWindow) return 0;
  return std::exp(level_of(logs_, logs_.size() - kDriftWindow, logs_.size()));
}

double DriftDetector::needed_share() const {
  double needed = noise_[0].needed(kDriftEvidence);
  for (const Noise& noise : noise_) needed = std::min(needed, noise.needed(kDriftEvidence));
  return std::expm1(needed);
}

bool DriftDetector::add(double iteration_ns) {
  logs_.push_back(std::log(std::max(iteration_ns, kShortestNs)));
  if (logs_.size() > kDriftWindow * (kReferences.back() + 1)) logs_.pop_front();
  if (++in_block_ < kDriftBlock) return false;
  in_block_ = 0;
  return logs_.size() >= 2 * kDriftWindow && look();
}

bool DriftDetector::look() {
  const std::size_t end = logs_.size(), begin = end - kDriftWindow;
  const double now = level_of(logs_, begin, end);
  const Noise* best = nullptr;
  double before = 0;
  for (std::size_t i = 0; i < kReferences.size(); ++i) {
    const std::size_t length = kReferences[i] * kDriftWindow;
    if (length > begin) break;
    Noise& noise = noise_[i];
    const double level = level_of(logs_, begin - length, begin);
    noise.latest.push_back(now - level);
    if (best && best->scale() <= noise.scale()) continue;
    best = &noise;
    before = level;
  }
  const double change = std::abs(now - before);
  const double level = best->evidence(change);
  const double abrupt =
      std::clamp(edge(begin, now - before), 0.0, kMostOfEdge * std::max(level, 0.0));
  if (change > std::log1p(kDriftShare) && level > 0 && std::hypot(level, abrupt) > kDriftEvidence) {
    drifted_from_ns_ = std::exp(before);
    drifted_to_ns_ = std::exp(now);
    logs_.erase(logs_.begin(), logs_.begin() + static_cast<std::ptrdiff_t>(begin));
    for (Noise& noise : noise_) noise.latest.clear();
    edges_.latest.clear();
    return true;
  }
  edges_.latest.push_back(step_at(end - kDriftEdge));
  for (Noise& noise : noise_) noise.pass();
  edges_.pass();
  return false;
}

void DriftDetector::Noise::pass() {
  if (latest.size() <= kDriftWindow / kDriftBlock) return;
  squares += latest.front() * latest.front() * kDriftBlock / kDriftWindow;
  windows += static_cast<double>(kDriftBlock) / kDriftWindow;
  latest.pop_front();
}

double DriftDetector::step_at(std::size_t place) const {
  const auto at = [&](std::size_t i) { return logs_.begin() + static_cast<std::ptrdiff_t>(i); };
  return median({at(place), at(place + kDriftEdge)}) - median({at(place - kDriftEdge), at(place)});
}

double DriftDetector::edge(std::size_t begin, double direction) const {
  double largest = 0;
  for (std::size_t place = begin - kDriftBlock; place <= begin + kDriftBlock; ++place) {
    largest = std::max(largest, std::copysign(1.0, direction) * step_at(place));
  }
  return edges_.evidence(largest);
}

}  // namespace hocket
