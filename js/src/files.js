// Rules between files: ids that are missing or unknown, fields that differ; and the checklist before a submission.

import { contractIds, contractOf, validate } from "./check.js";
import { plural } from "./messages.js";
import { compare, get } from "./rules.js";

const fieldsOf = (rule) => [...(rule.with_fields ?? (rule.with_field ? [rule.with_field] : [])), rule.field];
const keyOf = (value, fields, rule = {}) =>
  JSON.stringify(fields.map((name) => get(value, name) ?? (name === rule.field ? (rule.default ?? null) : null)));

/** The fields of the records of a contract that rules between files need: all else is dropped. */
function keptFields(contract) {
  const fields = new Set();
  for (const id of contractIds())
    for (const rule of contractOf(id).rules.filter(({ scope }) => scope === "files"))
      for (const name of [...fieldsOf(rule), rule.key, rule.group, ...(rule.by ?? [])]) if (name) fields.add(name);
  for (const { where } of contract.stands_in_for ?? []) for (const name of Object.keys(where ?? {})) fields.add(name);
  return [...fields];
}

/**
 * Check the files of a submission, each alone and then together. A file is {name, source} with an optional `contract` and
 * `container`. `cases`: the ids that are expected, a list of {contract, records}. `only`: the contracts of the challenge;
 * `submission`: those of which there must be a file.
 */
export async function preflight(files, { cases = [], only = null, submission = [], progress = null } = {}) {
  const checked = [];
  for (const { name, source, contract = null, container = containerByName(name) } of files) {
    const parsed = { name, records: [], header: null, found: [] };
    let mine = null;
    const record = (value, index, locate) => {
      mine ??= { fields: keptFields(parsed.contract), rules: parsed.contract.rules.filter(({ scope, within }) => scope === "files" && !within) };
      const places = new Map(mine.rules.flatMap(({ kind, field, key }) => {
        const at = kind === "same-order" ? key : field;
        return ["equal", "covers"].includes(kind) ? [] : [[at, locate([at])]];
      }));
      const kept = {};
      for (const field of mine.fields) if (Object.hasOwn(value, field)) kept[field] = value[field];
      parsed.records.push({ value: kept, locate: ([field]) => places.get(field) });
    };
    const seen = { record, header: (header, locate) => Object.assign(parsed, { header, locate }), contract: (known) => (parsed.contract = known) };
    parsed.report = await validate(source, { contract, container, only, seen, progress: progress && ((read) => progress(name, read)) });
    checked.push(parsed);
  }
  const groups = new Map();
  for (const file of checked) {
    const { contract: id } = file.report;
    if (id) groups.set(id, [...(groups.get(id) ?? []), file]);
  }
  const own = [...groups];
  for (const { contract, records } of cases)
    if (!groups.has(contract)) groups.set(contract, [{ contract: {}, records: records.map((value) => ({ value })), header: null, onlyIds: true }]);
  for (const [id, mine] of own) {
    for (const rule of contractOf(id).rules.filter(({ scope }) => scope === "files")) {
      const other = otherOf(rule, groups);
      if (other) OF_FILES[rule.kind](rule, mine, other);
    }
  }
  const reports = checked.map(({ name, report, found }) => {
    const problems = [...report.problems, ...found.slice(0, MOST_FOUND)];
    const count = (which) => found.filter(({ severity }) => severity === which).length;
    const errors = report.errors + count("error");
    const omitted = report.omitted + Math.max(0, found.length - MOST_FOUND);
    return { path: name, ...report, ok: errors === 0, errors, warnings: report.warnings + count("warning"), omitted, problems };
  });
  const checks = checklist(checked, groups, submission);
  return { ready: checks.every(({ status }) => status !== "failed"), checks, files: reports };
}

const MOST_FOUND = 10_000;
const containerByName = (name) => /\.(json|jsonl|ndjson|csv)(?:\.gz)?$/i.exec(name)?.[1].toLowerCase().replace("ndjson", "jsonl") ?? null;

function checklist(checked, groups, submission) {
  const number = (count) => count.toLocaleString("en");
  const checks = checked.map(({ name, report: { contract, ok, records } }) => ({
    id: `valid:${name}`,
    title: `${name} is valid`,
    status: ok ? "passed" : "failed",
    detail: [contract ?? "contract not recognized", records === null ? "" : `${number(records)} records`].filter(Boolean).join(", "),
  }));
  for (const id of submission)
    checks.push({ id: `there:${id}`, title: `There is a file of ${id}`, status: groups.has(id) ? "passed" : "failed", detail: "" });
  const known = checked.filter(({ contract }) => contract);
  const rules = known.flatMap(({ contract }) => contract.rules.filter((rule) => rule.scope === "files" && otherOf(rule, groups)));
  const found = checked.flatMap((file) => file.found);
  const covers = rules.filter(({ kind }) => kind === "covers");
  if (covers.length) {
    const total = [...new Set(covers.map(({ other, ...rule }) => otherOf({ other, ...rule }, groups)))].reduce((sum, { records }) => sum + records.length, 0);
    const answered = Math.max(0, total - found.filter(({ kind }) => kind === "covers").length);
    checks.push({ id: "coverage", title: "All expected cases have a record", status: answered === total ? "passed" : "failed", detail: `${number(answered)} of ${number(total)}` });
  } else if (known.some(({ contract }) => contract.rules.some(({ kind }) => kind === "covers")))
    checks.push({ id: "coverage", title: "All expected cases have a record", status: "skipped", detail: "add the file of cases" });
  if (rules.some(({ kind }) => kind !== "covers")) {
    const others = found.filter(({ kind }) => kind !== "covers");
    const errors = others.filter(({ severity }) => severity === "error").length;
    checks.push({ id: "between", title: "The files agree with each other", status: errors ? "failed" : "passed", detail: others.length ? plural(others.length, "problem") : "" });
  }
  return checks;
}

