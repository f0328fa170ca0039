#pragma once

// A drawing as SVG 1.1 text: a few shapes on a white ground, so that it reads on dark pages, too.
// Coordinates are pixels, the origin at the upper left. Whatever is drawn, the text is well-formed
// XML: text is escaped, and numbers that are not finite become 0. Not thread-safe.

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

  void rectangle(SvgPoint corner, double width, double height, std::string_view fill);
  /// With a tooltip where `hint` is not empty.
  void circle(SvgPoint centre, double radius, std::string_view fill, std::string_view hint = {});
  void line(SvgPoint from, SvgPoint to, std::string_view colour, double width = 1);
  void polyline(std::span<const SvgPoint> points, std::string_view colour, double width,
                double opacity = 1);
  void polygon(std::span<const SvgPoint> points, std::string_view fill, double opacity);
  void text(SvgPoint at, std::string_view text, SvgAnchor anchor = SvgAnchor::start,
            double size = 12);
  /// Upwards.
  void text_upwards(SvgPoint at, std::string_view text);

  /// The whole document.
  std::string finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// A colour from dark blue (0) over green to yellow (1), as "#rrggbb"; what is not a number is the
/// first.
std::string svg_colour(double share);

/// Fit for text and attributes of XML: printable UTF-8, with &, <, >, " and ' as entities.
std::string xml_escaped(std::string_view text);

}  // namespace hocket
