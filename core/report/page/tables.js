// SPDX-License-Identifier: Apache-2.0
//
// The tables of a container: its entries, the statistics of its arrays, and the
// first rows of a table.
"use strict";

/** An input that searches a table while the user types. */
function searchBox(table, label) {
  const input = element("input", { type: "search", placeholder: label, "aria-label": label });
  input.addEventListener("input", () => table.search(input.value));
  return input;
}

/** A menu of a column's values, which restricts the table to rows of one value; null if the column
 * has fewer than two values. */
function choiceOf(table, title, valueOf) {
  const values = [...new Set(table.rows.map(valueOf))].filter((value) => value !== "");
  values.sort();
  if (values.length < 2) return null;
  const select = element("select", { "aria-label": title },
    element("option", { value: "" }, `any ${title}`));
  for (const [i, value] of values.entries()) {
    select.append(element("option", { value: String(i) }, shortened(value, 40)));
  }
  select.addEventListener("change", () => {
    const chosen = values[Number(select.value)];
    table.restrict(title, select.value === "" ? null : (row) => valueOf(row) === chosen);
  });
  return select;
}

function tableWithTools(table, choices) {
  const tools = element("div", { className: "tools" },
    searchBox(table, "Search names"), ...choices.filter(Boolean), table.status);
  return [tools, table.scroller];
}

/** The rows of EntryRows (entry_rows.h) as objects, faulty ones first. */
function entriesOf(container) {
  const words = container.entries.words;
  const faulty = new Set(container.faults ? container.faults.rows : []);
  const rows = container.entries.rows.map((row, i) => ({
    faulty: faulty.has(i),
    name: row[0] === null ? "" : row[0], unnamed: row[0] === null,
    kind: words[row[1]], codec: words[row[2]], dtype: words[row[3]],
    shape: row[4], checksum: row[5], elements: row[6], size: row[7], stored: row[8],
    offset: row[9], note: row[10],
  }));
  return [...rows.filter((row) => row.faulty), ...rows.filter((row) => !row.faulty)];
}

function entriesTable(container) {
  const rows = entriesOf(container);
  const any = (key) => rows.some((row) => row[key] !== "" && row[key] !== null);
  const textColumn = (title, key, least) => ({ title, value: (row) => row[key],
    text: (row) => row[key], width: fitting(rows.map((row) => row[key]), least) });
  const offset = (row) => (row.offset === null ? "" : grouped(row.offset));
  const columns = [
    { title: "Name", width: rows.map((row) => row.name), className: "name",
      value: (row) => row.name,
      text: (row) => (row.unnamed ? "(no name)" : row.name) },
    rows.some((row) => row.faulty) && { title: "Fault", width: "70px",
      value: (row) => (row.faulty ? "fault" : ""), text: (row) => (row.faulty ? "fault" : "") },
    any("dtype") && textColumn("Dtype", "dtype", 70),
    any("shape") && { ...textColumn("Shape", "shape", 90), value: (row) => row.elements },
    { title: "Size", width: "90px", number: true, value: (row) => row.size,
      text: (row) => humanSize(row.size) },
    { title: "Stored", width: "90px", number: true, value: (row) => row.stored,
      text: (row) => humanSize(row.stored) },
    textColumn("Codec", "codec", 80),
    any("checksum") && { ...textColumn("Checksum", "checksum", 140), className: "mono" },
    { title: "Offset", width: fitting(rows.map(offset), 80), number: true,
      value: (row) => row.offset, text: offset },
    any("note") && { title: "Note", width: "160px", value: (row) => row.note,
      text: (row) => row.note },
  ].filter(Boolean);
  const table = new VirtualTable(columns, rows,
    { label: "Entries", search: (row) => `${row.name}\n${row.note}`,
      marked: (row) => row.faulty });
  return tableWithTools(table, [
    choiceOf(table, "state", (row) => (row.faulty ? "faulty" : "sound")),
    choiceOf(table, "dtype", (row) => row.dtype),
    choiceOf(table, "codec", (row) => row.codec),
    choiceOf(table, "kind", (row) => row.kind),
  ]);
}

