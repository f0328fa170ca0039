// Texts that fit into a width. Measured once for each name, since measuring costs more than
// drawing.

const MOST_NAMES = 20000;

export class TextFit {
  #sizes = new Map();
  #cuts = new Map();

  constructor(context) {
    this.context = context;
  }

  /// Forgets all widths; for another font.
  clear() {
    this.#sizes.clear();
    this.#cuts.clear();
  }

  width(text) {
    let width = this.#sizes.get(text);
    if (width === undefined) {
      if (this.#sizes.size > MOST_NAMES) this.clear();
      width = this.context.measureText(text).width;
      this.#sizes.set(text, width);
    }
    return width;
  }

  /// Returns the text, or the end of it after a ".", or its beginning with "…"; "" if too little
  /// fits.
  fit(text, room) {
    if (this.width(text) <= room) return text;
    const tail = text.slice(text.lastIndexOf(".") + 1);
    if (tail.length > 2 && tail.length < text.length && this.width(tail) <= room) return tail;
    const characters = Math.floor(room / this.width(text) * text.length) - 1;
    if (characters < 3) return "";
    const key = `${characters} ${text}`;
    let cut = this.#cuts.get(key);
    if (cut === undefined) {
      if (this.#cuts.size > MOST_NAMES) this.#cuts.clear();
      cut = text.slice(0, characters) + "…";
      if (this.width(cut) > room) cut = text.slice(0, characters - 1) + "…";
      this.#cuts.set(key, cut);
    }
    return cut;
  }
}
