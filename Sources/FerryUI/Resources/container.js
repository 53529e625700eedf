// Container: files and sizes by device, what compaction would do, and whether the database is sound.

import { chip, empty, h, said, section, table, title } from "/elements.js";
import { share } from "/plot.js";
import { ask } from "/requests.js";
import { bytes, count, device, meet, number } from "/words.js";

export const question = (route, signal) => ask("container", {}, signal);

const kinds = { segment: "Log", snapshot: "Snapshots", value: "Large values", pack: "Contents", head: "Heads", member: "Membership" };

function files(answer) {
  const { devices } = answer.files;
  meet(devices.map((one) => one.name));
  const used = Object.keys(kinds).filter((kind) => devices.some((one) => one.kinds[kind]));
  const heads = [{ title: "Device", isHead: true }, ...used.map((kind) => ({ title: kinds[kind], isNumber: true })), { title: "In all", isNumber: true }];
  const cell = (one) => one ? [bytes(one.bytes), h("span", { class: "quiet under" }, count(one.files, "file"))] : "–";
  const rows = devices.map((one) => [device(one.name), ...used.map((kind) => cell(one.kinds[kind])), cell(one)]);
  return [
    share(devices.map((one) => ({ name: one.name, size: one.bytes })), bytes),
    table("Files by device", heads, rows, { class: "stacked" }),
  ];
}

function compaction(answer) {
  if (!answer.compaction) return h("p", { class: "quiet" }, said(answer.compactionProblem));
  return h("ul", { class: "sentences" }, answer.compactionSentences.map((text) => h("li", {}, text)),
    answer.compaction.skipped.map((text) => h("li", { class: "wait" }, text)));
}

function verification() {
  const result = h("div", { role: "status", id: "verified" });
  async function look(event) {
    const button = event.target;
    button.disabled = true;
    result.replaceChildren(h("p", { class: "quiet" }, "Looking at every page of the file…"));
    try {
      const { value } = await ask("verify");
      result.replaceChildren(h("p", {}, chip(value.isSound ? "sound" : "look", value.isSound ? "good" : "bad"), " ", said(value.sentence)),
        value.advice.length ? h("ul", {}, value.advice.map((text) => h("li", {}, text))) : "");
    } catch (error) {
      result.replaceChildren(h("p", {}, said(error.message)));
    }
    button.disabled = false;
  }
  return [
    h("p", { class: "lead" }, said("Asks SQLite whether the file is sound and every foreign key leads somewhere. `ferry verify --deep` computes every row anew.")),
    h("p", { class: "buttons" }, h("button", { type: "button", id: "verify", onclick: look }, "Look now")), result,
  ];
}

export function view(answer) {
  const { files: listed } = answer;
  return [
    title(listed ? `${bytes(listed.bytes)} in ${count(listed.files, "file")}` : "Container"),
    h("p", { class: "lead" }, answer.name, h("span", { class: "quiet" }, ` in ${answer.path}`)),
    section("files", "Files by device", listed ? files(answer) : empty(answer.filesProblem)),
    section("compaction", "What compaction would do now", compaction(answer)),
    section("soundness", "Is the database sound?", verification()),
  ];
}
