#include "tuner/explain/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/explain/well_formed.h"
#include "tests/tuner/random_space.h"

namespace hocket {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(XmlEscaped, LeavesNoMarkup) {
  EXPECT_EQ(xml_escaped("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;");
  EXPECT_EQ(xml_escaped("é … ±"), "é … ±");
  EXPECT_EQ(xml_escaped("a\x01\nb"), "a\xef\xbf\xbd b");
  EXPECT_EQ(xml_escaped("\xEF\xBF\xBE\xEF\xBF\xBF"), "??");
}

TEST(XmlChecker, FindsWhatIsWrong) {
  const std::string declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  EXPECT_EQ(xml_complaint(declaration + "<a b=\"1\"><c/>x &amp; y</a>\n"), "");
  for (const char* text : {"", "<a>", "<a></b>", "<a b=1/>", "<a b=\"<\"/>", "<a>&</a>", "<a/><b/>",
                           "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>", "x<a/>"}) {
    EXPECT_NE(xml_complaint(declaration + text), "") << text;
  }
}

TEST(Svg, ATextThatWouldLeaveTheDrawingIsCutAndWholeInItsTooltip) {
  const std::string word = "é0123456789";
  for (const auto anchor : {SvgAnchor::start, SvgAnchor::middle, SvgAnchor::end}) {
    for (double x = 0; x <= 100; x += 10) {
      Svg svg(100, 50, "title");
      svg.text({x, 10}, word, anchor, 12);
      const std::string document = svg.finish();
      EXPECT_EQ(xml_complaint(document), "");
      const bool is_cut = document.find("…<title>" + word + "</title>") != document.npos;
      const bool is_whole = document.find(">" + word + "</text>") != document.npos;
      EXPECT_NE(is_cut, is_whole);
    }
  }
  Svg svg(100, 50, "title");
  svg.text({5, 10}, word);
  EXPECT_THAT(svg.finish(), HasSubstr(">" + word + "</text>"));
  svg.text_upwards({10, 25}, word);
  EXPECT_THAT(svg.finish(), HasSubstr("…<title>" + word));
}

TEST(SvgColour, GoesFromDarkToLight) {
  EXPECT_EQ(svg_colour(0), "#440154");
  EXPECT_EQ(svg_colour(1), "#fde725");
  EXPECT_EQ(svg_colour(0.5), "#21918c");
  EXPECT_EQ(svg_colour(-INFINITY), svg_colour(0));
  EXPECT_EQ(svg_colour(NAN), svg_colour(0));
  EXPECT_EQ(svg_colour(INFINITY), svg_colour(1));
}

TEST(Svg, WritesNumbersWithoutZerosAtTheirEnd) {
  Svg svg(640, 480, "");
  svg.rectangle({100, 0}, 20.5, 0.25, "#123456");
  svg.rectangle({-0.125, 1e-9}, 1, 2, "#123456", "a < b");
  EXPECT_THAT(svg.finish(),
              HasSubstr(R"(<rect x="100" y="0" width="20.5" height="0.25" fill="#123456"/>)"));
  EXPECT_THAT(svg.finish(), HasSubstr(R"( y="0" width="1" height="2" fill="#123456"><title>)"
                                      "a &lt; b</title></rect>"));
}

TEST(Svg, SaysWhatIsTheBackgroundAMarkOfATrialAndAnAxis) {
  Svg svg(100, 50, "title");
  svg.circle({1, 2}, 3, "#123456", "a hint", 7);
  svg.circle({1, 2}, 3, "#123456");
  const std::vector<SvgPoint> points = {{1, 2}, {3, 4}};
  svg.begin_axis("a<b\"");
  svg.polyline(points, "#123456", 2, 1, {}, -8);
  svg.end_axis();
  const std::string document = svg.finish();
  EXPECT_EQ(xml_complaint(document), "");
  EXPECT_THAT(document, HasSubstr("<rect class=\"background\" x=\"0\" y=\"0\" width=\"100\" "
                                  "height=\"50\" fill=\"#ffffff\"/>"));
  EXPECT_THAT(document,
              HasSubstr("fill=\"#123456\" data-trial=\"7\"><title>a hint</title></circle>"));
  EXPECT_THAT(document, HasSubstr("r=\"3\" fill=\"#123456\"/>"));
  EXPECT_THAT(document, HasSubstr("<g class=\"axis\" data-parameter=\"a&lt;b&quot;\">\n<polyline"));
  EXPECT_THAT(document, HasSubstr("fill=\"none\" data-trial=\"-8\"/>\n</g>\n"));
}

TEST(Svg, AnAxisEndsOnceItHasBegun) {
  Svg svg(100, 50, "title");
  EXPECT_DEATH(svg.end_axis(), "no axis has begun");
  svg.begin_axis("x");
  EXPECT_DEATH(static_cast<void>(svg.finish()), "has not ended");
}

TEST(Svg, IsWellFormedWhateverIsDrawn) {
  const double numbers[] = {0, -1, 1e300, -1e300, NAN, INFINITY, -INFINITY, 12.345};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto number = [&] { return numbers[pick(random, 0, 7)]; };
    const auto point = [&] { return SvgPoint{number(), number()}; };
    const auto text = [&] { return mutated("a<b&c>\"d' \xE2\x80\xA6", random); };
    Svg svg(640, 480, text());
    svg.rectangle(point(), number(), number(), text(), text());
    svg.circle(point(), number(), text(), text());
    svg.begin_axis(text());
    svg.circle(point(), number(), text(), {}, pick(random, INT64_MIN, INT64_MAX));
    svg.end_axis();
    svg.line(point(), point(), text(), number());
    const std::vector<SvgPoint> points(static_cast<std::size_t>(pick(random, 0, 99)), point());
    svg.polyline(points, text(), number(), number());
    svg.polyline(points, text(), number(), number(), text(), pick(random, 0, 99));
    svg.polygon(points, text(), number());
    svg.text(point(), text(), SvgAnchor::end, number());
    svg.text_upwards(point(), text());
    const std::string document = svg.finish();
    ASSERT_EQ(xml_complaint(document), "") << document;
    ASSERT_THAT(document, Not(HasSubstr("nan")));
    ASSERT_THAT(document, Not(HasSubstr("inf")));
    ASSERT_THAT(document, HasSubstr("fill=\"#ffffff\""));
  }
}

}  // namespace
}  // namespace hocket
