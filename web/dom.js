// Makes and changes elements. Text goes in as text nodes only, so text from a job is never markup.

const SVG = "http://www.w3.org/2000/svg";

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    element.addEventListener(name.slice(2), value);
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else if (name === "style") {
    // A style attribute would be refused by the page's policy; properties set by script are not.
    for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/// Returns an element with these attributes (null for none) and children.
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  const { value, ...others } = attributes ?? {};
  for (const [name, text] of Object.entries(others)) setAttribute(element, name, text);
  append(element, children);
  // Last, since a range needs its limits and a list its options before it can take a value.
  if (value !== null && value !== undefined) element.value = value;
  return element;
}

export function svgElement(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, text] of Object.entries(attributes ?? {})) setAttribute(element, name, text);
  append(element, children);
  return element;
}

/// Replaces the children of `element`.
export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/// Sets the text only if it is another one, so that a selection in it is kept.
export function setText(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/// Sets an attribute if it has another value; null and false remove it.
export function setState(element, name, value) {
  if (value === null || value === undefined || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
    return;
  }
  const wanted = value === true ? "" : String(value);
  if (element.getAttribute(name) !== wanted) element.setAttribute(name, wanted);
}

/// Makes the children of `parent` those that `make(item)` returned for each item, in their order.
/// Keeps the elements of items whose key was there before, so that focus and scrolling stay, and
/// calls `update(element, item)` for all.
export function reconcile(parent, items, key, make, update) {
  const before = parent.keyed ?? new Map(), now = new Map();
  let place = parent.firstElementChild;
  for (const item of items) {
    const id = String(key(item));
    if (now.has(id)) continue;
    const element = before.get(id) ?? make(item);
    now.set(id, element);
    update(element, item);
    if (element === place) {
      place = place.nextElementSibling;
    } else {
      parent.insertBefore(element, place);
    }
  }
  for (const [id, element] of before) if (!now.has(id)) element.remove();
  parent.keyed = now;
}

const styles = new Map();

/// Loads a style sheet once; the promise ends when it applies, also if it cannot be loaded.
export function addStyle(url) {
  const address = String(url);
  if (!styles.has(address)) {
    styles.set(address, new Promise((resolve) => {
      const link = h("link", { rel: "stylesheet", href: address, onload: resolve,
                               onerror: resolve });
      document.head.append(link);
    }));
  }
  return styles.get(address);
}
