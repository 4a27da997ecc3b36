// SPDX-License-Identifier: Apache-2.0
//
// The overview of a page of several containers: a table of them and their totals.
"use strict";

/** The verdict on a container as [class, words]. Null for a container without known faults if its
 * checksums were not compared, as for a page from the index alone, or if it has no entries. */
function verdictOf(container) {
  if (container.error !== undefined) return ["damaged", "cannot be opened"];
  if (container.faults) {
    return ["damaged", container.faults.damaged ? "damaged" : "not all could be read"];
  }
  if (container.incomplete) return ["unverified", "incomplete"];
  if (container.verified_by) return ["verified", `verified by ${container.verified_by}`];
  if (DATA.depth === "index" || container.checksums.length === 0) return null;
  const without = container.checksums.filter(([name]) => name === "none");
  if (without.length === container.checksums.length) return ["neutral", "no checksums"];
  if (without.length || container.unverified) return ["unverified", "verified in part"];
  return ["verified", "verified"];
}

function verdictText(container) {
  const verdict = verdictOf(container);
  return verdict === null ? "" : verdict[1];
}

function badgeOf(container) {
  const verdict = verdictOf(container);
  if (verdict === null) return "";
  const faults = container.faults ? container.faults.listed.map((one) => one[1]) : [];
  const title = visible(container.error || faults[0] || "");
  return element("span", { className: `badge ${verdict[0]}`, title }, verdict[1]);
}

function isFaulty(container) {
  return container.error !== undefined || container.faults !== undefined;
}

/** The amount of a container's contents as [number, unit]; null if it has only files. */
function contentsOf(container) {
  if (container.contents) return container.contents;
  if (!container.array_count) return null;
  return [container.elements, container.all_tensors ? "parameters" : "elements"];
}

function contentsText(contents) {
  return contents === null ? "" : `${humanCount(contents[0])} ${unitOf(contents)}`;
}

/** The unit of an amount: "samples", or "sample" if the number is 1. */
function unitOf([number, unit]) {
  return number === 1 ? unit.replace(/s$/, "") : unit;
}

/** The part of a container's sum `key` that earlier containers of the page have, too, such as the
 * shards of a model. */
function before(container, key) {
  return (container.counted_before && container.counted_before[key]) || 0;
}

function sumOf(containers, key) {
  return containers.reduce((sum, one) => sum + (one[key] || 0) - before(one, key), 0);
}

/** The contents of all containers, summed by unit: "1.2 million parameters, 50 samples". */
function allContents(containers) {
  const sums = new Map();
  for (const container of containers) {
    const contents = contentsOf(container);
    if (!contents) continue;
    const ofArrays = ["parameters", "elements"].includes(contents[1]);
    const twice = ofArrays ? before(container, "elements") : 0;
    sums.set(contents[1], (sums.get(contents[1]) || 0) + contents[0] - twice);
  }
  const largest = [...sums].sort((a, b) => b[1] - a[1]);
  return largest.map(([unit, number]) => contentsText([number, unit])).join(", ");
}

/** The containers of the page as rows of the overview, faulty ones first. */
function overviewRows() {
  const rows = DATA.containers.map((container, index) => ({ container, index }));
  return [...rows.filter((row) => isFaulty(row.container)),
    ...rows.filter((row) => !isFaulty(row.container))];
}

/** A bar for the size of a container, relative to the largest one. */
function sizeBar(bytes, most) {
  const bar = element("div", { className: "bar" });
  bar.style.width = `${((bytes || 0) / most) * 100}%`;
  return element("div", { className: "track" }, bar);
}

function overviewTable(rows) {
  const all = DATA.containers;
  const most = Math.max(1, ...all.map((one) => one.container_size || 0));
  const faulty = all.filter(isFaulty).length;
  const formats = new Set(all.filter((one) => one.error === undefined).map((one) => one.format));
  const of = (title, textOf, valueOf, total, least = 70, number = true) => {
    const text = (row) => textOf(row.container);
    return { title, number, text, value: (row) => valueOf(row.container), total,
      width: fitting([total, ...rows.map(text)], least) };
  };
  const size = (title, key) => of(title,
    (one) => (one[key] === undefined ? "" : humanSize(one[key])), (one) => one[key] ?? null,
    humanSize(sumOf(all, key)), 84);
  const words = (title, textOf, total, least) => of(title, textOf, textOf, total, least, false);
  const bad = faulty ? `${grouped(faulty)} faulty` : "";
  const verdict = { ...words("Verdict", verdictText, bad, 130),
    cell: (row) => badgeOf(row.container) };
  const columns = [
    { title: "Name", className: "name", total: counted(all.length, "container", "containers"),
      width: rows.map((row) => row.container.name),
      value: (row) => row.container.name, text: (row) => row.container.name,
      cell: (row, most) => element("a", { href: `#${row.index + 1}`,
        title: visible(row.container.name) }, shortened(row.container.name, most)) },
    verdict,
    words("Format", (one) => formatText(one), counted(formats.size, "format", "formats"), 80),
    of("Entries", (one) => (one.error === undefined ? grouped(one.entry_count) : ""),
      (one) => one.entry_count ?? null, grouped(sumOf(all, "entry_count"))),
    of("Contents", (one) => contentsText(contentsOf(one)), (one) => (contentsOf(one) || [null])[0],
      ""),
    size("Stored", "container_size"),
    { title: "Share", width: "90px", total: "", text: () => "",
      value: (row) => row.container.container_size ?? null,
      cell: (row) => sizeBar(row.container.container_size, most) },
    size("Decoded", "decoded_bytes"),
  ];
  const table = new VirtualTable(columns, rows, {
    label: "Containers",
    search: (row) => `${row.container.name}\n${row.container.format}`,
    choose: (row) => { location.hash = String(row.index + 1); },
    marked: (row) => isFaulty(row.container),
    totals: columns.map((column) => column.total),
  });
  table.scroller.classList.add("tall");
  return tableWithTools(table, [
    choiceOf(table, "verdict", (row) => verdictText(row.container)),
    choiceOf(table, "format", (row) => row.container.format || ""),
  ]);
}

function overviewSections() {
  const all = DATA.containers;
  const faulty = all.filter(isFaulty).length;
  const bad = card(grouped(faulty), "faulty");
  if (faulty) bad.classList.add("fault");
  const cards = element("div", { className: "cards" },
    card(grouped(all.length), "containers"), bad,
    card(humanSize(sumOf(all, "container_size")), "stored"),
    card(humanSize(sumOf(all, "decoded_bytes")), "decoded"),
    card(grouped(sumOf(all, "entry_count")), "entries"));
  const contents = allContents(all);
  return [cards, panel("Containers", ...overviewTable(overviewRows()),
    ...(contents ? [element("p", { className: "quiet" }, `All together: ${contents}.`)] : []))];
}

/** Links from a container to the overview, and to the containers before and after it. */
function navigation(index) {
  const rows = overviewRows();
  const at = rows.findIndex((row) => row.index === index);
  const to = (row, words) => row && element("a", { href: `#${row.index + 1}` },
    `${words}: ${shortened(row.container.name, 40)}`);
  return element("nav", { "aria-label": "Containers" },
    element("a", { href: "#" }, `All ${grouped(rows.length)} containers`),
    ...[to(rows[at - 1], "Previous"), to(rows[at + 1], "Next")].filter(Boolean));
}
