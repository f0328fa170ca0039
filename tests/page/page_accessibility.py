"""What can be checked of WCAG 2.1 AA without a person: names, roles, headings, labels, contrast,
and that the keyboard alone reaches everything and shows where it is."""

# Returns problems of the document's structure.
STRUCTURE = """() => {
  const problems = [];
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  if (!document.documentElement.lang) problems.push("the document has no language");
  if (!document.title) problems.push("the document has no title");
  const mains = [...document.querySelectorAll("main, [role=main]")].filter(shown);
  if (mains.length !== 1) problems.push(`${mains.length} main landmarks`);

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    if (!shown(heading) || heading.closest("dialog")) continue;
    const next = Number(heading.tagName[1]);
    if (next > level + 1)
      problems.push(`${heading.tagName} "${heading.textContent}" after level ${level}`);
    if (!heading.textContent.trim()) problems.push(`${heading.tagName} without text`);
    level = next;
  }
  const firsts = [...document.querySelectorAll("h1")].filter(shown);
  if (firsts.length !== 1) problems.push(`${firsts.length} headings of level 1`);

  const ids = new Map();
  for (const { id } of document.querySelectorAll("[id]")) ids.set(id, (ids.get(id) ?? 0) + 1);
  for (const [id, count] of ids)
    if (count > 1) problems.push(`${count} elements have the id ${id}`);
  const references = ["aria-labelledby", "aria-describedby", "aria-controls", "aria-owns"];
  for (const attribute of references) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(/\\s+/))
        if (id && !ids.has(id)) problems.push(`${attribute} names the id ${id}, which is nowhere`);
    }
  }
  for (const table of document.querySelectorAll("table")) {
    if (shown(table) && !table.querySelector("th")) problems.push("a table without headings");
  }
  for (const element of document.querySelectorAll("[tabindex]")) {
    if (element.tabIndex > 0) problems.push(`tabindex ${element.tabIndex}`);
  }
  for (const canvas of document.querySelectorAll("canvas")) {
    const named = canvas.getAttribute("aria-label") || canvas.getAttribute("aria-labelledby");
    const hidden = canvas.closest("[aria-hidden=true]");
    if (shown(canvas) && !hidden && !(named && canvas.getAttribute("role")))
      problems.push("a canvas without a role and a name");
  }
  for (const item of document.querySelectorAll("li")) {
    if (!item.parentElement.matches("ul, ol, menu")) problems.push("a list item outside of a list");
  }
  return problems;
}"""

# Returns texts whose contrast is below what WCAG's 1.4.3 asks for, each with its colours.
CONTRAST = """() => {
  // Elements that fade in are looked at as they stay.
  for (const animation of document.getAnimations())
    if (animation.effect.getComputedTiming().endTime < Infinity) animation.finish();
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  // Any CSS colour as [red, green, blue, alpha].
  const colour = (text) => {
    if (!known.has(text)) {
      context.clearRect(0, 0, 1, 1);
      context.fillStyle = "transparent";
      context.fillStyle = text;
      context.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  };
  const over = (front, back) => {
    const mixed = [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3]));
    return [...mixed, 1];
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches;
  const canvasColour = scheme ? [18, 18, 18, 1] : [255, 255, 255, 1];
  // The colour behind an element; null where a picture is, which has no one colour.
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.backgroundImage !== "none") return null;
      if (each.tagName === "svg") {
        const rectangle = each.querySelector(".background");
        if (rectangle) layers.push(colour(getComputedStyle(rectangle).fill));
      }
      layers.push(colour(style.backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reduceRight((back, front) => over(front, back), canvasColour);
  };
  const opacity = (element) => {
    let product = 1;
    for (let each = element; each; each = each.parentElement)
      product *= Number(getComputedStyle(each).opacity);
    return product;
  };
  const problems = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    const text = node.textContent.trim();
    if (!text || element.closest("script, style, title, desc, option, :disabled")) continue;
    if (!element.checkVisibility({ visibilityProperty: true })) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    const style = getComputedStyle(element);
    const drawn = element.closest("svg") !== null;
    const back = behind(element);
    if (!back || (drawn && element.closest(".tip"))) continue;
    const front = [...colour(drawn ? style.fill : style.color)];
    front[3] *= opacity(element);
    const pixels = parseFloat(style.fontSize);
    const large = pixels >= 24 || (pixels >= 18.66 && Number(style.fontWeight) >= 700);
    const found = ratio(over(front, back), back);
    if (found + 0.005 < (large ? 3 : 4.5)) {
      const name = `<${element.localName} class="${element.getAttribute("class") ?? ""}">`;
      problems.add(`${found.toFixed(2)} for "${text.slice(0, 40)}" in ${name}, ` +
                   `${front.map(Math.round)} on ${back.map(Math.round)}`);
    }
  }
  return [...problems];
}"""

