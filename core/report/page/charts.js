// SPDX-License-Identifier: Apache-2.0
//
// Charts. Bars are elements of the page; Chart.js draws histograms and lines on
// a canvas, where texts cannot become markup.
"use strict";

/** A colour of report.css, which depends on whether the page is dark. */
function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const ACCENT = themed("--accent");
const COLOURS = [ACCENT, "#d1782a", "#3f9b6d", "#c95b50", "#8d73c4", "#a08362", "#c765a3",
  "#7b8796"];

Chart.defaults.animation = false;
Chart.defaults.color = themed("--quiet");
Chart.defaults.borderColor = themed("--line");
Chart.defaults.font.family = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif";
Chart.defaults.font.size = 11;
Chart.defaults.maintainAspectRatio = false;

/** Fills `box` with a chart. `height` in pixels; if it is missing, the box has a height already. */
function chartIn(box, config, height) {
  const canvas = element("canvas", { role: "img", "aria-label": config.label });
  if (height) box.style.height = `${height}px`;
  box.className = "chart";
  box.append(canvas);
  // Waits a frame, because an element has no size before it is in the page.
  requestAnimationFrame(() => new Chart(canvas, config));
  return box;
}

/** Named numbers as bars. `rows` are [name, number, ...]. Shortens names of over 120 letters. */
function bars(title, rows, text, detail) {
  const most = Math.max(1, ...rows.map((row) => row[1]));
  const list = element("div", { className: "bars", role: "list", "aria-label": title });
  for (const row of rows) {
    const bar = element("div", { className: "bar" });
    bar.style.width = `${(row[1] / most) * 100}%`;
    list.append(element("div", { className: "barred", role: "listitem", title: detail(row) },
      element("span", { className: "name", title: visible(row[0]) },
        shortened(row[0] || "(no name)", 120, HEAD)),
      element("span", { className: "track" }, bar),
      element("span", { className: "number" }, text(row))));
  }
  return element("div", {}, element("h3", {}, title), list);
}

/** Returns n such that there is room for every n-th label of an axis. */
function labelStep(width, labels) {
  const longest = Math.max(...labels.map((label) => label.length));
  return Math.max(1, Math.ceil((labels.length * (7 * longest + 12)) / Math.max(1, width - 60)));
}

function sizeBars(title, rows, detail) {
  return bars(title, rows, (row) => humanSize(row[1]), detail);
}

/** Returns the texts of the first numbers of all bins, and a function that returns the text of a
 * bin's range. Whole numbers have all digits. */
function binTexts(row) {
  const bins = row.bins || [];
  const step = (row.high - row.low) / Math.max(1, bins.length);
  if (!isWhole(row.dtype) || row.norms || !bins.length) {
    const edge = (i) => shortNumber(row.low + i * step);
    return [bins.map((_, i) => edge(i)), (i) => `${edge(i)} to ${edge(i + 1)}`];
  }
  const [least, most] = (row.exact || [row.min, row.max]).map(BigInt);
  const width = BigInt(Math.round(step));
  const first = (i) => least + BigInt(i) * width;
  const range = (low, high) => (low === high ? grouped(low)
    : `${grouped(low)} to ${grouped(high)}`);
  const last = (i) => (i + 1 === bins.length ? most : first(i + 1) - 1n);
  return [bins.map((_, i) => grouped(first(i))), (i) => range(first(i), last(i))];
}

function histogramConfig(row, one = "element", many = "elements") {
  const bins = row.bins || [];
  const [labels, range] = binTexts(row);
  return {
    label: "Histogram",
    type: "bar",
    data: { labels, datasets: [{ data: bins, backgroundColor: ACCENT, barPercentage: 1,
      categoryPercentage: 0.95 }] },
    options: {
      plugins: {
        legend: { display: false },
        tooltip: { callbacks: {
          title: (items) => range(items[0].dataIndex),
          label: (item) => counted(item.raw, one, many),
        } },
      },
      scales: {
        x: { grid: { display: false }, ticks: { autoSkip: false, maxRotation: 0,
          callback(_, i) { return i % labelStep(this.chart.width, labels) ? null : labels[i]; } } },
        y: { beginAtZero: true, ticks: { maxTicksLimit: 5, precision: 0 } },
      },
    },
  };
}

/** Returns a function that shows the histogram of an array in `panel`. */
function histogramPanel(panel) {
  let chart = null;
  return (row) => {
    if (chart) chart.destroy();
    chart = null;
    const title = element("h3", { className: "name" }, visible(row.name));
    if (row.error !== undefined) {
      panel.replaceChildren(title, element("p", { className: "error" }, visible(row.error)));
      return;
    }
    const part = row.read < row.elements
      ? `a sample of ${grouped(row.read)} of ${grouped(row.elements)} elements`
      : counted(row.elements, "element", "elements");
    const canvas = element("canvas", { role: "img", "aria-label": "Histogram" });
    const box = element("div", { className: "chart" }, canvas);
    box.style.height = "220px";
    panel.replaceChildren(element("br"), title, element("p", { className: "quiet" },
      `${row.dtype} ${shapeText(row.shape)}, ${part}`), box);
    requestAnimationFrame(() => {
      if (canvas.isConnected) chart = new Chart(canvas, histogramConfig(row));
    });
  };
}

/** Whether a lane is drawn over seconds, not over steps (LanePlot). */
function isTimed(lane) {
  return lane.end !== undefined;
}

/** The plot of a lane of an episode over time, or if it has no times, over its steps (LanePlot). */
function lanePlot(lane) {
  const title = element("h3", { className: "name" }, visible(lane.name));
  if (lane.error !== undefined) {
    return element("div", {}, title, element("p", { className: "error" }, visible(lane.error)));
  }
  const timed = isTimed(lane);
  const places = line => line.x || lane.x;
  const config = {
    label: timed ? "Values over seconds" : "Values over steps",
    type: "line",
    data: {
      datasets: lane.lines.map((line, i) => ({
        label: String(i),
        data: line.y.map((y, at) => ({ x: places(line) ? places(line)[at] : at, y })),
        borderColor: COLOURS[i % COLOURS.length],
        backgroundColor: COLOURS[i % COLOURS.length],
        borderWidth: 1.3,
        pointRadius: line.y.length > 60 ? 0 : 1.5,
      })),
    },
    options: {
      parsing: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: { legend: { display: lane.lines.length > 1, labels: { boxWidth: 10 } } },
      scales: {
        x: {
          type: "linear",
          max: timed ? undefined : lane.steps - 1,
          title: { display: true, text: timed ? "seconds" : "steps" },
          ticks: timed ? { maxTicksLimit: 7 } : { maxTicksLimit: 7, precision: 0 },
        },
        y: { ticks: { maxTicksLimit: 5 } },
      },
    },
  };
  const channels = lane.shape.length === 2 ? lane.shape[1] : 1;
  const more = channels > lane.lines.length ? `, ${lane.lines.length} of ${channels} channels` : "";
  return element("div", {}, title, element("p", { className: "quiet" },
    `${lane.dtype} ${shapeText(lane.shape)}${more}`), chartIn(element("div", {}), config));
}
