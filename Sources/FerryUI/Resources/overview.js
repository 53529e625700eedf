// Overview: who is in step, what waits and why, and changes over time.

import { chip, empty, h, said, section, table, title } from "/elements.js";
import { plot } from "/plot.js";
import { ask } from "/requests.js";
import { count, device, list, meet, number, rowLink, time } from "/words.js";

export const question = (route, signal) => ask("overview", {}, signal);

function facts(answer) {
  const { container, device: own } = answer.status;
  const sealed = container.sealed ? `sealed, ${count(container.members ?? 1, "member")}` : "open";
  const entries = [
    ["This device", own.name], ["Container", container.name], ["Place", container.path], ["Kind", sealed],
  ];
  return h("dl", { class: "facts" }, entries.map(([name, words]) => h("div", {}, h("dt", {}, name), h("dd", {}, words))));
}

function devices(answer) {
  const others = answer.devices.filter((one) => !one.isThisDevice);
  if (!others.length) return empty("No other device has joined yet.", "Let one in with `ferry invite`, or `ferry join` on that device.");
  const heads = [
    { title: "Device", isHead: true }, { title: "State" }, { title: "Wrote last" }, { title: "Still to come here", isNumber: true },
    { title: "Not read there yet", isNumber: true },
  ];
  const rows = others.map((one) => [
    device(one.name), chip(one.state || one.activity, one.tone), time(one.lastSeenMilliseconds, "never"),
    one.behind ? number(one.behind) : "–", one.unacknowledged ? number(one.unacknowledged) : "–",
  ]);
  return table("Other devices", heads, rows, { class: "stacked" });
}

const verbs = { insert: "added", update: "changed", delete: "deleted" };

const UNREAD = "The log is in the container, which cannot be read now.";

function latest(changes, problem) {
  if (problem) return empty(UNREAD);
  if (!changes.length) return empty("No changes are in the container yet.");
  return h("ol", { class: "feed" }, changes.map((one, index) => h("li", {},
    device(one.device), " ", verbs[one.operation], " ", rowLink(one, `latest-${index}`),
    one.operation === "update" && one.columns.length ? h("span", { class: "quiet" }, ` (${list(one.columns)})`) : null,
    h("span", { class: "when" }, time(one.timeMilliseconds)))));
}

function tables(answer) {
  const { tables, leftOut } = answer.status;
  const rows = tables.map((one) => [
    one.isHere ? h("a", { href: `#/rows/${encodeURIComponent(one.name)}`, id: `table-${one.name}` }, one.name)
      : [one.name, " ", chip("on other devices only")],
    one.identity, number(one.objects),
  ]);
  return [
    rows.length ? table("Tables that travel", [
      { title: "Table", isHead: true }, { title: "Rows are told apart by" }, { title: "Rows", isNumber: true },
    ], rows) : empty("No table travels."),
    leftOut.length ? h("details", { id: "left-out" }, h("summary", {}, `${count(leftOut.length, "table")} ${leftOut.length === 1 ? "stays" : "stay"} on this device`),
      h("ul", {}, leftOut.map((one) => h("li", {}, h("b", {}, one.name), " ", one.reason)))) : null,
    answer.status.policies.length ? h("details", { id: "policies" }, h("summary", {}, `${count(answer.status.policies.length, "policy", "policies")} of merging`),
      h("ul", {}, answer.status.policies.map((one) => h("li", {}, h("code", {}, one.target), " ", one.policy)))) : null,
  ];
}

export function view(answer) {
  meet(answer.devices.map((one) => one.name));
  const [first, ...others] = answer.sentences;
  // The first sentence says whether all is well; what follows explains it.
  const [, headline, rest] = /^(.*?[.!?])(?:\s+(.*))?$/s.exec(first?.text ?? "") ?? [null, first?.text ?? "Overview", null];
  return [
    h("div", { class: `hero ${first?.tone ?? ""}` }, title(said(headline)), rest ? h("p", { class: "lead" }, said(rest)) : null,
      others.length ? h("ul", { class: "sentences" }, others.map((one) => h("li", { class: one.tone }, said(one.text)))) : null, facts(answer)),
    section("devices", "Devices", devices(answer),
      answer.reachable ? null : h("p", { class: "quiet" }, "The container cannot be read now. This is what was known at the last sync.")),
    section("activity", "Changes over time",
      answer.activity ? plot(answer.activity) : empty(answer.activityProblem ? UNREAD : "There are no changes to draw yet.")),
    section("latest", "Newest changes", latest(answer.latest, answer.activityProblem)),
    section("tables", "Tables", tables(answer)),
  ];
}
