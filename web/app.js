// The shell: connects the header, the address and its view. Views are loaded when first needed.

import { may, pageVersion, setToken, token, who } from "./api.js";
import { addStyle, h, replace, setState } from "./dom.js";
import { nameElement } from "./elements.js";
import { zoneText } from "./format.js";
import { live, reloadFor } from "./live.js";
import { current, onRoute } from "./router.js";
import { empty, failed, loading } from "./states.js";

const VIEWS = ["jobs", "configs", "studies", "profiles", "timeline", "simulate"];
const outlet = document.querySelector("main");
const staleBanner = document.querySelector(".banner.stale");
const resultBanner = document.querySelector(".banner.result");
const stateBox = document.querySelector(".shell-state");

let view = null, viewName = "", shownPath = "", turn = 0, whoami = null;

/// Takes a token out of the address, so that it is neither shared nor in the history.
function takeToken() {
  const found = /^#token=([^&]*)/.exec(location.hash);
  if (!found) return false;
  let text = found[1];
  try {
    text = decodeURIComponent(text);
  } catch {
    // It is taken as it is, and the daemon says that it does not know it.
  }
  setToken(text);
  history.replaceState(null, "", location.pathname + location.search + "#/jobs");
  return true;
}

function markNavigation(name) {
  for (const link of document.querySelectorAll(".shell-nav a"))
    setState(link, "aria-current", link.getAttribute("href") === `#/${name}` ? "page" : null);
}

function setTitle(text) {
  document.title = text ? `${text} – hocket` : "hocket";
}

/// Shows an element that is no view, such as an error.
function showState(element, title) {
  view = null;
  viewName = "";
  setTitle(title);
  replace(outlet, element);
}

async function elementOf(name) {
  const tag = `hk-view-${name}`;
  if (!customElements.get(tag)) {
    const module = await import(`./views/${name}/${name}.js`);
    if (!customElements.get(tag)) customElements.define(tag, module.default);
  }
  return document.createElement(tag);
}

/// A view that cannot be loaded is often one of another version: the daemon was replaced.
async function explainMissingView(error) {
  try {
    setToken(token());
    reloadFor((await who()).page);
  } catch {
    // The daemon does not answer, which the message below says.
  }
  return h("div", null, h("h1", null, "hocket"),
           failed(new Error(`This view could not be loaded: ${error.message}. Check that the ` +
                            "daemon still runs, then try again."), route));
}

async function show(name, route, mine) {
  if (view && viewName === name) {
    view.route = route;
    return;
  }
  replace(outlet, loading());
  const element = await elementOf(name).catch(explainMissingView);
  if (mine !== turn) return;
  if (!(element.localName.startsWith("hk-view-"))) {
    showState(element, "Error");
    return;
  }
  viewName = name;
  view = element;
  setTitle("");
  element.route = route;
  replace(outlet, element);
}

// A new entry of the history has no state yet: it begins at the top. One that the reader returns to
// continues where it was left.
const positions = new Map();
let entry = 0, entries = 0;

function restorePosition() {
  positions.set(entry, window.scrollY);
  const known = history.state?.entry;
  entry = known ?? Date.now() * 1000 + ++entries;
  if (known === undefined) history.replaceState({ entry }, "");
  const place = positions.get(entry) ?? 0, mine = turn;
  window.scrollTo(0, place);
  if (place === 0) return;
  // The view may have to load before it is high enough.
  for (const waitMs of [50, 200, 500])
    setTimeout(() => mine === turn && window.scrollY < place && window.scrollTo(0, place), waitMs);
}

async function route() {
  const mine = ++turn;
  if (takeToken()) restart();
  const place = current(), name = place.path[0] ?? "jobs";
  const path = place.path.join("/") || "jobs", isMove = shownPath !== "" && path !== shownPath;
  markNavigation(name);
  if (path !== shownPath) {
    shownPath = path;
    restorePosition();
    if (isMove) {
      replace(resultBanner);
      outlet.focus({ preventScroll: true });
    }
  }
  if (!VIEWS.includes(name)) {
    showState(h("div", null, h("h1", null, "No such page"),
                empty("The address names no view.",
                      h("a", { href: "#/jobs" }, "Go to the jobs"))), "No such page");
    return;
  }
  // The view and its style arrive while the daemon is asked; show() says so if they do not.
  if (["jobs", "configs"].includes(name)) addStyle(new URL("./jobs.css", import.meta.url));
  import(`./views/${name}/${name}.js`).catch(() => {});
  try {
    whoami = await who();
    reloadFor(whoami.page);
  } catch (error) {
    if (mine === turn) showTrouble(error);
    return;
  }
  if (mine !== turn) return;
  showWho();
  if (live.state === "off") live.start();
  try {
    await show(name, place, mine);
  } catch (error) {
    console.error(error);
    if (mine === turn) showState(failed(error, route), "Error");
  }
}

