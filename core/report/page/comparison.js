// SPDX-License-Identifier: Apache-2.0
//
// The page of ctxfs report --diff: the differences between two containers.
"use strict";

const DIFFERENCE_KINDS = ["failed", "changed", "renamed", "removed", "added", "same"];

/** The facts of both sides, except JSON, side by side. Facts that differ come first. */
function sidesOf({ first, second }) {
  const facts = new Map();
  const add = (side, index) => {
    for (const [key, text] of [["format", side.format || "none"], ...side.facts]) {
      if (kindOfText(text) === "json") continue;
      if (!facts.has(key)) facts.set(key, [null, null]);
      facts.get(key)[index] = factText(text);
    }
  };
  add(first, 0);
  add(second, 1);
  const rows = [...facts];
  const differs = ([, [a, b]]) => a !== b;
  const body = element("tbody", {});
  for (const row of [...rows.filter(differs), ...rows.filter((one) => !differs(one))]) {
    const line = element("tr", { className: differs(row) ? "differs" : "" },
      element("th", { scope: "row" }, visible(keyText(row[0]))));
    for (const text of row[1]) {
      line.append(text === null ? element("td", { className: "quiet" }, "\u2013")
        : element("td", { className: "lines" }, visibleLines(text)));
    }
    body.append(line);
  }
  const head = element("tr", {}, element("th", {}, ""),
    ...[first, second].map((side) => element("th", { scope: "col", title: visible(side.name) },
      shortened(side.name, 60))));
  const count = rows.filter(differs).length;
  return panel("Side by side", element("p", { className: "quiet" },
    count ? `${counted(count, "fact differs", "facts differ")}.` : "No fact differs."),
  element("div", { className: "preview sides" },
    element("table", {}, element("thead", {}, head), body)));
}

function typeOf(side) {
  return side && side.dtype ? `${side.dtype} ${shapeText(side.shape)}` : "";
}

function nameOfDifference(row) {
  const name = (row.first || row.second).path || "(the file)";
  return row.kind === "renamed" ? `${name} \u2192 ${row.second.path}` : name;
}

/** Like nameOfDifference, but at most `most` letters, not counting an arrow. */
function shortDifference(row, most) {
  if (row.kind !== "renamed") return shortened(nameOfDifference(row), most, HEAD);
  const half = Math.max(4, (most - 3) >> 1);
  return [row.first, row.second].map(({ path }) => shortened(path, half, HEAD)).join(" \u2192 ");
}

/** The formats of both sides: "gguf" if they are equal, else "gguf \u2192 safetensors". */
function formatsText({ first, second }) {
  const [one, other] = [first, second].map((side) => visible(side.format || "no container"));
  return one === other ? one : `${one} \u2192 ${other}`;
}

/** Why an entry has changed or could not be compared, in a few words; empty for other kinds. */
function whyDifferent(row) {
  if (row.error !== undefined) return row.error;
  if (row.kind !== "changed") return "";
  if (typeOf(row.first) !== typeOf(row.second)) {
    return `${typeOf(row.first) || "file"} \u2192 ${typeOf(row.second) || "file"}`;
  }
  if (row.keys) return row.keys.join("; ");
  return row.offset === undefined ? "checksum" : `from byte ${grouped(row.offset)}`;
}

/** Counts of differences by their size, as bars. Omits empty bins. */
function differenceBars(title, histogram) {
  const bins = histogram.map((bin, i) => {
    const words = bin.below === null ? `${histogram[i - 1].below.toExponential()} or more`
      : `below ${bin.below.toExponential()}`;
    return [words, bin.count];
  }).filter(([, count]) => count > 0);
  return bars(title, bins, (row) => humanCount(row[1]), () => "");
}

function sumOfHistograms(rows) {
  const [first, ...others] = rows.map((row) => row.values.histogram);
  return first.map((bin, i) => ({ below: bin.below,
    count: others.reduce((sum, one) => sum + one[i].count, bin.count) }));
}

