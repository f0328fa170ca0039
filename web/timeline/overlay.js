// The layer over the lanes: bands that join the parts of a collective, outlines of boxes, and
// the selected range.

/// More collectives than this in sight would cover the lanes.
const MOST_JOINED = 60;

function rowBox(row, ratio, shift) {
  return { top: Math.round(row.y * ratio) + shift, height: Math.round(row.height * ratio) };
}

/// Returns the parts in sight by collective: a map from its number to indices, top to bottom.
function byCollective(parts) {
  const groups = new Map();
  for (let i = 0; i < parts.size; ++i) {
    const list = groups.get(parts.value[i]);
    if (list) {
      list.push(i);
    } else {
      groups.set(parts.value[i], [i]);
    }
  }
  return groups;
}

/// Draws bands between the parts of each collective: of all if few are in sight, else only of the
/// one whose number is in `strong`.
export function drawJoins(context, palette, parts, lanes, frame, strong) {
  if (parts.size < 2) return;
  const groups = byCollective(parts), isCrowded = groups.size > MOST_JOINED;
  context.lineWidth = Math.max(1, frame.ratio);
  for (const [number, list] of groups) {
    const isStrong = strong.includes(number);
    if (list.length < 2 || (isCrowded && !isStrong)) continue;
    context.fillStyle = palette.joinFaint;
    context.strokeStyle = palette.join;
    context.globalAlpha = isStrong ? 1 : 0.45;
    for (let i = 1; i < list.length; ++i) {
      if (parts.row[list[i]] !== parts.row[list[i - 1]])
        drawBand(context, parts, lanes, frame, list[i - 1], list[i], isStrong);
    }
  }
  context.globalAlpha = 1;
}

function drawBand(context, parts, lanes, { ratio, shift }, upper, lower, isStrong) {
  const above = rowBox(lanes.rows[parts.row[upper]], ratio, shift);
  const below = rowBox(lanes.rows[parts.row[lower]], ratio, shift);
  const top = above.top + above.height, bottom = below.top;
  if (bottom <= top) return;
  context.beginPath();
  context.moveTo(parts.x0[upper], top);
  context.lineTo(parts.x0[lower], bottom);
  context.lineTo(parts.x1[lower], bottom);
  context.lineTo(parts.x1[upper], top);
  if (isStrong) context.fill();
  context.beginPath();
  context.moveTo(parts.x0[upper], top);
  context.lineTo(parts.x0[lower], bottom);
  context.moveTo(parts.x1[upper], top);
  context.lineTo(parts.x1[lower], bottom);
  context.stroke();
}

/// Outlines [begin, end) of a lane; `weight` in CSS pixels.
export function outline(context, colour, lanes, frame, { lane, begin_ns, end_ns }, weight) {
  const row = lanes.rowOfLane.get(lane);
  if (!row) return;
  const { top, height } = rowBox(row, frame.ratio, frame.shift);
  const x0 = Math.max(-10, Math.round(begin_ns / frame.nsPerPixel - frame.offset));
  const x1 = Math.min(frame.width + 10, Math.round(end_ns / frame.nsPerPixel - frame.offset));
  if (x1 < 0 || x0 > frame.width) return;
  const line = Math.max(1, Math.round(weight * frame.ratio));
  context.strokeStyle = colour;
  context.lineWidth = line;
  context.strokeRect(x0 - line / 2, top - line / 2, Math.max(x1 - x0, 2) + line, height + line);
}

/// Draws the selected range over all lanes, or over the ruler.
export function drawRange(context, palette, frame, range, height) {
  if (!range) return;
  const x0 = Math.round(range.begin / frame.nsPerPixel - frame.offset);
  const x1 = Math.round(range.end / frame.nsPerPixel - frame.offset);
  context.fillStyle = palette.accentFaint;
  context.fillRect(x0, 0, Math.max(1, x1 - x0), height);
  context.fillStyle = palette.accent;
  context.fillRect(x0, 0, Math.max(1, frame.ratio), height);
  context.fillRect(x1, 0, Math.max(1, frame.ratio), height);
}
