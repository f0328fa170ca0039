// The address's fragment: `#/studies/NAME?tab=trials`. What a reader would share is in it.

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Characters that a fragment may have as they are, which keeps lists and times readable.
function encoded(text) {
  return encodeURIComponent(text).replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/// Returns {path: ["studies", "NAME"], query: URLSearchParams}.
export function current() {
  const [path, query = ""] = splitOnce(location.hash.replace(/^#\/?/, ""));
  return { path: path.split("/").filter((part) => part !== "").map(decoded),
           query: new URLSearchParams(query) };
}

function splitOnce(text) {
  const at = text.indexOf("?");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/// Returns the fragment of an address; parameters that are null, undefined or "" are left out.
export function href(path, query = {}) {
  const pairs = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const text = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${encoded(name)}=${encoded(String(value))}`).join("&");
  return "#/" + path.map(encoded).join("/") + (text ? "?" + text : "");
}

/// Goes to an address made by href(). `replace`: back does not return to the present one.
export function go(address, { replace = false } = {}) {
  if (address === location.hash) return;
  if (replace) {
    history.replaceState(history.state, "", address);
    window.dispatchEvent(new Event("hocket-route"));
  } else {
    location.hash = address;
  }
}

/// Changes parameters of the present address; null removes one. A browser allows about a hundred
/// such changes in ten seconds, so whoever drags should call it when the movement rests.
export function setQuery(changes, { replace = false } = {}) {
  const { path, query } = current();
  const values = { ...Object.fromEntries(query), ...changes };
  go(href(path, values), { replace });
}

/// Calls `listener` after each change of the fragment.
export function onRoute(listener) {
  window.addEventListener("hashchange", listener);
  window.addEventListener("hocket-route", listener);
}
