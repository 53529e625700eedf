// Not shown as written: hidden and joined rows, with the reason and what would show them.

import { chip, empty, h, said, section, title } from "/elements.js";
import { ask } from "/requests.js";
import { count, number, rowLink, valueView } from "/words.js";

export const question = (route, signal) => ask("hidden", {}, signal);

function values(row) {
  const entries = Object.entries(row.values);
  if (!entries.length) return h("p", { class: "quiet" }, "Its values are not known here.");
  return h("dl", { class: "written" }, entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, valueView(value)))));
}

/** The reason as a sentence; the name of a column stays as it is. */
function sentence(one) {
  const isName = (one.columns ?? []).some((name) => one.reason.startsWith(name));
  const text = isName ? one.reason : one.reason.slice(0, 1).toUpperCase() + one.reason.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function group(one, rows, index) {
  const id = `group-${index}`;
  return h("article", { class: "card", "aria-labelledby": id },
    h("header", {}, h("h2", { id }, `${count(one.count, "row")} of ${one.table} `, chip(one.word, one.isHidden ? "wait" : ""))),
    h("dl", { class: "reason" },
      h("div", {}, h("dt", {}, "Why"), h("dd", {}, sentence(one))),
      h("div", {}, h("dt", {}, "What would change that"), h("dd", {}, one.advice))),
    rows.length ? h("details", { id: `${id}-rows`, open: rows.length <= 3 }, h("summary", {}, `${rows.length === one.count ? "The rows" : `${number(rows.length)} of the rows`}`),
      h("ul", { class: "hidden-rows" }, rows.map((row, place) => h("li", {}, rowLink(row, `${id}-${place}`), values(row))))) : null);
}

function notes(answer) {
  const all = [...answer.tablesApart, ...answer.waitingTables, ...answer.leftOutTriggers];
  if (!all.length) return null;
  return section("tables-that-wait", "Tables and triggers that wait", all.map((one) =>
    h("article", { class: "card" }, h("p", {}, one.problem), h("p", { class: "quiet" }, one.advice))));
}

export function view(answer) {
  // A row that went with its table is nowhere here, and no row that could be shown.
  const total = answer.groups.filter((one) => one.kind !== "left").reduce((sum, one) => sum + one.count, 0);
  const taken = new Set();
  const groups = answer.groups.map((one, index) => {
    const rows = answer.hidden.filter((row) => !taken.has(row) && row.table === one.table && row.kind === one.kind
      && (one.kind === "joined" || row.reason === one.reason));
    rows.forEach((row) => taken.add(row));
    return group(one, rows, index);
  });
  return [
    title(total ? `${count(total, "row")} not shown as written` : "All rows are shown as written"),
    h("p", { class: "lead" }, "Nothing is lost here. A row that this database cannot hold for now is kept beside it, with all its values."),
    groups.length ? groups : empty("Every row that any device wrote is in its table, with the values that were written."),
    answer.hidden.length < answer.hiddenTotal ? h("p", { class: "quiet" }, said(`${number(answer.hiddenTotal)} rows are hidden or joined in all. \`ferry conflicts list --hidden --all\` lists them.`)) : null,
    notes(answer),
    answer.plainReferences.length ? section("plain", "References that need not lead anywhere", h("ul", {}, answer.plainReferences.map((one) =>
      h("li", {}, h("b", {}, `${one.table}.${one.columns.join(", ")}`), ` to ${one.parent}: ${one.reason}`)))) : null,
  ];
}
