// SPDX-License-Identifier: Apache-2.0
//
// The page: shows an overview, one container, or a comparison, from its data
// (docs/views.md, section 10).
"use strict";

function panel(title, ...children) {
  return element("section", {}, element("h2", {}, title), ...children);
}

function titleOf(container) {
  return container.name === "" ? "Overview" : visible(container.name);
}

function card(value, what) {
  return element("div", { className: "card" }, element("b", {}, value),
    element("span", { className: "quiet" }, what));
}

function cardsOf(container) {
  const cards = [];
  if (container.faults) {
    const { count } = container.faults;
    const fault = card(grouped(count), count === 1 ? "fault" : "faults");
    fault.classList.add("fault");
    cards.push(fault);
  }
  cards.push(card(humanSize(container.container_size), "container"),
    card(humanSize(container.decoded_bytes), "decoded"));
  const { contents } = container;
  if (contents && contents[1] !== "parameters") {
    cards.push(card(humanCount(contents[0]), unitOf(contents)));
  }
  cards.push(
    card(grouped(container.entry_count), container.entry_count === 1 ? "entry" : "entries"));
  if (container.array_count) {
    cards.push(card(grouped(container.array_count),
      container.array_count === 1 ? "array" : "arrays"));
    cards.push(card(humanCount(container.elements),
      container.all_tensors ? "parameters" : "elements"));
  }
  if (container.warnings && container.warnings.length) {
    cards.push(card(grouped(container.warnings.length),
      container.warnings.length === 1 ? "warning" : "warnings"));
  }
  return element("div", { className: "cards" }, ...cards);
}

function notes(title, texts) {
  if (!texts || texts.length === 0) return null;
  const items = (some) => element("ul", {},
    ...some.map((text) => element("li", {}, visible(text))));
  const MOST = 5;
  const section = panel(title, items(texts.slice(0, MOST)));
  if (texts.length > MOST) {
    section.append(element("details", {},
      element("summary", {}, `${grouped(texts.length - MOST)} more`), items(texts.slice(MOST))));
  }
  section.classList.add("notes");
  return section;
}

/** The faults, in red: each entry that has a fault, with the reason. */
function faultsOf(container) {
  if (!container.faults) return null;
  const list = element("ul", {});
  for (const [name, text] of container.faults.listed) {
    list.append(element("li", {}, ...(name === null ? [] : [
      element("span", { className: "name" }, visible(name)), ": "]), visible(text)));
  }
  const section = panel("Faults", list);
  section.classList.add("notes", "fault");
  return section;
}

/** A note on the file of all arrays or rows, if views/ omits it because it would be incomplete. */
function incompleteOf(container) {
  return container.incomplete ? notes("Incomplete", [container.incomplete]) : null;
}

/** The first rows of a container's table; null if it has no table. */
function rowsOf({ table }) {
  return table ? panel("First rows", element("p", { className: "quiet" },
    counted(table.rows, "row", "rows")), previewTable(table)) : null;
}

/** Names and counts in a line: "crc32c (20), none (4)". */
function countsText(counts) {
  return counts.map(([name, count]) => `${visible(name)} (${grouped(count)})`).join(", ");
}

/** Keys and texts in columns. Line breaks of texts are kept. */
function factList(facts) {
  return element("dl", {}, ...facts.map(([key, text]) => element("div", { className: "fact" },
    element("dt", {}, visible(key)),
    element("dd", { className: "lines" }, visibleLines(text)))));
}

function folded(title, open, ...children) {
  return element("details", { open }, element("summary", {}, title), ...children);
}

/** The identity that the container states. Facts that are JSON are among the details instead. */
function identityOf(container) {
  const facts = [];
  const metadata = [];
  for (const [key, text] of container.identity || []) {
    const kind = kindOfText(text);
    if (kind === "json") continue;
    const shown = kind === "list" ? JSON.parse(text).join(", ") : factText(text);
    if (key.startsWith("metadata.")) metadata.push([key.slice("metadata.".length), shown]);
    else facts.push([keyText(key), shown]);
  }
  if (facts.length + metadata.length === 0) return null;
  const FEW = 8;
  return panel("Identity", factList(facts), ...(metadata.length ? [
    folded(`Metadata (${metadata.length})`, metadata.length <= FEW || facts.length === 0,
      factList(metadata))] : []));
}

