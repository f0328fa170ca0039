// A table that can be sorted and whose rows are updated in place.

import { h, reconcile, replace, setState } from "./dom.js";
import { countText } from "./format.js";

const SHOWN = 500;

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/// Returns the rows in the order of a column. Rows without a value come last in both directions.
export function sorted(rows, column, descending) {
  if (!column?.sort) return rows;
  const has = (value) => value !== null && value !== undefined && !Number.isNaN(value);
  const valued = rows.map((row) => ({ row, value: column.sort(row) }));
  const known = valued.filter(({ value }) => has(value));
  known.sort((a, b) => (descending ? -1 : 1) * compare(a.value, b.value));
  return [...known, ...valued.filter(({ value }) => !has(value))].map(({ row }) => row);
}

function cellContent(column, row, href) {
  const content = column.node ? column.node(row) : column.text(row);
  return href ? h("a", { href }, content) : content;
}

/// Fills a row. A cell is made anew only when its text has changed, so `text` must tell apart
/// whatever `node` shows differently.
function updateRow(line, { columns, link, cards: isCards }, row) {
  columns.forEach((column, index) => {
    const cell = line.children[index], text = String(column.text(row) ?? "");
    const href = index === 0 ? link?.(row) : null;
    if (cell.shown === text && cell.href === href) return;
    cell.shown = text;
    cell.href = href;
    const content = cellContent(column, row, href);
    // A card's cell is a grid of its label and one more element.
    replace(cell, isCards ? h("div", null, content) : content);
  });
}

/// Returns the name with places behind _ and . where a narrow heading may break.
function breakable(name) {
  return name.split(/(?<=[_.])/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}

function makeRow(columns) {
  return h("tr", null, columns.map((column, index) => h(index === 0 ? "th" : "td", {
    scope: index === 0 ? "row" : null, class: column.numeric ? "numeric" : column.class,
    dataset: { label: column.name } })));
}

/// Returns an element with the table. options: caption, columns: [{name, text(row), sort?(row),
/// numeric?, node?(row), hint?, class?}], rows, key(row), link?(row): address behind the first
/// column, sort?: {column, descending}, onsort?({column, descending}), mark?(row): text for the
/// row's data-mark, cards: true makes a card of each row on narrow screens, limit: rows shown at
/// first. The element has update(rows) and setSort({column, descending}).
export function table(options) {
  const { caption, columns, key, onsort, limit = SHOWN } = options;
  let rows = options.rows, sort = options.sort ?? null, all = false;
  const body = h("tbody");
  const more = h("p", { class: "more", hidden: true });
  const heads = columns.map((column) => h("th", {
    scope: "col", class: column.numeric ? "numeric" : column.class, title: column.hint },
    column.sort ? h("button", { type: "button", class: "sort", onclick: () => sortBy(column) },
                    breakable(column.name)) : breakable(column.name)));
  const wrapper = h("div", { class: options.cards ? "table cards" : "table" },
    h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption },
      h("table", null, h("caption", null, caption), h("thead", null, h("tr", null, heads)), body)),
    more);

  function sortBy(column) {
    const descending = sort?.column === column.name ? !sort.descending : Boolean(column.numeric);
    sort = { column: column.name, descending };
    show();
    onsort?.(sort);
  }

  function showMore(count) {
    more.hidden = count <= limit || all;
    if (more.hidden) return;
    replace(more, `The first ${countText(limit)} of ${countText(count)} rows are shown. `,
            h("button", { type: "button", onclick: () => { all = true; show(); } }, "Show all"));
  }

  function show() {
    const column = columns.find((one) => one.name === sort?.column);
    columns.forEach((one, index) => {
      const direction = sort?.descending ? "descending" : "ascending";
      setState(heads[index], "aria-sort", one === column ? direction : null);
    });
    const ordered = sorted(rows, column, sort?.descending);
    reconcile(body, all ? ordered : ordered.slice(0, limit), key, () => makeRow(columns),
              (line, row) => {
                updateRow(line, options, row);
                setState(line, "data-mark", options.mark?.(row));
              });
    showMore(ordered.length);
  }

  wrapper.update = (next) => {
    rows = next;
    show();
  };
  wrapper.setSort = (next) => {
    sort = next;
    show();
  };
  show();
  return wrapper;
}
