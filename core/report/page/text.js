// SPDX-License-Identifier: Apache-2.0
//
// Text and elements. No text of a container ever becomes markup: every text is
// put into the page as a text node or as the property of an element.
"use strict";

/** An element with properties and children; a child may be a string. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "role" || key.startsWith("aria-")) made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

const INVISIBLE = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c" +
  "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff";
const INVISIBLE_IN_LINES = new RegExp(`[${INVISIBLE}]`, "g");
const INVISIBLE_IN_A_LINE = new RegExp(`[${INVISIBLE}\\t\\n]`, "g");

function escaped(character) {
  return "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0");
}

/** A text as one line. Shows invisible letters, and those that change the order, as \uXXXX. */
function visible(text) {
  return String(text).replace(INVISIBLE_IN_A_LINE, escaped);
}

/** Like visible, but keeps tabs and line feeds. */
function visibleLines(text) {
  return String(text).replace(INVISIBLE_IN_LINES, escaped);
}

/** Shortens a text to at most `most` characters. `head` is the fraction of them before the gap.
 * No number is cut in two: the end of "layers.10" is not "0". */
function shortened(text, most, head = 0.5) {
  const shown = visible(text);
  if (shown.length <= most) return shown;
  const letters = [...shown];
  if (letters.length <= most) return shown;
  const isDigit = (letter) => letter >= "0" && letter <= "9";
  let end = Math.max(1, Math.floor((most - 1) * head));
  let start = letters.length - Math.max(1, most - 1 - end);
  while (end > 1 && isDigit(letters[end - 1]) && isDigit(letters[end])) --end;
  const last = letters.length - 1;
  while (start < last && isDigit(letters[start - 1]) && isDigit(letters[start])) ++start;
  return letters.slice(0, end).join("") + "\u2026" + letters.slice(start).join("");
}

function grouped(number) {
  return number.toLocaleString("en-US");
}

/** The key of a fact in words. The part after its first point is a name, and stays unchanged. */
function keyText(key) {
  const [label, ...name] = key.split(".");
  return [label.replaceAll("_", " "), ...name].join(".");
}

/** "1,234 entries", "1 entry". */
function counted(number, one, many) {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

function humanSize(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  for (; bytes >= 1023.5 && unit < units.length - 1; ++unit) bytes /= 1024;
  return `${unit === 0 ? bytes : bytes.toFixed(bytes < 999.95 ? 1 : 0)} ${units[unit]}`;
}

/** "1.2 billion". */
function humanCount(number) {
  if (number >= 1e15) return number.toExponential(3);
  for (const [size, name] of [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]]) {
    if (number >= size) return `${(number / size).toFixed(1)} ${name}`;
  }
  return grouped(number);
}

/** A statistic with at most 4 digits; a small whole number with all digits; a dash for null. */
function shortNumber(number) {
  if (number === null || number === undefined) return "\u2013";
  const size = Math.abs(number);
  if (Number.isInteger(number) && size < 1e9) return grouped(number);
  if (size < 1e-3 || size >= 1e9) return number.toExponential(3);
  const short = Number(number.toPrecision(4));
  return size >= 1000 ? grouped(short) : String(short);
}

/** Whether the elements of a dtype are whole numbers. */
function isWhole(dtype) {
  return /^(bool|[iu]\d+)$/.test(dtype);
}

/** The text of a fact on the page. In the range of a signal, floats have at most 4 digits, and
 * whole numbers have all digits. */
function factText(text) {
  const whole = isWhole(text.split(" ", 1)[0]);
  const shown = (digits) => (whole && /^-?\d+$/.test(digits) ? grouped(BigInt(digits))
    : shortNumber(Number(digits)));
  return text.replace(/, (-?[\d.]+(?:e[-+]?\d+)?) to (-?[\d.]+(?:e[-+]?\d+)?)$/,
    (_, low, high) => `, ${shown(low)} to ${shown(high)}`);
}

/** The kind of a text: "list" for a JSON array of scalars, "json" for other JSON, even if it is
 * cut, and "text" for all else. */
function kindOfText(text) {
  if (!/^\s*[[{]/.test(text)) return "text";
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) && value.every((one) => typeof one !== "object") ? "list" : "json";
  } catch {
    return /^\s*(\{\s*"|\[\s*[[{"\d-])/.test(text) ? "json" : "text";
  }
}

function shapeText(shape) {
  return `[${shape.join(", ")}]`;
}
