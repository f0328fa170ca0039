// Reads an SVG document of the daemon. What is shown is a copy of it that has only the elements and
// attributes listed here, with values of the listed forms: no script, no style, no link, no image.

const namespace = "http://www.w3.org/2000/svg";
const deepest = 30;

// The only Trusted Types policy of the page. The text that passes it becomes an inert document, of
// which nothing but the copy below reaches the page.
const policy = globalThis.trustedTypes
  ? trustedTypes.createPolicy("hocket-svg", { createHTML: (text) => text })
  : { createHTML: (text) => text };

const elements = new Set([
  "svg", "g", "title", "rect", "circle", "line", "polyline", "polygon", "path", "text", "tspan",
]);
const withText = new Set(["title", "text", "tspan"]);

const numbers = /^[-+0-9.eE, %\s]*$/;
const colour = /^(none|currentColor|[a-z]+|#[0-9a-f]{3,8}|rgba?\([0-9., %]*\))$/i;
const word = /^[a-zA-Z-]+$/;

const attributes = {
  viewBox: numbers, width: numbers, height: numbers, x: numbers, y: numbers, dx: numbers,
  dy: numbers, x1: numbers, y1: numbers, x2: numbers, y2: numbers, cx: numbers, cy: numbers,
  r: numbers, rx: numbers, ry: numbers, points: numbers, opacity: numbers,
  "fill-opacity": numbers, "stroke-opacity": numbers, "stroke-width": numbers,
  "stroke-dasharray": numbers, "font-size": numbers,
  d: /^[-+0-9.eE, \sMmLlHhVvCcSsQqTtAaZz]*$/,
  transform: /^((translate|rotate|scale)\([-+0-9.eE, ]*\)\s*)*$/,
  fill: colour, stroke: colour,
  "text-anchor": word, "font-weight": word, "font-style": word, "font-family": /^[a-zA-Z, -]*$/,
  "stroke-linecap": word, "stroke-linejoin": word, "dominant-baseline": word,
  "fill-rule": word,
  class: /^[a-z][a-z-]*( [a-z][a-z-]*)*$/,
  "data-trial": /^[0-9]{1,18}$/,
  "data-parameter": /^[^]{0,400}$/,
};

/// Returns the drawing as an element; throws an Error for people if `text` is not a drawing.
export function readDrawing(text) {
  const document = new DOMParser().parseFromString(policy.createHTML(text), "image/svg+xml");
  const root = document.documentElement;
  const drawing = root.localName === "svg" ? copyOf(root, 0) : null;
  if (!drawing || document.querySelector("parsererror")) {
    throw new Error("The drawing that the daemon sent cannot be read. Load the page again.");
  }
  return drawing;
}

function copyOf(source, depth) {
  if (source.namespaceURI !== namespace || !elements.has(source.localName)) return null;
  if (depth > deepest) return null;
  const copy = document.createElementNS(namespace, source.localName);
  for (const { name, value } of source.attributes) {
    if (Object.hasOwn(attributes, name) && attributes[name].test(value)) {
      copy.setAttribute(name, value);
    }
  }
  for (const child of source.childNodes) {
    if (child.nodeType === Node.ELEMENT_NODE) {
      const part = copyOf(child, depth + 1);
      if (part) copy.append(part);
    } else if (child.nodeType === Node.TEXT_NODE && withText.has(source.localName)) {
      copy.append(child.data);
    }
  }
  return copy;
}
