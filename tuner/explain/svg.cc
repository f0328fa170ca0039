#include "tuner/explain/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/check.h"
#include "core/base/text.h"

namespace hocket {
namespace {

constexpr std::size_t kTextLimitBytes = 400;
/// Coordinate limit: far outside every drawing, and short when written.
constexpr double kFarthest = 1e6;

/// Returns at most two decimals, without zeros at their end.
std::string number(double value) {
  if (!std::isfinite(value)) value = 0;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", std::clamp(value, -kFarthest, kFarthest));
  std::string_view digits = text;
  digits = digits.substr(0, digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.remove_suffix(1);
  return std::string(digits);
}

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + xml_escaped(value) + "\"";
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + number(value) + "\"";
}

std::string trial_attribute(std::optional<std::int64_t> trial) {
  return trial ? " data-trial=\"" + std::to_string(*trial) + "\"" : "";
}

/// Returns the end of an element that has nothing in it but its tooltip.
std::string end_with(std::string_view hint, const char* element) {
  if (hint.empty()) return "/>\n";
  return "><title>" + xml_escaped(hint) + "</title></" + element + ">\n";
}

std::string points_attribute(std::span<const SvgPoint> points) {
  std::string text;
  for (const SvgPoint& point : points) {
    text += (text.empty() ? "" : " ") + number(point.x) + "," + number(point.y);
  }
  return " points=\"" + text + "\"";
}

const char* name_of(SvgAnchor anchor) {
  switch (anchor) {
    case SvgAnchor::start:
      return "start";
    case SvgAnchor::middle:
      return "middle";
    case SvgAnchor::end:
      break;
  }
  return "end";
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// Returns the width of the character that `c` begins, in units of its font's size: that of a wide
/// font such as DejaVu Sans, or a little more.
double character_width(char c) {
  if (!begins_character(c)) return 0;
  if (std::string_view("iljtfrI.,:;'|()[]!/ ").find(c) != std::string_view::npos) return 0.41;
  if (std::string_view("mwMW@%").find(c) != std::string_view::npos) return 1;
  const bool is_plain = ('a' <= c && c <= 'z') || ('0' <= c && c <= '9');
  return is_plain ? 0.64 : 0.85;
}

/// Returns the content of a text element that may be `most` wide.
std::string content_of(std::string_view text, double size, double most) {
  const std::string whole = printable(text, kTextLimitBytes);
  if (svg_text_width(whole, size) <= most) return xml_escaped(whole);
  const std::string ellipsis = "…";
  double left = most - svg_text_width(ellipsis, size);
  std::size_t end = 0;
  while (end < whole.size() && left >= size * character_width(whole[end])) {
    left -= size * character_width(whole[end++]);
  }
  while (end < whole.size() && !begins_character(whole[end])) ++end;
  return xml_escaped(whole.substr(0, end)) + ellipsis + "<title>" + xml_escaped(whole) + "</title>";
}

/// Returns the width of a text around or beside `at`, in a drawing of `width`.
double room(double at, double width, SvgAnchor anchor) {
  const double before = std::max(0.0, at), after = std::max(0.0, width - at);
  if (anchor == SvgAnchor::start) return after;
  return anchor == SvgAnchor::end ? before : 2 * std::min(before, after);
}

}  // namespace

double svg_text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) width += character_width(c);
  return size * width;
}

Svg::Svg(double width, double height, std::string_view title) : width_(width), height_(height) {
  body_ = R"(<?xml version="1.0" encoding="UTF-8"?>)"
          "\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
          attribute("width", width) + attribute("height", height) +
          attribute("viewBox", "0 0 " + number(width) + " " + number(height)) +
          " font-family=\"sans-serif\" fill=\"#222222\">\n<title>" + xml_escaped(title) +
          "</title>\n";
  body_ += "<rect class=\"background\"" + attribute("x", 0.0) + attribute("y", 0.0) +
           attribute("width", width) + attribute("height", height) + " fill=\"#ffffff\"/>\n";
}