# The elements that a keyboard must reach; of a group of radio buttons, one.
REACHABLE = """() => {
  const wanted = "a[href], button, input, select, textarea, summary, [tabindex]";
  const modal = document.querySelector("dialog[open]");
  const elements = [...(modal ?? document).querySelectorAll(wanted)].filter((element) =>
    element.checkVisibility({ visibilityProperty: true }) && element.tabIndex >= 0 &&
    !element.disabled && !element.closest("[inert]"));
  const groups = new Map();
  const kept = elements.filter((element) => {
    if (element.type !== "radio") return true;
    const chosen = groups.get(element.name);
    if (!chosen || element.checked) groups.set(element.name, element);
    return false;
  });
  window.hocketReached = new Set();
  window.hocketWanted = new Set([...kept, ...groups.values()]);
  return window.hocketWanted.size;
}"""

# Notes where the focus is; returns what is wrong with it, "" for nothing, null outside of the page.
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  if (window.hocketReached.has(element)) return "";
  window.hocketReached.add(element);
  const style = getComputedStyle(element);
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  const text = (element.getAttribute("aria-label") ?? element.textContent).trim().slice(0, 40);
  const name = `<${element.localName}> "${text}"`;
  if (!outlined && style.boxShadow === "none") return `${name} shows no focus`;
  const box = element.getBoundingClientRect();
  if (box.width > 0 && (box.bottom <= 0 || box.top >= innerHeight))
    return `${name} has the focus outside of the window`;
  return "";
}"""

UNREACHED = """() => [...window.hocketWanted].filter((element) =>
  element.isConnected && !window.hocketReached.has(element)).map((element) =>
    `<${element.localName}> "${(element.getAttribute("aria-label") ?? element.textContent).trim()
      .slice(0, 40)}" cannot be reached by Tab`)"""

NAMED_ROLES = {"button", "link", "textbox", "searchbox", "combobox", "listbox", "checkbox", "radio",
               "slider", "spinbutton", "switch", "image", "img", "tab", "dialog", "menuitem",
               "region", "figure", "meter", "progressbar", "graphics-document", "Canvas", "table",
               "grid", "navigation"}


def unnamed(page):
    """Nodes of the browser's accessibility tree whose role needs a name and that have none."""
    session = page.context.new_cdp_session(page)
    problems = []
    for node in session.send("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value", "")
        if node.get("ignored") or role not in NAMED_ROLES:
            continue
        if not node.get("name", {}).get("value", "").strip():
            problems.append(f"{role} without a name: {_source(session, node)}")
    session.detach()
    return problems


def _source(session, node):
    found = session.send("DOM.resolveNode", {"backendNodeId": node["backendDOMNodeId"]})
    html = session.send("Runtime.callFunctionOn", {
        "objectId": found["object"]["objectId"], "returnByValue": True,
        "functionDeclaration": "function () { return this.outerHTML?.slice(0, 120); }"})
    return html["result"].get("value")


def structure(page):
    return page.evaluate(STRUCTURE)


def contrast(page):
    return page.evaluate(CONTRAST)


def keyboard(page):
    """Presses Tab through the page from its beginning; returns what it does not reach or show."""
    page.evaluate("""() => {
      document.body.tabIndex = -1;
      document.body.focus();
      document.body.removeAttribute("tabindex");
    }""")
    problems = []
    # Once round, and again for what has changed since: a page that is live goes on loading.
    for _ in range(2 * page.evaluate(REACHABLE) + 40):
        page.keyboard.press("Tab")
        wrong = page.evaluate(FOCUSED)
        if wrong:
            problems.append(wrong)
        unreached = page.evaluate(UNREACHED)
        if not unreached:
            break
    return problems + unreached


def overflow(page):
    """How many pixels the document is wider than the window."""
    return page.evaluate("""() => {
      const root = document.documentElement;
      return Math.max(root.scrollWidth, document.body.scrollWidth) - root.clientWidth;
    }""")


# Finds the elements that stick out of the window, to say why it scrolls.
STICKING_OUT = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.right <= document.documentElement.clientWidth + 1) return false;
  for (let each = element.parentElement; each; each = each.parentElement)
    if (getComputedStyle(each).overflowX !== "visible") return false;
  return true;
}).slice(0, 5).map((element) => element.outerHTML.slice(0, 120))"""


def sticking_out(page):
    return page.evaluate(STICKING_OUT)
