// Colours of boxes: by kind, and for computations by the pass that the name tells. They come from
// the style sheet, so they follow the reader's colour scheme.

const VARIABLES = ["forward", "backward", "update", "several", "communication", "copy", "exposed",
                   "range", "call", "iteration", "iteration-odd"];
export const COLOUR = Object.fromEntries(VARIABLES.map((name, i) => [name, i]));
const OTHERS = ["lane", "line", "ink", "muted", "accent", "selection", "join", "surface"];
/// Steps between the lane's background and the full colour.
export const SHADES = 16;
const WIDTH = SHADES + 1;

/// The legend of each colour that is not explained by its lane's title.
export const LEGEND = [["forward", "forward"], ["backward", "backward"], ["update", "update"],
                       ["several", "several computations"], ["communication", "communication"],
                       ["copy", "copy"], ["exposed", "exposed communication"],
                       ["range", "range"], ["call", "call"]];

/// Returns the pass that a computation's name tells, by the rules of cli/views/step_timeline.h.
export function phaseOf(name) {
  const lower = name.toLowerCase(), has = (word) => lower.includes(word);
  if (has("backward") || lower.endsWith(".dx") || lower.endsWith(".dw")) return COLOUR.backward;
  if (has("update") || has("adam") || has("sgd") || has("optimizer") || lower.endsWith(".round"))
    return COLOUR.update;
  return COLOUR.forward;
}

function channelsOf(text) {
  const numbers = text.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return numbers.slice(0, 3).map(Number);
}

function packed([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function mixed(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

function luminance(channels) {
  const [red, green, blue] = channels.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

export class Palette {
  /// Pixels (RGBA in memory) of colour c at shade s: at [c * (SHADES + 1) + s].
  shades = new Uint32Array(VARIABLES.length * WIDTH);
  /// Colour of text on each colour.
  inks = [];

  /// Reads the colours that apply to `element`, by a probe inside it: a custom property itself may
  /// hold any expression.
  read(element) {
    const probe = document.createElement("span");
    probe.hidden = true;
    element.append(probe);
    const colour = (name) => {
      probe.style.color = `var(--hkt-${name})`;
      return channelsOf(getComputedStyle(probe).color);
    };
    for (const name of OTHERS) {
      const text = colour(name).join(" ");
      this[name] = `rgb(${text})`;
      this[`${name}Faint`] = `rgb(${text} / 14%)`;
    }
    const background = colour("lane");
    VARIABLES.forEach((name, i) => {
      const full = colour(name);
      for (let s = 0; s <= SHADES; ++s)
        this.shades[i * WIDTH + s] = packed(mixed(background, full, s / SHADES));
      this.inks[i] = luminance(full) > 0.2 ? "#14191f" : "#ffffff";
    });
    // Its every third stripe is lighter, so that the lane is known without its colour.
    this.stripe = packed(mixed(colour("exposed"), background, 0.65));
    probe.remove();
  }

  /// Returns the colour of each name, for lanes of computations.
  static phases(names) {
    return Uint8Array.from(names, phaseOf);
  }
}
