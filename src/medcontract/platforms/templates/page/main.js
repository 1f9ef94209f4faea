"use strict";

const $ = (id) => document.getElementById(id);
const source = new Blob([$("worker").textContent], { type: "text/javascript" });
const ICONS = { passed: "✓", failed: "✗", skipped: "–" };
const IN_WORDS = { passed: "passed", failed: "failed", skipped: "not checked" };
const MOST_NAMES = 20;
let worker = null;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function start(files) {
  if (!files.length) return;
  worker?.terminate();
  worker = new Worker(URL.createObjectURL(source));
  $("result").replaceChildren();
  $("working").hidden = false;
  $("bar").removeAttribute("value");
  $("doing").textContent = "Checking…";
  worker.onmessage = ({ data }) => {
    if (data.progress !== undefined) {
      $("bar").value = data.progress;
      $("doing").textContent = `Checking ${data.name}: ${Math.round(data.progress * 100)} %`;
      return;
    }
    $("working").hidden = true;
    if (data.failed) verdict("failed", "The check failed", data.failed);
    else show(data.result);
  };
  worker.onerror = () => {
    $("working").hidden = true;
    verdict("failed", "The check failed", "the browser stopped it: it may not have enough memory");
  };
  worker.postMessage({ files, contract: $("contract").value });
}

function verdict(status, title, ...texts) {
  const box = element("div", "", { class: `verdict ${status}` });
  box.append(element("h2", title), ...texts.map((text) => element("p", text)));
  $("result").append(box);
}

function show({ ready, checks, files, unchecked, skipped, none }) {
  if (none) {
    verdict("failed", "Nothing to check", "none of these files is a .json, .jsonl or .csv, plain or in a .zip or .gz");
  } else {
    const missing = checks.filter(({ status }) => status === "skipped").length;
    const failed = checks.filter(({ status }) => status === "failed").length;
    const outcome = ready ? `${checks.length - missing} of ${counted(checks.length, "check")} passed` : `${failed} of ${counted(checks.length, "check")} failed`;
    verdict(ready ? "passed" : "failed", ready ? "READY" : "NOT READY", `${outcome}${missing ? `, ${missing} could not be made` : ""}.`, uncheckedText(checks, unchecked, skipped));
    const list = element("ul", "", { class: "checks" });
    for (const { status, title, detail } of checks) {
      const item = element("li", "", { class: status });
      item.append(element("span", ICONS[status], { class: "icon", "aria-hidden": "true" }), element("span", `${IN_WORDS[status]}: `, { class: "hidden" }), element("strong", title));
      if (detail) item.append(element("span", detail, { class: "detail" }));
      list.append(item);
    }
    $("result").append(list);
  }
  for (const file of files) if (file.groups.length) problemsOf(file);
  if (skipped.length) {
    const details = element("details");
    details.append(element("summary", `${skipped.length} file${skipped.length === 1 ? "" : "s"} not checked`));
    const list = element("ul");
    for (const { name, reason } of skipped.slice(0, 100)) list.append(element("li", `${name}: ${reason}`));
    details.append(list);
    $("result").append(details);
  }
}

/** What the verdict is not about. */
function uncheckedText(checks, unchecked, skipped) {
  const left = checks.filter(({ status }) => status === "skipped").map(({ title, detail }) => `“${title}”${detail ? ` (${detail})` : ""}`);
  const others = skipped.length ? [counted(skipped.length, "other file")] : [];
  return `Not checked here: ${[...unchecked, ...others, "what needs the truth", ...left].join(", ")}. The verdict is about the rest.`;
}

function problemsOf({ path, contract, groups, errors, warnings, more }) {
  const section = element("section", "", { "aria-label": path });
  section.append(element("h3", path), element("p", `${contract ?? "contract not recognized"}: ${counted(errors, "error")}, ${counted(warnings, "warning")}`, { class: "detail" }));
  const list = element("ol", "", { class: "problems" });
  for (const { first: problem, ...group } of groups) {
    const item = element("li", "", { class: problem.severity });
    const head = element("p");
    const place = problem.line === null ? "" : problem.column === null ? `line ${problem.line}` : `line ${problem.line}, column ${problem.column}`;
    head.append(element("span", problem.code, { class: "code" }), element("span", problem.severity, { class: "severity" }));
    if (place) head.append(element("span", place, { class: "place" }));
    head.append(element("span", problem.value ? `${problem.message}: ${problem.value}` : problem.message, { class: "message" }));
    item.append(head);
    if (problem.excerpt) {
      const lines = element("pre", problem.excerpt.text, { tabindex: "0", role: "group", "aria-label": "the line in the file" });
      if (problem.excerpt.caret) lines.append(`\n${" ".repeat(problem.excerpt.caret - 1)}^`);
      item.append(lines);
    }
    if (problem.hint) item.append(element("p", `hint: ${problem.hint}`, { class: "hint" }));
    if (group.count > 1) item.append(element("p", othersOf(group), { class: "detail" }));
    list.append(item);
  }
  section.append(list);
  if (more) section.append(element("p", `… and ${more.toLocaleString("en")} more.`));
  $("result").append(section);
}

/** The other problems of a group: in which fields, how many, and where. */
function othersOf({ count, names, lines, values, isMore }) {
  const named = names.slice(0, MOST_NAMES).map((name) => `'${name}'`).join(", ") + (names.length > MOST_NAMES ? ", …" : "");
  const places = [...values, ...(lines.length ? [`line${lines.length === 1 ? "" : "s"} ${lines.join(", ")}`] : [])].join(", ") + (isMore ? ", …" : "");
  const text = named ? `the same for ${named}: ${counted(count, "problem")} in all` : `and ${counted(count - 1, "more problem")} like this`;
  return `… ${text}${places ? ` (${places})` : ""}`;
}

const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** The files that were dropped, also those in folders, each {name, file}. */
async function dropped(items) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.() ?? null);
  const plain = [...items].map((item) => item.getAsFile());
  const found = [];
  const walk = async (entry, prefix) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ name: prefix + file.name, file });
      return;
    }
    const reader = entry.createReader();
    for (let some; (some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length; )
      for (const each of some) await walk(each, `${prefix}${entry.name}/`);
  };
  for (const [index, entry] of entries.entries()) {
    if (entry?.isDirectory) await walk(entry, "");
    else if (plain[index]) found.push({ name: plain[index].name, file: plain[index] });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

for (const id of ["files", "folder"])
  $(id).addEventListener("change", ({ target }) => {
    start([...target.files].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
    target.value = "";
  });
const zone = document.documentElement;
zone.addEventListener("dragover", (event) => {
  event.preventDefault();
  $("drop").classList.add("over");
});
zone.addEventListener("dragleave", () => $("drop").classList.remove("over"));
zone.addEventListener("drop", async (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  try {
    start(await dropped(event.dataTransfer.items));
  } catch (error) {
    verdict("failed", "The check failed", `a file could not be read: ${error.message}`);
  }
});
