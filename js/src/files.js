// Rules between files: ids that are missing or unknown, fields that differ.

import { checkFile, contractIds, contractOf } from "./check.js";
import { compare } from "./rules.js";

const get = (value, name) => value?.[name] ?? null;
const fieldsOf = (rule) => [...(rule.with_fields ?? (rule.with_field ? [rule.with_field] : [])), rule.field];
const keyOf = (value, fields, rule = {}) =>
  JSON.stringify(fields.map((name) => get(value, name) ?? (name === rule.field ? (rule.default ?? null) : null)));

/** Check files of known contracts, each {name, contract, container, bytes}: each alone, then with the others. */
export function checkFiles(files) {
  const checked = files.map((file) => {
    const records = [];
    const parsed = { ...file, records, header: null };
    parsed.report = checkFile(file.bytes, file.contract, file.container, {
      record: (value, index, locate) => records.push({ value, index, locate }),
      header: (value, locate) => Object.assign(parsed, { header: value, locate }),
    });
    return parsed;
  });
  const groups = new Map();
  for (const file of checked) groups.set(file.contract, [...(groups.get(file.contract) ?? []), file]);
  for (const [id, mine] of groups)
    for (const rule of contractOf(id).rules.filter(({ scope }) => scope === "files")) {
      const other = otherOf(rule, groups);
      if (other) OF_FILES[rule.kind](rule, mine, other);
    }
  return checked.map(({ name, report, found = [] }) => {
    const problems = [...report.problems, ...found];
    const errors = problems.filter(({ severity }) => severity === "error").length;
    return { name, ...report, ok: errors === 0, errors, warnings: problems.length - errors, problems };
  });
}

/** The records and headers of the other contract, or of one that stands in for it and has what the rule needs. */
function otherOf(rule, groups) {
  const given = groups.get(rule.other);
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

const requires = (id, field) => (contractOf(id).record_schema?.required ?? []).includes(field);

function recordsOf({ contract, records, header }) {
  const list = contractOf(contract).reference_list;
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
  const { path = [], record = null, line = null, field = null } = place;
  const pointer = path.map((token) => `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  file.found = [...(file.found ?? []), { code, severity, message, hint, pointer, record, line, column: null, field }];
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
    for (const key of new Set(other.records.map((value) => keyOf(value, fields)))) if (!there.has(key)) add(rule, mine[0], {});
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
