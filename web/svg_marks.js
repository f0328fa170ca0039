// The marks of a drawing: what has a tooltip or stands for a trial. Finds the mark at a point, and
// says where a mark is. Reads the drawing, and changes in it only what annotate() says.

/// Distance in pixels within which the pointer means a mark.
const reach = 9;

/// Moves each tooltip from its <title> to the attribute data-hint, because the page shows it
/// itself, and notes which trial a mark stands for where only the tooltip says so. Returns the
/// drawing's own title.
export function annotate(drawing) {
  let name = "";
  for (const title of [...drawing.querySelectorAll("title")]) {
    const owner = title.parentNode;
    const text = title.textContent.trim();
    title.remove();
    if (owner === drawing) {
      name = text;
      continue;
    }
    owner.setAttribute("data-hint", text);
    const trial = /^trial (\d+):/.exec(text);
    if (trial && !owner.hasAttribute("data-trial")) owner.setAttribute("data-trial", trial[1]);
  }
  const first = drawing.querySelector("rect");
  if (first && !drawing.querySelector(".background") && covers(first, drawing)) {
    first.classList.add("background");
  }
  noteOwnColours(drawing);
  return name;
}

/// Lines of trials and their legend have colours of a scale, which the style sheet makes darker or
/// lighter as the page is; it reads them from --own.
function noteOwnColours(drawing) {
  const lines = drawing.querySelectorAll("polyline[data-trial]");
  if (lines.length === 0) return;
  for (const mark of [...lines, ...drawing.querySelectorAll("rect:not(.background)")]) {
    const attribute = mark.localName === "rect" ? "fill" : "stroke";
    mark.style.setProperty("--own", mark.getAttribute(attribute));
    mark.classList.add("own");
  }
}

function covers(rectangle, drawing) {
  return ["width", "height"].every(
    (side) => rectangle.getAttribute(side) === drawing.getAttribute(side));
}

/// Returns the marks among which the arrow keys move: one for each trial, else all with a hint.
export function stopsOf(drawing) {
  const ofTrials = new Map();
  for (const mark of drawing.querySelectorAll("[data-trial]")) {
    const trial = Number(mark.dataset.trial);
    if (!ofTrials.has(trial)) ofTrials.set(trial, mark);
  }
  if (ofTrials.size === 0) return [...drawing.querySelectorAll("[data-hint]:not(text)")];
  return [...ofTrials].sort((a, b) => a[0] - b[0]).map(([, mark]) => mark);
}

/// Returns the mark at the point of a pointer event, or the nearest one within reach, or null.
export function markAt(drawing, event) {
  const direct = event.target.closest?.("[data-hint]");
  if (direct && drawing.contains(direct)) return direct;
  const matrix = drawing.getScreenCTM();
  if (!matrix) return null;
  const scale = Math.hypot(matrix.a, matrix.b) || 1;
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
  let nearest = null;
  let distance = reach / scale;
  for (const mark of drawing.querySelectorAll("circle[data-trial], polyline[data-trial]")) {
    const here = distanceTo(mark, point);
    if (here < distance) [nearest, distance] = [mark, here];
  }
  return nearest;
}

/// Returns the points of a polyline in the coordinates of the drawing.
export function pointsOf(line) {
  if (!line.hocketPoints) {
    const values = (line.getAttribute("points") ?? "").split(/[\s,]+/).map(Number);
    line.hocketPoints = [];
    for (let i = 0; i + 1 < values.length; i += 2) {
      line.hocketPoints.push({ x: values[i], y: values[i + 1] });
    }
  }
  return line.hocketPoints;
}

function distanceTo(mark, point) {
  if (mark.localName === "circle") {
    const x = Number(mark.getAttribute("cx")) - point.x;
    const y = Number(mark.getAttribute("cy")) - point.y;
    return Math.hypot(x, y) - Number(mark.getAttribute("r"));
  }
  let distance = Infinity;
  const points = pointsOf(mark);
  for (let i = 1; i < points.length; ++i) {
    distance = Math.min(distance, distanceToSegment(point, points[i - 1], points[i]));
  }
  return distance;
}

function distanceToSegment(point, a, b) {
  const along = { x: b.x - a.x, y: b.y - a.y };
  const square = along.x * along.x + along.y * along.y || 1;
  const share = ((point.x - a.x) * along.x + (point.y - a.y) * along.y) / square;
  const place = Math.min(1, Math.max(0, share));
  return Math.hypot(a.x + place * along.x - point.x, a.y + place * along.y - point.y);
}

/// Returns a point of the window at which the tooltip of `mark` belongs.
export function placeOf(mark) {
  const box = mark.getBoundingClientRect();
  if (mark.localName !== "polyline") {
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  }
  const matrix = mark.getScreenCTM();
  const point = pointsOf(mark)[0];
  if (!matrix || !point) return { x: box.left, y: box.top };
  return new DOMPoint(point.x, point.y).matrixTransform(matrix);
}
