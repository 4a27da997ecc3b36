// SPDX-License-Identifier: Apache-2.0
//
// A table of any number of rows. The page contains only the rows in sight.
"use strict";

const ROW_HEIGHT = 26; // --row of report.css
const ROWS_BEYOND = 8; // above and below those in sight

// The fonts of report.css. Names use the second one, whose letters all have the same width.
const TEXT_FONT = "600 14px system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
const NAME_FONT = "12.5px ui-monospace, 'DejaVu Sans Mono', monospace";
const PADDING = 18; // of a cell, left and right
const HEAD = 0.25; // of a name, before the gap: names differ in their last components
const PEN = document.createElement("canvas").getContext("2d");

function widthOf(text, font) {
  PEN.font = font;
  return PEN.measureText(text).width;
}

function longestOf(texts) {
  return texts.reduce((most, text) => Math.max(most, text.length), 0);
}

/** The width that a column needs for its texts, between `least` and `greatest` pixels. */
function fitting(texts, least, greatest = 400) {
  // The widest text is among the longest ones.
  const long = longestOf(texts) * 0.8;
  const most = texts.filter((text) => text.length >= long).slice(0, 500)
    .reduce((sofar, text) => Math.max(sofar, widthOf(text, TEXT_FONT)), 0);
  return `${Math.min(greatest, Math.max(least, Math.ceil(most) + PADDING))}px`;
}

/** The widths of columns in a grid of `page` pixels. The `width` of a column of names is the list
 * of its texts. Such a column gets the room that the others leave, or a part of a narrow page. */
function templateOf(columns, page) {
  const pixels = (width) => Number(/\d+/.exec(width)[0]);
  const others = columns.filter((one) => !Array.isArray(one.width))
    .reduce((sum, one) => sum + pixels(one.width), 0);
  const left = page - others;
  const room = left >= 160 ? left : Math.min(300, Math.round(page * 0.65));
  const whole = (names) => Math.ceil(widthOf("0", NAME_FONT) * longestOf(names)) + PADDING;
  return columns.map(({ width }) => (Array.isArray(width)
    ? `minmax(${Math.max(120, Math.min(room, whole(width)))}px, 1fr)` : width));
}

/** Numbers in a name compare as numbers: "layers.2" is before "layers.10". */
function nameKey(name) {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
}

class VirtualTable {
  /**
   * columns: [{title, width, value(row), text(row), number?, cell?(row)}]. `width` is in
   * pixels, or the list of names in the column (templateOf). Rows are sorted by `value`, null
   * last. `cell(row, most)` returns a node instead of text, and `short(row, most)` a text of at
   * most `most` letters.
   * options: search(row) returns the text that is searched; choose(row) is called for a clicked
   * row; marked(row) returns whether a row is red; label; totals are the texts of a last row
   * that stays in sight.
   */
  constructor(columns, rows, options) {
    this.columns = columns;
    this.rows = rows;
    this.options = options;
    this.needle = "";
    this.tests = new Map();
    this.sorted = null; // {column, down}
    this.keys = new Map(); // by column: a key per row
    this.chosen = null;
    this.shown = Uint32Array.from(rows.keys());
    this.build();
    this.update();
  }

