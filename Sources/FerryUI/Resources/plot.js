// Draws changes over time: a bar for each span of time, a color for each device. A table says the same in numbers.

import { h, s, table } from "/elements.js";
import { count, dateTime, device, number, swatch } from "/words.js";

const HEIGHT = 150, BASE = 122, TOP = 8;
// The letters are as large as the page's on a narrow window too.
const isNarrow = matchMedia("(max-width: 46rem)");

function spanWords(milliseconds) {
  const minutes = milliseconds / 60000;
  if (minutes < 60) return count(minutes, "minute");
  if (minutes < 1440) return count(minutes / 60, "hour");
  if (minutes < 10080) return count(minutes / 1440, "day");
  return count(Math.round(minutes / 10080), "week");
}

function label(milliseconds, bucket) {
  const words = dateTime(milliseconds);
  return bucket < 86400000 ? words.slice(11, 16) : words.slice(5, 10);
}

/** A round number that is not less. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 4, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

function ticks(places) {
  const wanted = Math.min(isNarrow.matches ? 4 : 6, places);
  return Array.from({ length: wanted }, (_, index) => Math.floor(index * places / wanted));
}

export function plot(activity) {
  const WIDTH = isNarrow.matches ? 290 : 720;
  const places = activity.devices[0]?.counts.length ?? 0;
  const totals = Array.from({ length: places }, (_, place) => activity.devices.reduce((sum, one) => sum + one.counts[place], 0));
  const most = ceiling(Math.max(...totals, 1));
  const step = WIDTH / Math.max(places, 1);
  const gap = Math.min(3, step * 0.25);
  const start = (place) => activity.startMilliseconds + place * activity.bucketMilliseconds;
  const bars = totals.map((total, place) => {
    if (!total) return null;
    let y = BASE;
    const parts = activity.devices.map((one) => {
      const height = one.counts[place] / most * (BASE - TOP);
      if (!height) return null;
      y -= height;
      return s("rect", { x: (place * step + gap / 2).toFixed(2), y: y.toFixed(2), width: (step - gap).toFixed(2),
        height: Math.max(height, 0.75).toFixed(2), class: `bar ${swatch(one.name)}` });
    });
    return s("g", {}, s("title", {}, `${dateTime(start(place)).slice(0, 16)}: ${count(total, "change")}`), parts);
  });
  const lines = [0.5, 1].map((part) => {
    const y = BASE - part * (BASE - TOP);
    return s("g", { class: "grid" }, s("line", { x1: 0, x2: WIDTH, y1: y, y2: y }),
      Number.isInteger(most * part) && s("text", { x: WIDTH + 6, y: y + 4 }, number(most * part)));
  });
  const days = ticks(places).map((place) =>
    s("text", { x: (place * step + gap / 2).toFixed(1), y: HEIGHT - 8, class: "tick" }, label(start(place), activity.bucketMilliseconds)));
  const summary = `${count(activity.changes, "change")} since ${dateTime(activity.startMilliseconds).slice(0, 16)}, by ${count(activity.devices.length, "device")}.`;
  const drawing = s("svg", { viewBox: `0 0 ${WIDTH + (isNarrow.matches ? 28 : 40)} ${HEIGHT}`, role: "img", "aria-label": `Changes over time. ${summary}`, class: "plot" },
    lines, s("line", { x1: 0, x2: WIDTH, y1: BASE, y2: BASE, class: "axis" }), bars, days);
  const rows = totals.map((total, place) => total && [dateTime(start(place)).slice(0, 16), ...activity.devices.map((one) => number(one.counts[place]))])
    .filter(Boolean);
  const heads = [{ title: "From", isHead: true }, ...activity.devices.map((one) => ({ title: one.name, isNumber: true }))];
  return h("figure", { class: "figure" }, drawing,
    h("figcaption", {},
      h("span", { class: "legend" }, activity.devices.map((one) => device(one.name))),
      h("span", { class: "quiet" }, `A bar is ${spanWords(activity.bucketMilliseconds)}. `,
        activity.isWhole ? "" : `The newest ${number(activity.changes)} changes are counted.`)),
    h("details", { id: "plot-numbers" }, h("summary", {}, "The same in numbers"), table("Changes over time", heads, rows)));
}

/** A bar of parts that add up, such as the sizes of devices' files. */
export function share(parts, words) {
  const whole = parts.reduce((sum, one) => sum + one.size, 0) || 1;
  let x = 0;
  const pieces = parts.map((one) => {
    const width = one.size / whole * 1000;
    const piece = s("rect", { x: x.toFixed(1), y: 0, width: Math.max(width - 2, 0.5).toFixed(1), height: 14, class: `bar ${swatch(one.name)}` },
      s("title", {}, `${one.name}: ${words(one.size)}`));
    x += width;
    return piece;
  });
  return s("svg", { viewBox: "0 0 1000 14", preserveAspectRatio: "none", class: "share", role: "img",
    "aria-label": parts.map((one) => `${one.name}: ${words(one.size)}`).join("; ") }, pieces);
}