/** The facts of info.json, and those facts of the identity that are JSON. */
function detailsOf(container) {
  const shown = ([key, text]) => [keyText(key),
    /^\d{4,15}$/.test(text) ? grouped(Number(text)) : text];
  const facts = (container.facts || []).map(shown);
  if (container.codecs.length) facts.push(["codecs", countsText(container.codecs)]);
  if (container.checksums.length) facts.push(["checksums", countsText(container.checksums)]);
  facts.push(...(container.identity || []).filter(([, text]) => kindOfText(text) === "json")
    .map(([key, text]) => [keyText(key), text]));
  if (facts.length === 0) return null;
  return element("section", {}, folded(element("h2", {}, "Format details"), false,
    factList(facts)));
}

/** Layers sorted by name, with numbers in names compared as numbers. "(other)" stays last. */
function inOrder(layers) {
  const rest = layers.filter((row) => row[0] === "(other)");
  const named = layers.filter((row) => row[0] !== "(other)");
  const keys = new Map(named.map((row) => [row, nameKey(row[0])]));
  named.sort((a, b) => (keys.get(a) < keys.get(b) ? -1 : Number(keys.get(a) > keys.get(b))));
  return [...named, ...rest];
}

function sizesOf(container) {
  const charts = [];
  if (container.dtypes.length) {
    charts.push(sizeBars("by dtype", container.dtypes,
      (row) => `${counted(row[2], "array", "arrays")}, ${counted(row[3], "element", "elements")}`));
  }
  // For samples there is no such chart, because each sample would be a group.
  const samples = container.contents && container.contents[1] === "samples";
  if (container.layers.length && !samples) {
    charts.push(sizeBars(container.all_tensors && container.array_count ? "by layer" : "by group",
      inOrder(container.layers), (row) => counted(row[2], "entry", "entries")));
  }
  if (charts.length === 0) return null;
  return panel("Decoded sizes", element("div", { className: "columns" }, ...charts));
}

function sheetOf(sheet) {
  const title = element("h3", { className: "name" }, visible(sheet.name));
  if (sheet.error !== undefined) {
    return element("div", {}, title, element("p", { className: "error" }, visible(sheet.error)));
  }
  const pictures = element("div", { className: "sheet" });
  for (const one of sheet.pictures) {
    if (one.error !== undefined) {
      pictures.append(element("figure", { className: "error", title: visible(one.error) },
        `${one.number}: unreadable`));
      continue;
    }
    pictures.append(element("figure", {}, element("img", {
      src: `data:image/png;base64,${one.png}`, alt: `picture ${one.number}` }),
    grouped(one.number)));
  }
  return element("div", {}, title, element("p", { className: "quiet" },
    `${counted(sheet.count, "picture", "pictures")} of ` +
    `${sheet.width} \u00d7 ${sheet.height} pixels`), pictures);
}

/** A sample with its caption beside its picture (SampleSheet). */
function sampleOf(sample) {
  const picture = sample.picture === undefined
    ? element("p", { className: "quiet" }, visible(sample.note || "no picture"))
    : element("img", { src: `data:${sample.type};base64,${sample.picture}`,
      alt: visible(`picture of ${sample.key}`) });
  return element("figure", { className: "sample" }, picture,
    element("figcaption", {}, element("span", { className: "name" }, visible(sample.key)),
      element("p", { className: "lines" }, visibleLines(sample.caption))));
}

function tokensOf(title, tokens) {
  if (tokens.length === 0) return [];
  const list = element("div", { className: "tokens name" });
  for (const token of tokens) list.append(element("span", {}, visible(token)));
  return [element("h3", {}, title), list];
}

function tokenizerOf(tokenizer) {
  const text = `${visible(tokenizer.type) || "unknown type"}, ` +
    `${counted(tokenizer.tokens, "token", "tokens")}, ` +
    `${counted(tokenizer.merges, "merge", "merges")}, ${grouped(tokenizer.added)} added`;
  return panel("Tokenizer", element("p", {}, text),
    ...tokensOf("added tokens", tokenizer.added_tokens),
    ...tokensOf("first tokens", tokenizer.first_tokens));
}

