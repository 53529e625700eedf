// Rows: tables page by page, and a search.

import { empty, h, table, title } from "/elements.js";
import { ask } from "/requests.js";
import { count, number, rowPlace, valueView } from "/words.js";

export async function question(route, signal) {
  const tables = await ask("tables", {}, signal);
  const here = tables.value.tables.filter((one) => one.isHere);
  const name = route.parts[0] ?? here[0]?.name;
  if (!name) return { text: tables.text, value: { tables: here, page: null } };
  const page = await ask("rows", { table: name, after: route.query.get("after"), search: route.query.get("search") }, signal);
  return { text: tables.text + page.text, value: { tables: here, page: page.value } };
}

function place(name, search, after = null) {
  const query = new URLSearchParams();
  if (search) query.set("search", search);
  if (after) query.set("after", after);
  return `#/rows/${encodeURIComponent(name)}${query.size ? `?${query}` : ""}`;
}

function searchForm(page, route) {
  const search = route.query.get("search") ?? "";
  const input = h("input", { type: "search", id: "search", name: "search", maxlength: "500", autocomplete: "off", spellcheck: "false",
    placeholder: `Text in any column of ${page.table}`, "aria-label": `Search ${page.table}` });
  input.value = search;
  return h("form", { class: "search", role: "search", onsubmit: (event) => {
    event.preventDefault();
    location.hash = place(page.table, input.value.trim());
  } }, input, h("button", { type: "submit", id: "search-go" }, "Search"),
  search ? h("a", { class: "button", id: "search-end", href: place(page.table, "") }, "Show all") : null);
}

function rows(page) {
  const isKey = new Set(page.keyColumns);
  const heads = page.columns.map((name) => ({ title: name, isHead: name === page.keyColumns[0] }));
  const cells = page.rows.map((row, index) => row.values.map((value, place) => {
    const shown = valueView(value, { isShort: true });
    return isKey.has(page.columns[place]) ? h("a", { href: rowPlace(page.table, row.keyWords), id: `open-${index}-${place}` }, shown) : shown;
  }));
  return table(`Rows of ${page.table}`, heads, cells, { class: "data" });
}

function pages(page, route) {
  const search = route.query.get("search") ?? "";
  const isFirst = !route.query.get("after");
  const looked = search ? `${count(page.rows.length, "row")} found among ${number(page.searched)}.` : `${count(page.rows.length, "row")} on this page.`;
  return h("nav", { class: "pages", "aria-label": "Pages" },
    isFirst ? null : h("a", { class: "button", id: "first", href: place(page.table, search) }, "First page"),
    page.next ? h("a", { class: "button", id: "next", href: place(page.table, search, page.next) }, search ? "Search on" : "Next page") : null,
    h("span", { class: "quiet" }, looked, page.furtherColumns ? ` ${count(page.furtherColumns, "more column")}: open a row to see all.` : ""));
}

export function view(answer, route) {
  const { tables, page } = answer;
  if (!page) return [title("Rows"), empty("No table of this database travels.", "`ferry status` says why each one stays.")];
  const search = route.query.get("search");
  return [
    title(page.table),
    h("nav", { class: "tabs scroll", "aria-label": "Tables" }, tables.map((one) =>
      h("a", { href: place(one.name, ""), id: `tab-${one.name}`, "aria-current": one.name === page.table && "true" }, one.name, " ",
        h("span", { class: "quiet" }, number(one.objects))))),
    searchForm(page, route),
    page.rows.length ? rows(page)
      : empty(search ? `No row with “${search}” among the ${number(page.searched)} that were looked at.` : `${page.table} has no rows${route.query.get("after") ? " on this page" : ""}.`),
    pages(page, route),
  ];
}
