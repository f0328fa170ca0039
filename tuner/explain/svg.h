#pragma once

// A drawing as SVG 1.1 text: simple shapes on a white background, so that it is readable on dark
// pages as well. Coordinates are pixels, with the origin at the upper left. The text is always
// well-formed XML: text is escaped, and numbers that are not finite become 0. A text that would
// leave the drawing is cut, ends with "…" and has the whole as tooltip. Not thread-safe.
//
// For pages that show a drawing, its background has the class "background", a mark of a trial the
// attribute data-trial with the trial's number, and an axis of a parameter is a group of the class
// "axis" with the attribute data-parameter.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hocket {

struct SvgPoint {
  double x = 0, y = 0;
};

enum class SvgAnchor { start, middle, end };

class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  /// Draws a rectangle, with a tooltip if `hint` is not empty.
  void rectangle(SvgPoint corner, double width, double height, std::string_view fill,
                 std::string_view hint = {});
  /// Draws a circle, with a tooltip if `hint` is not empty. It is the mark of a trial if `trial` is
  /// that trial's number.
  void circle(SvgPoint centre, double radius, std::string_view fill, std::string_view hint = {},
              std::optional<std::int64_t> trial = {});
  void line(SvgPoint from, SvgPoint to, std::string_view colour, double width = 1);
  /// Draws lines between points; `hint` and `trial` as for a circle.
  void polyline(std::span<const SvgPoint> points, std::string_view colour, double width,
                double opacity = 1, std::string_view hint = {},
                std::optional<std::int64_t> trial = {});
  void polygon(std::span<const SvgPoint> points, std::string_view fill, double opacity);
  void text(SvgPoint at, std::string_view text, SvgAnchor anchor = SvgAnchor::start,
            double size = 12);
  /// Draws text that runs upwards.
  void text_upwards(SvgPoint at, std::string_view text);

  /// Everything drawn from here to end_axis() belongs to the axis of `parameter`.
  void begin_axis(std::string_view parameter);
  /// Requires begin_axis() before.
  void end_axis();

  /// Returns the whole document. Requires that every axis has ended.
  std::string finish() const;

 private:
  double width_ = 0, height_ = 0;
  int open_axes_ = 0;
  std::string body_;
};

/// Estimates the width of a text of `size`; no common font is wider on average.
double svg_text_width(std::string_view text, double size);

/// Returns a colour from dark blue (0) over green to yellow (1), as "#rrggbb"; dark blue for NaN.
std::string svg_colour(double share);

/// Escapes text for XML text and attributes: printable UTF-8, with &, <, >, " and ' as entities.
std::string xml_escaped(std::string_view text);

}  // namespace hocket