/** All details of the difference of an entry. */
function differenceDetails(row) {
  const facts = [["kind", row.kind]];
  for (const [side, words] of [[row.first, "first"], [row.second, "second"]]) {
    if (side) facts.push([words, `${side.path} ${typeOf(side)} ${humanSize(side.size)}`]);
  }
  const why = whyDifferent(row);
  if (why && !row.keys) facts.push(["difference", why]);
  for (const key of row.keys || []) facts.push(["value", key]);
  if (row.no_values) facts.push(["values", `not compared: ${row.no_values}`]);
  const shown = [element("h3", { className: "name" }, visible(nameOfDifference(row)))];
  if (row.values) {
    const { values } = row;
    facts.push(["values that differ",
      `${grouped(values.different)} of ${grouped(values.elements)}`],
    ["greatest difference", shortNumber(values.max_absolute)],
    ["greatest relative difference", shortNumber(values.max_relative)],
    ["mean difference", shortNumber(values.mean_absolute)],
    ["cosine", shortNumber(values.cosine)]);
    if (values.unlike) facts.push(["NaN or infinity in one", grouped(values.unlike)]);
  }
  shown.push(factList(facts));
  if (row.values && row.values.histogram.some((bin) => bin.count)) {
    shown.push(element("br"), differenceBars("differences by size", row.values.histogram));
  }
  return shown;
}

function differencesTable(rows, values) {
  const text = (title, textOf, least, greatest) => ({ title, text: textOf, value: textOf,
    width: fitting(rows.map(textOf), least, greatest) });
  const size = (title, key) => {
    const textOf = (row) => (row[key] ? humanSize(row[key].size) : "");
    return { title, number: true, value: (row) => (row[key] ? row[key].size : null), text: textOf,
      width: fitting(rows.map(textOf), 24 + 9 * title.length) };
  };
  const statistic = (title, key) => {
    const textOf = (row) => (row.values ? shortNumber(row.values[key]) : "");
    return { title, number: true, text: textOf, value: (row) => (row.values || {})[key] ?? null,
      width: fitting(rows.map(textOf), 24 + 9 * title.length) };
  };
  const columns = [
    { title: "Name", className: "name", width: rows.map(nameOfDifference),
      value: nameOfDifference, text: nameOfDifference, short: shortDifference },
    text("Kind", (row) => row.kind, 84),
    text("Difference", whyDifferent, 110, 170),
    size("First", "first"), size("Second", "second"),
    ...(values ? [statistic("Differ", "different"), statistic("Greatest", "max_absolute"),
      statistic("Relative", "max_relative"), statistic("Mean", "mean_absolute"),
      statistic("Cosine", "cosine")] : []),
  ];
  const below = element("div", { className: "below" });
  const table = new VirtualTable(columns, rows, { label: "Differences",
    search: nameOfDifference, marked: (row) => row.kind === "failed",
    choose: (row) => below.replaceChildren(...differenceDetails(row)) });
  const parts = tableWithTools(table, [choiceOf(table, "kind", (row) => row.kind)]);
  table.choose(rows[0]);
  return [...parts, below];
}

function comparisonVerdict(totals) {
  if (totals.failed.entries) return ["damaged", "not all could be compared"];
  const all = DIFFERENCE_KINDS.reduce((sum, kind) => sum + totals[kind].entries, 0);
  return totals.same.entries === all ? ["verified", "the same"] : ["unverified", "different"];
}

function showComparison() {
  const { comparison } = DATA;
  const { totals } = comparison;
  const cards = DIFFERENCE_KINDS.filter((kind) => totals[kind].entries).map((kind) => {
    const made = card(grouped(totals[kind].entries), `${kind}, ${humanSize(totals[kind].size)}`);
    if (kind === "failed") made.classList.add("fault");
    return made;
  });
  const order = new Map(DIFFERENCE_KINDS.map((kind, i) => [kind, i]));
  const keyed = comparison.entries.map((row) => [row, nameKey(nameOfDifference(row))]);
  keyed.sort(([a, one], [b, other]) => order.get(a.kind) - order.get(b.kind) ||
    (one < other ? -1 : Number(one > other)));
  const rows = keyed.map(([row]) => row);
  const measured = rows.filter((row) => row.values && row.values.different);
  const [kind, words] = comparisonVerdict(totals);
  const names = [comparison.first.name, comparison.second.name];
  show(names.map((name) => shortened(name, 60)).join(" \u2192 "),
    [element("p", { className: "quiet" },
      element("span", { className: `badge ${kind}` }, words), formatsText(comparison))],
    [element("div", { className: "cards" }, ...cards),
      notes("Left out of this page", comparison.left_out), sidesOf(comparison),
      measured.length ? panel("Differences of values", differenceBars(
        `of ${counted(measured.length, "array", "arrays")}`, sumOfHistograms(measured))) : null,
      rows.length ? panel("Entries that differ", ...differencesTable(rows, comparison.values))
        : null].filter(Boolean));
}
