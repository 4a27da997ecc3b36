// SPDX-License-Identifier: Apache-2.0
//
// Collections of vectors: their norms, duplicates and a projection (VectorSummary).
"use strict";

function pointsConfig(points) {
  const axis = { grid: { color: themed("--line") }, ticks: { maxTicksLimit: 6 } };
  return {
    label: "Projection",
    type: "scatter",
    data: { datasets: [{ data: points.map(([x, y]) => ({ x, y })), pointRadius: 1.5,
      borderWidth: 0, backgroundColor: `${ACCENT}cc` }] },
    options: {
      normalized: true,
      events: [],
      plugins: { legend: { display: false } },
      scales: { x: axis, y: { ...axis } },
    },
  };
}

function projectionOf(collection) {
  const title = element("h3", {}, "projection");
  if (collection.points === undefined) {
    return element("div", {}, title,
      element("p", { className: "quiet" }, "There are not enough different vectors for one."));
  }
  const percent = (part) => `${shortNumber(part * 100)} %`;
  const [first, second] = collection.explained;
  const some = collection.projected < collection.elements
    ? `${grouped(collection.projected)} of ` : "";
  return element("div", {}, title, element("p", { className: "quiet" },
    `${some}${counted(collection.elements, "vector", "vectors")} along the two directions in ` +
    `which they differ most: ${percent(first)} and ${percent(second)} of the variance`),
  chartIn(element("div", {}), pointsConfig(collection.points), 320));
}

function duplicatesText(collection) {
  const { repeated, repeats } = collection;
  if (repeated === 0) return "none";
  const named = repeats.map(([first, more]) =>
    `${grouped(first)} (${counted(more, "time", "times")} more)`);
  return `${counted(repeated, "vector repeats", "vectors repeat")} an earlier one: ` +
    named.join(", ");
}

function collectionOf(collection) {
  const title = element("h3", { className: "name" }, visible(collection.name));
  if (collection.error !== undefined) {
    return element("div", {}, title,
      element("p", { className: "error" }, visible(collection.error)));
  }
  const read = collection.read < collection.elements
    ? [["read", `${grouped(collection.read)} of ${grouped(collection.elements)}`]] : [];
  const facts = [["vectors", `${collection.dtype} ${shapeText(collection.shape)}`], ...read,
    ["norm", collection.bins ? `${shortNumber(collection.min)} to ` +
      `${shortNumber(collection.max)}, mean ${shortNumber(collection.mean)}` : "none"],
    ["zero vectors", grouped(collection.zeros)],
    ["exact duplicates", duplicatesText(collection)]];
  if (collection.infinite) facts.push(["with NaN or infinity", grouped(collection.infinite)]);
  const bins = { ...collection, norms: true };
  const norms = element("div", {}, element("h3", {}, "norms"), ...(collection.bins
    ? [chartIn(element("div", {}), histogramConfig(bins, "vector", "vectors"), 320)] : []));
  return element("div", {}, title, factList(facts),
    element("div", { className: "columns" }, norms, projectionOf(collection)));
}