/** The histogram of an array as a small picture. */
function sparkline(row) {
  const ratio = window.devicePixelRatio || 1;
  const width = 120;
  const height = 20;
  const canvas = element("canvas", { width: width * ratio, height: height * ratio });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const bins = row.bins || [];
  const most = Math.max(1, ...bins);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = ACCENT;
  const step = width / Math.max(1, bins.length);
  for (const [i, count] of bins.entries()) {
    const tall = (count / most) * (height - 1);
    pen.fillRect(i * step, height - tall, Math.max(0.5, step - 0.5), tall);
  }
  return canvas;
}

/** The minimum or maximum of an array of whole numbers, with all digits. */
function wholeExtreme(row, key) {
  if (row.exact) return grouped(BigInt(row.exact[key === "min" ? 0 : 1]));
  return isWhole(row.dtype) && typeof row[key] === "number" ? grouped(row[key]) : undefined;
}

function arraysTable(container) {
  const statistic = (title, key, digits = () => undefined) => {
    const text = (row) => digits(row) ?? shortNumber(row[key]);
    return { title, width: fitting(container.arrays.map(text), 24 + 9 * title.length),
      number: true, value: (row) => row[key], text };
  };
  const columns = [
    { title: "Name", width: container.arrays.map((row) => row.name), className: "name",
      value: (row) => row.name, text: (row) => row.name },
    { title: "Dtype", width: "70px", value: (row) => row.dtype, text: (row) => row.dtype },
    { title: "Elements", number: true,
      width: fitting(container.arrays.map((row) => grouped(row.elements)), 96),
      value: (row) => row.elements, text: (row) => grouped(row.elements) },
    { title: "Histogram", width: "136px", value: () => 0,
      text: () => "", cell: (row) => (row.error ? element("span",
        { className: "error", title: visible(row.error) }, "unreadable") : sparkline(row)) },
    statistic("Min", "min", (row) => wholeExtreme(row, "min")),
    statistic("Max", "max", (row) => wholeExtreme(row, "max")), statistic("Mean", "mean"),
    statistic("Deviation", "deviation"), statistic("Zeros", "zeros"),
    statistic("NaN", "nans"), statistic("Inf", "infinities"),
  ];
  const panel = element("div", {});
  const histogram = histogramPanel(panel);
  const table = new VirtualTable(columns, container.arrays,
    { label: "Arrays", search: (row) => row.name, choose: (row) => histogram(row),
      marked: (row) => row.error !== undefined });
  const parts = tableWithTools(table, [choiceOf(table, "dtype", (row) => row.dtype)]);
  table.choose(container.arrays[0]);
  return [...parts, panel];
}

/** The first rows of a table (TablePreview). They are few, so this is a plain HTML table. */
function previewTable(preview) {
  const rows = Math.max(0, ...preview.columns.map((column) => (column.cells || []).length));
  const head = element("tr", {});
  for (const column of preview.columns) {
    head.append(element("th", {}, visible(column.name), element("br"),
      element("span", { className: "quiet" }, visible(column.type))));
  }
  const body = element("tbody", {});
  for (let i = 0; i < rows; ++i) {
    const line = element("tr", {});
    for (const column of preview.columns) {
      const cell = column.error === undefined ? column.cells[i] : undefined;
      if (column.error !== undefined) {
        line.append(element("td", { className: "error" }, i === 0 ? visible(column.error) : ""));
      } else if (cell === null || cell === undefined) {
        line.append(element("td", { className: "null" }, cell === null ? "null" : ""));
      } else {
        line.append(element("td", { title: visible(cell),
          className: /^(f|bf|i|u)\d/.test(column.type) ? "number" : "" }, visible(cell)));
      }
    }
    body.append(line);
  }
  return element("div", { className: "preview" },
    element("table", {}, element("thead", {}, head), body));
}
