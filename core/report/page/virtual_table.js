// SPDX-License-Identifier: Apache-2.0
//
// A table of any number of rows, of which the page has only those in sight.
"use strict";

const ROW_HEIGHT = 26; // --row of report.css
const ROWS_BEYOND = 8; // above and below those in sight

function longestOf(texts) {
  return texts.reduce((most, text) => Math.max(most, text.length), 0);
}

/** The width of a column, none of whose texts is cut unless it is very long. */
function fitting(texts, least) {
  return `${Math.min(400, Math.max(least, Math.ceil(9.2 * longestOf(texts)) + 18))}px`;
}

/** Widths as a grid has them. A column of names, whose width is the texts, has
 * room for whole names if the page has, and else takes a part of it. */
function templateOf(columns) {
  const pixels = (width) => Number(/\d+/.exec(width)[0]);
  const others = columns.filter((one) => !Array.isArray(one.width))
    .reduce((sum, one) => sum + pixels(one.width), 0);
  const page = Math.min(1240, window.innerWidth) - 76;
  const room = Math.max(page - others, Math.min(300, Math.round(page * 0.55)));
  return columns.map(({ width }) => (Array.isArray(width)
    ? `minmax(${Math.max(120, Math.min(room, Math.ceil(7.7 * longestOf(width)) + 18))}px, 1fr)`
    : width));
}

/** Numbers in a name compare as numbers: "layers.2" is before "layers.10". */
function nameKey(name) {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));
}

class VirtualTable {
  /**
   * columns: [{title, width, value(row), text(row), number?, cell?(row)}]: `width`
   * in pixels, or the names that the column is to show (templateOf); `value`
   * is what rows are sorted by, null last; `cell` gives a node instead of text.
   * options: search(row), the text that is searched; choose(row), called for a
   * row that is clicked; marked(row), whether it is shown in red; label; totals, the
   * texts of a last row that stays in sight.
   */
  constructor(columns, rows, options) {
    this.columns = columns;
    this.rows = rows;
    this.options = options;
    this.needle = "";
    this.tests = new Map();
    this.sorted = null; // {column, down}
    this.keys = new Map(); // of columns of text: a key per row
    this.chosen = null;
    this.shown = Uint32Array.from(rows.keys());
    this.build();
    this.update();
  }

  build() {
    const widths = templateOf(this.columns);
    const template = widths.join(" ");
    this.head = element("div", { className: "head", role: "row" });
    // Every row is a grid of its own: their columns are as wide only if no text
    // takes part in the widths.
    const least = widths.reduce((sum, width) => sum + Number(/\d+/.exec(width)[0]), 0);
    this.head.style.gridTemplateColumns = template;
    this.head.style.minWidth = `${least}px`;
    for (const column of this.columns) {
      const button = element("button", { type: "button", role: "columnheader",
        "aria-sort": "none", className: column.number ? "number" : "" }, column.title);
      button.addEventListener("click", () => this.sortBy(column));
      this.head.append(button);
    }
    this.template = template;
    this.window = element("div", { className: "window" });
    this.space = element("div", { className: "space" }, this.window);
    this.space.style.minWidth = `${least}px`;
    this.scroller = element("div", { className: "scroller", role: "table", tabIndex: 0,
      "aria-label": this.options.label }, this.head, this.space);
    if (this.options.totals) this.scroller.append(this.totalsRow(template, least));
    if (this.options.choose) this.scroller.classList.add("pick");
    this.status = element("span", { className: "quiet", role: "status" });
    let waiting = false;
    const later = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        this.render();
      });
    };
    this.scroller.addEventListener("scroll", later);
    new ResizeObserver(later).observe(this.scroller);
  }

  totalsRow(template, least) {
    const row = element("div", { className: "totals", role: "row" });
    row.style.gridTemplateColumns = template;
    row.style.minWidth = `${least}px`;
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

  /** Shows the rows that `test` is true of; null takes the test `name` away. */
  restrict(name, test) {
    if (test) this.tests.set(name, test);
    else this.tests.delete(name);
    this.update();
  }

  sortBy(column) {
    const again = this.sorted && this.sorted.column === column;
    // Large numbers are looked for, and so are first.
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
    const made = [];
    for (let i = first; i < end; ++i) made.push(this.rowOf(this.rows[this.shown[i]], i));
    this.window.style.transform = `translateY(${first * ROW_HEIGHT}px)`;
    this.window.replaceChildren(...made);
  }

  rowOf(row, number) {
    const made = element("div", { className: "row", role: "row",
      "aria-rowindex": String(number + 1) });
    made.style.gridTemplateColumns = this.template;
    if (row === this.chosen) made.classList.add("chosen");
    if (this.options.marked && this.options.marked(row)) made.classList.add("faulty");
    for (const column of this.columns) {
      const text = visible(column.text(row));
      const cell = element("div", { role: "cell", title: column.cell ? "" : text,
        className: `cell ${column.number ? "number" : ""} ${column.className || ""}` },
      column.cell ? column.cell(row) : text);
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
