#include "benchmarks/tuner/functions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <span>

#include "core/base/statistics.h"

namespace hocket {
namespace {

using std::numbers::pi;
using Point = std::vector<double>;

struct Function {
  std::string name;
  std::vector<std::pair<double, double>> ranges;  ///< by coordinate
  int levels = 0;                                 ///< evenly spaced, the same for each coordinate
  std::function<double(const Point&)> value;
};

constexpr double kNoise = 0.02;
constexpr int kMeasurements = 3;

double branin(const Point& x) {
  const double a = x[1] - 5.1 / (4 * pi * pi) * x[0] * x[0] + 5 / pi * x[0] - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x[0]) + 10;
}

double hartmann6(const Point& x) {
  constexpr double kAlpha[4] = {1, 1.2, 3, 3.2};
  constexpr double kA[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                               {0.05, 10, 17, 0.1, 8, 14},
                               {3, 3.5, 1.7, 10, 17, 8},
                               {17, 8, 0.05, 10, 0.1, 14}};
  constexpr double kP[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                               {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                               {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                               {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    double exponent = 0;
    for (std::size_t j = 0; j < 6; ++j) {
      exponent += kA[i][j] * (x[j] - kP[i][j]) * (x[j] - kP[i][j]);
    }
    sum -= kAlpha[i] * std::exp(-exponent);
  }
  return sum;
}

constexpr std::size_t kDimensions = 4;

/// Optimum and rotation of a BBOB instance.
struct Instance {
  Point optimum = Point(kDimensions);
  std::vector<Point> rotation = std::vector<Point>(kDimensions, Point(kDimensions));

  explicit Instance(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    for (double& coordinate : optimum) {
      coordinate = std::uniform_real_distribution<double>(-4, 4)(random);
    }
    // Gram-Schmidt on normal vectors yields a uniformly distributed rotation.
    for (std::size_t i = 0; i < kDimensions; ++i) {
      Point& row = rotation[i];
      for (double& coordinate : row) coordinate = normal(random);
      for (std::size_t j = 0; j < i; ++j) {
        const double along = std::inner_product(row.begin(), row.end(), rotation[j].begin(), 0.0);
        for (std::size_t k = 0; k < kDimensions; ++k) row[k] -= along * rotation[j][k];
      }
      const double length = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
      for (double& coordinate : row) coordinate /= length;
    }
  }

  Point shifted(const Point& x) const {
    Point z(x);
    for (std::size_t i = 0; i < z.size(); ++i) z[i] -= optimum[i];
    return z;
  }
  Point turned(const Point& x) const {
    const Point z = shifted(x);
    Point turned_z;
    for (const Point& row : rotation) {
      turned_z.push_back(std::inner_product(row.begin(), row.end(), z.begin(), 0.0));
    }
    return turned_z;
  }
};

double sphere(const Point& z) {
  return std::inner_product(z.begin(), z.end(), z.begin(), 0.0);
}

double ellipsoid(const Point& z) {
  double sum = 0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(z.size() - 1);
    sum += std::pow(10, 6 * exponent) * z[i] * z[i];
  }
  return sum;
}

double rosenbrock(Point z) {
  const double scale = std::max(1.0, std::sqrt(static_cast<double>(z.size())) / 8);
  for (double& coordinate : z) coordinate = scale * coordinate + 1;
  double sum = 0;
  for (std::size_t i = 0; i + 1 < z.size(); ++i) {
    const double valley = z[i] * z[i] - z[i + 1];
    sum += 100 * valley * valley + (z[i] - 1) * (z[i] - 1);
  }
  return sum;
}

double rastrigin(const Point& z) {
  double sum = sphere(z);
  for (const double coordinate : z) sum += 10 * (1 - std::cos(2 * pi * coordinate));
  return sum;
}

std::vector<Function> functions() {
  const std::vector<std::pair<double, double>> cube(kDimensions, {-5, 5});
  std::vector<Function> functions = {
      {"branin", {{-5, 10}, {0, 15}}, 31, branin},
      {"hartmann6", std::vector<std::pair<double, double>>(6, {0, 1}), 6, hartmann6}};
  const Instance a(1), b(2), c(3), d(4);
  functions.push_back({"sphere", cube, 11, [a](const Point& x) { return sphere(a.shifted(x)); }});
  functions.push_back(
      {"rosenbrock", cube, 11, [b](const Point& x) { return rosenbrock(b.shifted(x)); }});
  functions.push_back(
      {"ellipsoid", cube, 11, [c](const Point& x) { return ellipsoid(c.turned(x)); }});
  functions.push_back(
      {"rastrigin", cube, 11, [d](const Point& x) { return rastrigin(d.turned(x)); }});
  return functions;
}

std::vector<Point> lattice(const Function& function) {
  std::vector<Point> points = {{}};
  for (const auto& [low, high] : function.ranges) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (int i = 0; i < function.levels; ++i) {
        longer.push_back(point);
        longer.back().push_back(low + (high - low) * i / (function.levels - 1));
      }
    }
    points = std::move(longer);
  }
  return points;
}

std::string header(const Function& function) {
  std::string text;
  for (std::size_t i = 0; i < function.ranges.size(); ++i) text += "x" + std::to_string(i) + ",";
  return text + "value\n";
}

void append_row(std::string& text, const Point& point, double value) {
  for (const double coordinate : point) text += to_text(coordinate) + ",";
  text += to_text(value) + "\n";
}

Result<Problem> problem_of(const Function& function) {
  const auto points = lattice(function);
  std::vector<double> values;
  for (const Point& point : points) values.push_back(function.value(point));
  const double least = *std::min_element(values.begin(), values.end());
  const double scale = median(values) - least;
  std::string measured = header(function), truth = measured;
  std::mt19937_64 random(points.size());
  std::normal_distribution<double> noise(1, kNoise);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double value = 1 + (values[i] - least) / scale;
    append_row(truth, points[i], value);
    for (int k = 0; k < kMeasurements; ++k) {
      append_row(measured, points[i], value * noise(random));
    }
  }
  auto table = RecordedTable::parse(measured, {.objective_column = "value"});
  if (!table) return failure(table.error().in(function.name));
  auto true_table = RecordedTable::parse(truth, {.objective_column = "value"});
  if (!true_table) return failure(true_table.error().in(function.name));
  return make_problem(function.name, std::move(*table), *true_table);
}

}  // namespace

Result<std::vector<Problem>> function_problems() {
  std::vector<Problem> problems;
  for (const Function& function : functions()) {
    auto problem = problem_of(function);
    HOCKET_TRY(problem);
    problems.push_back(std::move(*problem));
  }
  return problems;
}

}  // namespace hocket