function documentOf(one) {
  const about = one.error === undefined ? humanSize(one.size) : "unreadable";
  const head = element("summary", {}, element("span", { className: "name" }, visible(one.name)),
    element("span", { className: "quiet" }, ` ${about}${one.cut ? ", the beginning" : ""}`));
  if (one.error !== undefined) {
    return element("details", {}, head, element("p", { className: "error" }, visible(one.error)));
  }
  if (one.text === undefined) return element("p", {}, ...head.childNodes);
  return element("details", { open: one.name === "config.json" }, head,
    element("pre", {}, visibleLines(one.text)));
}

/** The sections of a container that was opened, except those without content. */
function sectionsOf(container) {
  const rows = rowsOf(container);
  const values = container.arrays && panel("Values of arrays", ...arraysTable(container));
  const identity = identityOf(container);
  // A container with a table shows the rows first, unless it has lanes.
  const table = rows !== null && !container.lanes;
  return [
    table ? null : identity,
    cardsOf(container),
    faultsOf(container),
    incompleteOf(container),
    notes("Warnings", container.warnings),
    notes("Left out of this page", container.left_out),
    ...(table ? [rows, values, identity] : []),
    sizesOf(container),
    container.lanes && panel(
      container.lanes.some(isTimed) ? "Signals over time" : "Signals over steps",
      element("div", { className: "plots" }, ...container.lanes.map(lanePlot))),
    container.sheets && panel("Pictures", ...container.sheets.map(sheetOf)),
    container.samples && panel("First samples", element("div", { className: "samples" },
      ...container.samples.map(sampleOf))),
    container.vectors && panel("Vectors", ...container.vectors.map(collectionOf)),
    container.entries.rows.length
      ? panel("Entries", ...entriesTable(container)) : null,
    ...(table ? [] : [values, rows]),
    container.tokenizer && tokenizerOf(container.tokenizer),
    container.documents && panel("Documents", ...container.documents.map(documentOf)),
    detailsOf(container),
  ].filter(Boolean);
}

function sectionsToShow(container) {
  if (container.error !== undefined) {
    return [panel("It cannot be opened",
      element("p", { className: "error" }, visible(container.error)))];
  }
  if (!container.brief) return sectionsOf(container);
  const left = "everything else about this container, because there are many; " +
    "make a page of it alone";
  return [cardsOf(container), faultsOf(container), incompleteOf(container),
    notes("Left out of this page", [left])].filter(Boolean);
}

/** Replaces the title and the sections that are shown. */
function show(title, top, sections) {
  const main = document.getElementById("main");
  for (const canvas of main.querySelectorAll("canvas")) {
    const chart = Chart.getChart(canvas);
    if (chart) chart.destroy();
  }
  document.title = title;
  document.getElementById("top").replaceChildren(element("h1", {}, title), ...top);
  main.replaceChildren(...sections, footer());
}

function footer() {
  const depths = {
    index: "Made by ctxfs from the index alone; 'ctxfs report' shows values, too.",
    sampled: "Made by ctxfs report. Statistics of large arrays are those of a sample; " +
      "--exact reads all elements.",
    comparison: "Made by ctxfs report --diff.",
    exact: "Made by ctxfs report --exact: statistics are those of all elements.",
  };
  return element("footer", {}, depths[DATA.depth]);
}

function formatText(container) {
  if (container.error !== undefined) return "";
  const version = container.version === undefined ? "" : ` version ${container.version}`;
  return visible(`${container.format}${version}`);
}

const DATA = JSON.parse(document.getElementById("data").textContent);

function showContainer(index) {
  const container = DATA.containers[index];
  const top = [element("p", { className: "quiet" }, badgeOf(container),
    container.incomplete && isFaulty(container)
      ? element("span", { className: "badge unverified" }, "incomplete") : "",
    formatText(container))];
  if (DATA.containers.length > 1) top.unshift(navigation(index));
  show(titleOf(container), top, sectionsToShow(container));
}

function showOverview() {
  const left = DATA.left_out ? [element("p", { className: "error" },
    `${counted(DATA.left_out, "further container is", "further containers are")} left out.`)] : [];
  show(visible(DATA.title), left, overviewSections());
}

/** Shows the container whose number follows "#" in the address, or else the overview. */
function route() {
  if (DATA.comparison) return showComparison();
  const number = Number(location.hash.slice(1));
  const one = Number.isInteger(number) && number >= 1 && number <= DATA.containers.length;
  window.scrollTo(0, 0);
  if (one) return showContainer(number - 1);
  return DATA.containers.length === 1 ? showContainer(0) : showOverview();
}

window.addEventListener("hashchange", route);
route();
