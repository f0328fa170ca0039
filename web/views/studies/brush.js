// Brushes of parallel coordinates: the values of a parameter (or of the objective, whose name here
// is "") that trials must have. They are in the URL: b.NAME=3..10 or b.NAME=fifo,static, and
// value=90..100 for the objective. Pure functions.

const objectiveKey = "value";

const keyOf = (name) => (name === "" ? objectiveKey : `b.${name}`);

/// Returns the brushes in a query: name → {low, high} (either may be null) or {values: Set}.
export function brushesIn(query) {
  const brushes = new Map();
  for (const [key, text] of query) {
    if (key !== objectiveKey && !key.startsWith("b.")) continue;
    const brush = parseBrush(text);
    if (brush) brushes.set(key === objectiveKey ? "" : key.slice(2), brush);
  }
  return brushes;
}

function parseBrush(text) {
  const range = /^([-+0-9.eE]*)\.\.([-+0-9.eE]*)$/.exec(text);
  if (range) {
    const [low, high] = range.slice(1).map((part) => (part === "" ? null : Number(part)));
    const isRange = (low !== null || high !== null) && !Number.isNaN(low) && !Number.isNaN(high);
    return isRange ? { low, high } : null;
  }
  if (text === "") return null;
  try {
    return { values: new Set(text.split(",").map(decodeURIComponent)) };
  } catch {
    return null;
  }
}

/// Returns the changes of the query that set `brush` for the parameter; null removes it.
export function brushQuery(name, brush) {
  let text = null;
  if (brush?.values) {
    // A comma or a percent sign inside a value is not a separator.
    if (brush.values.size > 0) text = [...brush.values].map(encodeURIComponent).join(",");
  } else if (brush && (brush.low !== null || brush.high !== null)) {
    text = `${brush.low ?? ""}..${brush.high ?? ""}`;
  }
  return { [keyOf(name)]: text };
}

/// Returns the changes of the query that remove all brushes.
export function noBrushes(query) {
  const changes = {};
  for (const name of brushesIn(query).keys()) changes[keyOf(name)] = null;
  return changes;
}

export function valueFor(trial, name) {
  return name === "" ? trial.value : trial.params?.[name];
}

export function matches(trial, brushes) {
  for (const [name, brush] of brushes) {
    const value = valueFor(trial, name);
    if (brush.values) {
      if (!brush.values.has(String(value))) return false;
    } else if (typeof value !== "number" ||
        (brush.low !== null && value < brush.low) || (brush.high !== null && value > brush.high)) {
      return false;
    }
  }
  return true;
}

/// Returns the brush that contains the values of `trials`, or null without any.
export function brushAround(trials, name, isChoice) {
  const values = trials.map((trial) => valueFor(trial, name))
    .filter((value) => value !== undefined);
  if (values.length === 0) return null;
  if (isChoice) return { values: new Set(values.map(String)) };
  return { low: Math.min(...values), high: Math.max(...values) };
}