  build() {
    this.head = element("div", { className: "head", role: "row" });
    for (const column of this.columns) {
      const button = element("button", { type: "button", role: "columnheader",
        "aria-sort": "none", className: column.number ? "number" : "" }, column.title);
      button.addEventListener("click", () => this.sortBy(column));
      this.head.append(button);
    }
    this.window = element("div", { className: "window" });
    this.space = element("div", { className: "space" }, this.window);
    this.scroller = element("div", { className: "scroller", role: "table", tabIndex: 0,
      "aria-label": this.options.label }, this.head, this.space);
    this.totals = this.options.totals ? this.totalsRow() : null;
    if (this.totals) this.scroller.append(this.totals);
    // Estimates the width, because elements have none before they are in the document.
    this.layOut(Math.min(1240, window.innerWidth) - 76);
    if (this.options.choose) this.scroller.classList.add("pick");
    this.status = element("span", { className: "quiet", role: "status" });
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (this.scroller.clientWidth) this.layOut(this.scroller.clientWidth);
        this.render();
      });
    };
    this.scroller.addEventListener("scroll", later);
    new ResizeObserver(later).observe(this.scroller);
  }

  /** Spreads the columns over `page` pixels. */
  layOut(page) {
    if (page === this.page) return;
    this.page = page;
    const widths = templateOf(this.columns, page);
    this.template = widths.join(" ");
    // Each row is a grid of its own. Columns of all rows have equal widths only if the widths do
    // not depend on texts.
    const least = widths.reduce((sum, width) => sum + Number(/\d+/.exec(width)[0]), 0);
    for (const row of [this.head, this.totals, this.space].filter(Boolean)) {
      row.style.minWidth = `${least}px`;
      if (row !== this.space) row.style.gridTemplateColumns = this.template;
    }
  }

  totalsRow() {
    const row = element("div", { className: "totals", role: "row" });
    for (const [i, text] of this.options.totals.entries()) {
      row.append(element("div", { role: "cell", title: text,
        className: `cell ${this.columns[i].number ? "number" : ""}` }, text));
    }
    return row;
  }

  /** Shows the rows whose text has `needle`, in any case. */
  search(needle) {
    this.needle = needle.toLowerCase();
    this.update();
  }

  /** Shows only rows for which `test` is true; null removes the test `name`. */
  restrict(name, test) {
    if (test) this.tests.set(name, test);
    else this.tests.delete(name);
    this.update();
  }

  sortBy(column) {
    const again = this.sorted && this.sorted.column === column;
    // Numbers are first sorted downwards, because large ones are the most interesting.
    const down = again ? !this.sorted.down : Boolean(column.number);
    this.sorted = { column, down };
    for (const [i, button] of [...this.head.children].entries()) {
      const by = this.columns[i] === column;
      button.setAttribute("aria-sort", by ? (down ? "descending" : "ascending") : "none");
      button.textContent = this.columns[i].title + (by ? (down ? " \u25be" : " \u25b4") : "");
    }
    this.update();
  }

  keysOf(column) {
    if (!this.keys.has(column)) {
      this.keys.set(column, this.rows.map((row) => {
        const value = column.value(row);
        return typeof value === "string" ? nameKey(value) : value;
      }));
    }
    return this.keys.get(column);
  }

  update() {
    const { needle, rows, options } = this;
    const tests = [...this.tests.values()];
    if (needle && !this.haystack) {
      this.haystack = rows.map((row) => options.search(row).toLowerCase());
    }
    const kept = [];
    for (let i = 0; i < rows.length; ++i) {
      if (needle && !this.haystack[i].includes(needle)) continue;
      if (tests.every((test) => test(rows[i]))) kept.push(i);
    }
    this.shown = Uint32Array.from(kept);
    if (this.sorted) this.order();
    this.space.style.height = `${this.shown.length * ROW_HEIGHT}px`;
    this.status.textContent = this.shown.length === rows.length
      ? counted(rows.length, "row", "rows")
      : `${grouped(this.shown.length)} of ${counted(rows.length, "row", "rows")}`;
    this.scroller.scrollTop = 0;
    this.render();
  }

  order() {
    const keys = this.keysOf(this.sorted.column);
    const sign = this.sorted.down ? -1 : 1;
    this.shown.sort((a, b) => {
      const x = keys[a];
      const y = keys[b];
      if (x === y) return a - b;
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return x < y ? -sign : sign;
    });
  }

  render() {
    const top = this.scroller.scrollTop;
    const height = this.scroller.clientHeight || 440;
    const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - ROWS_BEYOND);
    const end = Math.min(this.shown.length,
      Math.ceil((top + height) / ROW_HEIGHT) + ROWS_BEYOND);
    const letters = this.letters();
    const made = [];
    for (let i = first; i < end; ++i) made.push(this.rowOf(this.rows[this.shown[i]], i, letters));
    this.window.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    this.window.replaceChildren(...made);
  }

  /** The number of letters of a name that fit into each column. */
  letters() {
    const letter = widthOf("0", NAME_FONT);
    return [...this.head.children].map((cell) => {
      const { width } = cell.getBoundingClientRect();
      return width ? Math.max(9, Math.floor((width - PADDING) / letter)) : Infinity;
    });
  }

  /** The content of a cell: a node or a text. Long names are shortened in the middle. */
  contentOf(column, row, text, most) {
    if (column.cell) return column.cell(row, most);
    if (column.className !== "name") return text;
    return column.short ? column.short(row, most) : shortened(text, most, HEAD);
  }

  rowOf(row, number, letters) {
    const made = element("div", { className: "row", role: "row",
      "aria-rowindex": String(number + 1) });
    made.style.gridTemplateColumns = this.template;
    if (row === this.chosen) made.classList.add("chosen");
    if (this.options.marked && this.options.marked(row)) made.classList.add("faulty");
    for (const [i, column] of this.columns.entries()) {
      const text = visible(column.text(row));
      const cell = element("div", { role: "cell", title: column.cell ? "" : text,
        className: `cell ${column.number ? "number" : ""} ${column.className || ""}` },
      this.contentOf(column, row, text, letters[i]));
      made.append(cell);
    }
    if (this.options.choose) {
      made.addEventListener("click", () => this.choose(row));
    }
    return made;
  }

  choose(row) {
    this.chosen = row;
    this.render();
    this.options.choose(row);
  }
}
