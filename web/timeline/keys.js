// The keyboard of the canvas, and its description.

const ZOOM = 1.5;
const PAN = 0.15;

/// The help: keys, and what they do.
export const HELP = [
  ["w s, + −", "zoom in and out (at the pointer, else in the middle)"],
  ["a d, ← →", "go left and right"],
  ["↑ ↓, Page ↑ ↓", "scroll the lanes"],
  ["Home End, 0", "begin, end, all of it"],
  ["n p, ] [", "next and previous exposed stretch"],
  ["/", "search; Enter and Shift+Enter in the field go to the next and previous match"],
  ["Enter", "details of the selected box, or select one in the middle"],
  [", .", "previous and next record of the lane"],
  ["Shift+↑ ↓", "the lane above or below"],
  ["f", "zoom to the selected box or range"],
  ["m", "make the selected box the range"],
  ["r", "make what is visible the range"],
  ["Shift+← →", "make the range shorter or longer"],
  ["Escape", "clear range, then selection"],
  ["?", "this help"],
];

/// Says how mouse and fingers move, for a timeline whose lanes all fit or do not.
export function pointerHelp(canScroll) {
  return [
    [canScroll ? "Ctrl+wheel" : "wheel", "zoom at the pointer"],
    ...(canScroll ? [["wheel", "scroll the lanes"]] : []),
    ["Shift+wheel, drag", "move along the axis"],
    ["Shift+drag, drag on the axis", "select a range and get its figures"],
    ["click, double click", "details of a box, zoom to it"],
    ["two fingers", "zoom and move"],
  ];
}

function plainKeys(timeline) {
  const { view } = timeline;
  const zoom = (factor) => view.zoom(timeline.focusTime(), factor, { smooth: true });
  const pan = (share) => view.pan(share * view.span, { smooth: true });
  return {
    w: () => zoom(ZOOM), s: () => zoom(1 / ZOOM), "+": () => zoom(ZOOM), "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM), a: () => pan(-PAN), d: () => pan(PAN),
    ArrowLeft: () => pan(-PAN), ArrowRight: () => pan(PAN),
    ArrowUp: () => timeline.scrollBy(-44), ArrowDown: () => timeline.scrollBy(44),
    PageUp: () => timeline.scrollBy(-300), PageDown: () => timeline.scrollBy(300),
    Home: () => view.goTo(view.begin, view.begin + view.span),
    End: () => view.goTo(view.end - view.span, view.end),
    0: () => view.all(),
    n: () => timeline.findExposed(false), "]": () => timeline.findExposed(false),
    p: () => timeline.findExposed(true), "[": () => timeline.findExposed(true),
    "/": () => timeline.focusSearch(), "?": () => timeline.toggleHelp(),
    Enter: () => timeline.enter(), Escape: () => timeline.escape(),
    ",": () => timeline.stepRecord(-1), ".": () => timeline.stepRecord(1),
    f: () => timeline.zoomToSelection(), m: () => timeline.markSelection(),
    r: () => timeline.markVisible(),
  };
}

const SHIFTED = {
  ArrowUp: (timeline) => timeline.stepLane(-1),
  ArrowDown: (timeline) => timeline.stepLane(1),
  ArrowLeft: (timeline) => timeline.growRange(-0.05),
  ArrowRight: (timeline) => timeline.growRange(0.05),
};

/// Does what a key of the canvas means. Returns whether it means anything.
export function pressKey(timeline, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const shifted = event.shiftKey ? SHIFTED[event.key] : null;
  if (shifted) {
    shifted(timeline);
    return true;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const keys = plainKeys(timeline);
  if (!Object.hasOwn(keys, key)) return false;
  keys[key]();
  return true;
}
