#pragma once

// Checks that the rectangles and texts of an SVG document lie inside its viewBox, as far as our
// documents use them: attributes in the order in which Svg writes them, and no transformed shapes.

#include <string>

#include "tuner/explain/svg.h"

namespace hocket {

inline double svg_number(const std::string& element, const std::string& attribute) {
  const auto at = element.find(" " + attribute + "=\"");
  return at == element.npos ? 0 : std::stod(element.substr(at + attribute.size() + 3));
}

/// Returns the first rectangle or text that is not inside; empty if all are. A width is allowed to
/// exceed the drawing by half a pixel, the overlap of neighbouring rectangles.
inline std::string outside_of_view(const std::string& document) {
  constexpr double kOverlap = 0.5;
  const auto root = document.find("<svg");
  const double width = svg_number(document.substr(root), "width");
  const double height = svg_number(document.substr(root), "height");
  for (auto at = root + 1; (at = document.find('<', at)) != document.npos; ++at) {
    const std::string element = document.substr(at, document.find('\n', at) - at);
    double low = svg_number(element, "x"), high = low;
    const double top = svg_number(element, "y");
    double bottom = top;
    if (element.starts_with("<rect")) {
      high += svg_number(element, "width");
      bottom += svg_number(element, "height");
    } else if (element.starts_with("<text") && element.find("transform") == element.npos) {
      const auto begin = element.find('>') + 1;
      const double length = svg_text_width(element.substr(begin, element.find('<', begin) - begin),
                                           svg_number(element, "font-size"));
      const bool is_end = element.find("\"end\"") != element.npos;
      const bool is_start = element.find("\"start\"") != element.npos;
      low -= is_end ? length : is_start ? 0 : length / 2;
      high = low + length;
    } else {
      continue;
    }
    const bool is_inside =
        low >= -kOverlap && high <= width + kOverlap && top >= 0 && bottom <= height + kOverlap;
    if (!is_inside) return element;
  }
  return "";
}

}  // namespace hocket