void Svg::rectangle(SvgPoint corner, double width, double height, std::string_view fill,
                    std::string_view hint) {
  body_ += "<rect" + attribute("x", corner.x) + attribute("y", corner.y) +
           attribute("width", std::max(0.0, width)) + attribute("height", std::max(0.0, height)) +
           attribute("fill", fill) + end_with(hint, "rect");
}

void Svg::circle(SvgPoint centre, double radius, std::string_view fill, std::string_view hint,
                 std::optional<std::int64_t> trial) {
  body_ += "<circle" + attribute("cx", centre.x) + attribute("cy", centre.y) +
           attribute("r", radius) + attribute("fill", fill) + trial_attribute(trial) +
           end_with(hint, "circle");
}

void Svg::line(SvgPoint from, SvgPoint to, std::string_view colour, double width) {
  body_ += "<line" + attribute("x1", from.x) + attribute("y1", from.y) + attribute("x2", to.x) +
           attribute("y2", to.y) + attribute("stroke", colour) + attribute("stroke-width", width) +
           "/>\n";
}

void Svg::polyline(std::span<const SvgPoint> points, std::string_view colour, double width,
                   double opacity, std::string_view hint, std::optional<std::int64_t> trial) {
  body_ += "<polyline" + points_attribute(points) + attribute("stroke", colour) +
           attribute("stroke-width", width) + attribute("stroke-opacity", opacity) +
           " fill=\"none\"" + trial_attribute(trial) + end_with(hint, "polyline");
}

void Svg::polygon(std::span<const SvgPoint> points, std::string_view fill, double opacity) {
  body_ += "<polygon" + points_attribute(points) + attribute("fill", fill) +
           attribute("fill-opacity", opacity) + "/>\n";
}

void Svg::text(SvgPoint at, std::string_view text, SvgAnchor anchor, double size) {
  body_ += "<text" + attribute("x", at.x) + attribute("y", at.y) +
           attribute("text-anchor", name_of(anchor)) + attribute("font-size", size) + ">" +
           content_of(text, size, room(at.x, width_, anchor)) + "</text>\n";
}

void Svg::text_upwards(SvgPoint at, std::string_view text) {
  body_ +=
      "<text" +
      attribute("transform", "translate(" + number(at.x) + " " + number(at.y) + ") rotate(-90)") +
      " text-anchor=\"middle\" font-size=\"12\">" +
      content_of(text, 12, room(at.y, height_, SvgAnchor::middle)) + "</text>\n";
}

void Svg::begin_axis(std::string_view parameter) {
  ++open_axes_;
  body_ += "<g class=\"axis\"" + attribute("data-parameter", parameter) + ">\n";
}

void Svg::end_axis() {
  HOCKET_CHECK(open_axes_ > 0, "no axis has begun");
  --open_axes_;
  body_ += "</g>\n";
}

std::string Svg::finish() const {
  HOCKET_CHECK(open_axes_ == 0, "an axis has not ended");
  return body_ + "</svg>\n";
}

std::string svg_colour(double share) {
  // Samples of a colour scale with evenly rising lightness, readable with impaired colour vision as
  // well.
  constexpr std::array<std::array<double, 3>, 5> kScale = {
      {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
  if (!(share > 0)) share = 0;
  const double place = std::min(share, 1.0) * (kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), kScale.size() - 2);
  const double part = place - static_cast<double>(below);
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(
        std::lround(kScale[below][i] + part * (kScale[below + 1][i] - kScale[below][i])));
  }
  char text[16];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", static_cast<unsigned>(rgb[0]),
                static_cast<unsigned>(rgb[1]), static_cast<unsigned>(rgb[2]));
  return text;
}

std::string xml_escaped(std::string_view text) {
  std::string characters = printable(text, kTextLimitBytes);
  // U+FFFE and U+FFFF are valid UTF-8 but not valid XML.
  for (const char* forbidden : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    for (auto at = characters.find(forbidden); at != std::string::npos;
         at = characters.find(forbidden)) {
      characters.replace(at, 3, "?");
    }
  }
  std::string escaped;
  for (const char c : characters) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

}  // namespace hocket