/** The records and headers of the other contract, or of one that stands in for it and has what the rule needs. */
function otherOf(rule, groups) {
  const given = groups.get(rule.other);
  if (given?.[0].onlyIds && !OF_IDS.has(rule.kind)) return null;
  if (given) return { headers: given.map(({ header }) => header).filter(Boolean), records: given.flatMap(recordsOf) };
  for (const id of contractIds()) {
    const entry = contractOf(id).stands_in_for?.find(({ contract }) => contract === rule.other);
    const files = entry && groups.get(id);
    if (!files || !(["reference", "covers"].includes(rule.kind) || (rule.kind === "same-value" && requires(id, rule.field)))) continue;
    const isListed = (value) => Object.entries(entry.where ?? {}).every(([name, values]) => [].concat(values).includes(value[name]));
    return { headers: [], records: files.flatMap(recordsOf).filter(isListed) };
  }
  return null;
}

/** Rules that need nothing but ids of the other file. */
const OF_IDS = new Set(["reference", "covers", "excludes"]);
const requires = (id, field) => (contractOf(id).record_schema?.required ?? []).includes(field);

function recordsOf({ contract, records, header }) {
  const list = contract.reference_list;
  return list ? (header?.[list] ?? []) : records.map(({ value }) => value);
}

/** The objects of a file that a rule applies to, and a function that returns the place of a path in each. */
function objectsOf(rule, file) {
  if (!rule.within) return file.records;
  const items = file.header?.[rule.within] ?? [];
  return items.map((value, index) => ({ value, locate: (path) => file.locate([rule.within, index, ...path]) }));
}

function add(rule, file, place) {
  const { code, severity, message, hint = null } = rule;
  const { path = [], record = null, line = null, column = null, field = null, value } = place;
  const pointer = path.map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  const problem = { code, severity, message, hint, pointer, record, line, column, field };
  Object.defineProperties(problem, { kind: { value: rule.kind }, value: { value } }); // the value is not for logs
  file.found.push(problem);
}

const OF_FILES = {
  equal(rule, mine, other) {
    for (const file of mine) {
      const value = get(file.header, rule.field);
      const theirs = other.headers.map((header) => get(header, rule.field)).find((each) => each !== null) ?? null;
      if (value !== null && theirs !== null && value !== theirs) add(rule, file, file.locate([rule.field]));
    }
  },
  reference(rule, mine, other) {
    const fields = fieldsOf(rule);
    const known = new Set(other.records.map((value) => keyOf(value, fields)));
    for (const file of mine)
      for (const { value, locate } of objectsOf(rule, file)) if (!known.has(keyOf(value, fields, rule))) add(rule, file, locate([rule.field]));
  },
  excludes(rule, mine, other) {
    const known = new Set(other.records.map((value) => keyOf(value, [rule.field])));
    for (const file of mine)
      for (const { value, locate } of file.records) if (known.has(keyOf(value, [rule.field]))) add(rule, file, locate([rule.field]));
  },
  covers(rule, mine, other) {
    const fields = fieldsOf(rule);
    const there = new Set(mine.flatMap(recordsOf).map((value) => keyOf(value, fields)));
    for (const key of new Set(other.records.map((value) => keyOf(value, fields)))) if (!there.has(key)) add(rule, mine[0], { value: JSON.parse(key).join(", ") });
  },
  "same-value"(rule, mine, other) {
    const theirs = new Map(other.records.map((value) => [get(value, rule.key), value]));
    for (const file of mine)
      for (const { value, locate } of file.records) {
        const found = theirs.get(get(value, rule.key));
        if (found && get(found, rule.field) !== get(value, rule.field)) add(rule, file, locate([rule.field]));
      }
  },
  "same-order"(rule, mine, other) {
    const theirs = new Map(other.records.map((value) => [get(value, rule.key), value]));
    const latest = new Map();
    const reported = new Set();
    for (const file of mine)
      for (const { value, locate } of file.records) {
        const found = theirs.get(get(value, rule.key));
        if (!found) continue;
        const group = get(found, rule.group);
        const place = rule.by.map((name) => get(found, name));
        const before = latest.get(group) ?? place;
        if (compare(place, before) >= 0) latest.set(group, place);
        else if (!reported.has(group)) {
          reported.add(group);
          add(rule, file, locate([rule.key]));
        }
      }
  },
};
