// Numbers, times and values as people read them.

import { h } from "/elements.js";

const grouped = new Intl.NumberFormat("en-US");
export const number = (value) => grouped.format(value);

export function count(value, one, many = one + "s") {
  return `${number(value)} ${value === 1 ? one : many}`;
}

export function bytes(value) {
  if (value < 1000) return count(value, "byte");
  const units = ["kB", "MB", "GB", "TB"];
  let amount = value / 1000, unit = 0;
  while (amount >= 999.5 && unit < 3) { amount /= 1000; unit += 1; }
  return `${amount < 9.95 ? Math.round(amount * 10) / 10 : number(Math.round(amount))} ${units[unit]}`;
}

export function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

// The clock of the computer that has the database, which may be another one.
let lead = 0;
export function setClock(milliseconds) { lead = milliseconds - Date.now(); }
export const now = () => Date.now() + lead;

export function ago(milliseconds) {
  const seconds = Math.floor((now() - milliseconds) / 1000);
  if (seconds < -60) return "in the future";
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${seconds} seconds ago`;
  if (seconds < 3600) return `${count(Math.floor(seconds / 60), "minute")} ago`;
  if (seconds < 86400) return `${count(Math.floor(seconds / 3600), "hour")} ago`;
  return `${count(Math.floor(seconds / 86400), "day")} ago`;
}

const pad = (value, width = 2) => String(value).padStart(width, "0");

/** `2026-03-01 14:05:09` by the browser's clock. */
export function dateTime(milliseconds) {
  const date = new Date(milliseconds);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} `
    + `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** A time as its age, which grows by itself; the exact time on asking. */
export function time(milliseconds, none = "before joining") {
  if (milliseconds === null || milliseconds === undefined) return h("span", { class: "quiet" }, none);
  return h("time", {
    datetime: new Date(milliseconds).toISOString(), title: dateTime(milliseconds), "data-ago": milliseconds,
  }, ago(milliseconds));
}

/** A time as date and time. */
export function exactTime(milliseconds, none = "before joining") {
  if (milliseconds === null || milliseconds === undefined) return h("span", { class: "quiet" }, none);
  return h("time", { datetime: new Date(milliseconds).toISOString() }, dateTime(milliseconds));
}

export function growOlder() {
  for (const element of document.querySelectorAll("time[data-ago]")) {
    const words = ago(Number(element.dataset.ago));
    if (element.textContent !== words) element.textContent = words;
  }
}

/** Control characters have a sign in their place, and everything is on one line. */
function oneLine(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "\ufffd");
}

/** A value of a row as text. */
export function valueText(value) {
  if (value === undefined) return "";
  if (value === null) return "NULL";
  if (typeof value !== "object") return String(value);
  if ("integer" in value) return value.integer;
  if ("text" in value) return value.text + "…";
  if ("base64" in value) {
    const known = typeof value.base64 === "string" ? value.base64 : value.base64.text;
    const size = value.length ?? (typeof value.base64 === "string"
      ? Math.floor(known.replace(/=+$/, "").length * 3 / 4) : Math.floor(value.base64.length * 3 / 4));
    return `blob, ${bytes(size)}`;
  }
  return JSON.stringify(value);
}

/** A value of a row. Where it is cut off, its length is told. */
export function valueView(value, { isShort = false } = {}) {
  if (value === undefined) return h("span", { class: "quiet" }, "not known");
  if (value === null) return h("span", { class: "value null" }, "NULL");
  if (value === "") return h("span", { class: "value null" }, "empty text");
  const text = valueText(value);
  const isBlob = typeof value === "object" && "base64" in value;
  const rest = !isShort && typeof value === "object" && "text" in value
    ? h("span", { class: "quiet" }, ` (${count(value.length, "character")} in all)`) : null;
  const kind = isBlob ? "blob" : typeof value === "number" || (typeof value === "object" && "integer" in value) ? "numeric" : "text";
  return h("span", { class: `value ${kind} ${isShort ? "short" : ""}`, dir: "auto" }, isShort ? oneLine(text) : text, rest);
}

/** Where a row is on this page. */
export function rowPlace(table, key, object = null) {
  const parts = key.length ? key.map(encodeURIComponent).map((part) => part || "%00").join("/") : "";
  const suffix = key.length || !object ? "" : `?object=${encodeURIComponent(object)}`;
  return `#/row/${encodeURIComponent(table)}/${parts}${suffix}`;
}

export function rowLink(row, id = null) {
  const name = row.keyWords.length ? row.keyWords.join(", ") : row.object.slice(0, 8);
  return h("a", { href: rowPlace(row.table, row.keyWords, row.object), id }, row.table, " ", h("b", {}, oneLine(name).slice(0, 60)));
}

/** A device's name with its color. */
export function device(name, order) {
  return h("span", { class: "device" }, h("span", { class: `swatch ${swatch(name, order)}`, "aria-hidden": "true" }), name);
}

// Devices have their colors in the order in which the page met them, the same in every view.
const met = [];
export function meet(names) { for (const name of names) if (!met.includes(name)) met.push(name); }
export function swatch(name) {
  if (!met.includes(name)) met.push(name);
  return `c${Math.min(met.indexOf(name), 6)}`;
}