function showTrouble(error) {
  whoami = null;
  showWho();
  if (error.status === 401) {
    askForToken(error);
  } else {
    showState(h("div", null, h("h1", null, "hocket"), failed(error, route)), "No answer");
  }
}

/// Begins again with another token.
function restart() {
  live.stop();
  showState(loading(), "");
  shownPath = "";
}

function askForToken(error) {
  live.stop();
  const wasWrong = token() !== "";
  const input = h("input", { id: "token", type: "password", autocomplete: "off", required: true,
                             spellcheck: "false", "aria-describedby": "token-help token-trouble" });
  const trouble = h("p", { id: "token-trouble", class: "trouble", role: "alert" },
                    wasWrong && "The daemon does not know this token. Copy it again: it changes " +
                      "when its file was removed, or with port 0 at each start.");
  const form = h("form", { class: "panel token", onsubmit: (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") {
      replace(trouble, "Enter the token.");
      input.focus();
      return;
    }
    setToken(text);
    restart();
    route();
  } },
    h("h1", null, "A token is needed"),
    h("p", null, "The daemon answers only who has one of its tokens."),
    h("div", { class: "field" }, h("label", { for: "token" }, "Token"), input),
    trouble,
    h("div", { class: "buttons" }, h("button", { type: "submit", class: "primary" }, "Continue")),
    h("div", { id: "token-help", class: "hint" },
      h("p", null, h("code", null, "hocket serve"), " names the file with the token in one of " +
        "the first lines of its log. ", h("code", null, "hocket serve --open"),
        " prints an address that contains it."),
      h("p", null, "It is kept in this tab until the tab is closed, and sent to ",
        h("bdi", null, location.host), " only.")));
  showState(form, "Token");
  input.focus();
  if (!wasWrong && error.status !== 401) replace(trouble, error.message);
}

function showWho() {
  const text = { live: "live", connecting: "connecting", stale: "no answer" }[live.state];
  const isStore = whoami?.serves === "store";
  setState(stateBox, "data-state", live.state);
  replace(stateBox,
          whoami && isStore && h("span", { title: "hocket web: nothing runs, nothing is changed" },
                                 "a store, read only"),
          whoami && !isStore && text && h("span", null, h("span", { class: "dot" }), text),
          whoami?.name && !isStore &&
            h("span", null, nameElement(whoami.name), ` (${whoami.role})`),
          token() && whoami && h("button", { type: "button", class: "link", onclick: forget },
                                 "forget token"));
}

function forget() {
  setToken("");
  restart();
  route();
}

function showStale() {
  showWho();
  if (live.state !== "stale") {
    replace(staleBanner);
    return;
  }
  const since = live.heardAtMs
    ? ` since ${new Date(live.heardAtMs).toTimeString().slice(0, 8)}` : "";
  if (staleBanner.textContent) return;
  replace(staleBanner, `The daemon has not answered${since}. What is shown may be out of date; ` +
                       "the page asks again by itself. Check that ",
          h("code", null, "hocket serve"), " still runs.");
}

function showResult({ message, kind }) {
  resultBanner.className = `banner result ${kind}`;
  replace(resultBanner, h("div", { class: "result-text" }, message),
          h("button", { type: "button", class: "link", onclick: () => {
            replace(resultBanner);
            outlet.focus({ preventScroll: true });
          } }, "close"));
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  outlet.focus();
});
outlet.addEventListener("title", (event) => setTitle(event.detail));
window.addEventListener("hocket-announce", (event) => showResult(event.detail));
window.addEventListener("hocket-unauthorized", (event) => {
  // The token was removed while the page was open.
  if (whoami) showTrouble(event.detail);
});
live.addEventListener("state", showStale);
onRoute(route);
replace(document.querySelector(".shell-foot"),
        `Times are in your zone, ${zoneText()}. Page ${pageVersion()}.`);
if (!location.hash) history.replaceState(null, "", "#/jobs");
route();
