// Rules between files: ids that are missing or unknown, fields that differ; and the checklist before a submission.

import { Answers, answersChecks, pairOf } from "./answers.js";
import { contractIds, contractOf, validate } from "./check.js";
import { tracks } from "./contracts.js";
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
 * `submission`: contracts of which there must be a file. `listing`: {sizes, isWhole}, the sizes of
 * all files by name, in which files that a document names are looked for; `isWhole` if there can be no others beside them.
 */
export async function preflight(files, { cases = [], only = null, submission = [], listing = null, progress = null } = {}) {
  const checked = [];
  for (const { name, source, contract = null, container = containerByName(name) } of files) {
    const parsed = { name, records: [], header: null, found: [], broken: false, answers: null };
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
      parsed.answers?.see(value, true);
    };
    const seen = {
      record,
      invalid: (value) => parsed.answers?.see(value, false),
      broken: () => (parsed.broken = true),
      header: (header, locate) => Object.assign(parsed, { header, locate }),
      contract(known) {
        const pair = pairOf(known.id);
        Object.assign(parsed, { contract: known, answers: pair ? new Answers(pair, known) : null });
      },
    };
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
  const given = (pair) => answersOf(pair, groups);
  for (const [id, mine] of own) {
    for (const rule of contractOf(id).rules.filter(({ scope }) => scope === "files")) {
      const other = otherOf(rule, groups);
      if (other) OF_FILES[rule.kind](rule, mine, other, given);
    }
  }
  const answered = answersChecks(own.map(([id]) => id), given);
  if (answered.some(({ blocked }) => blocked)) for (const file of checked) file.found = file.found.filter(({ kind }) => kind !== "covers");
  const reports = checked.map(({ name, report, found }) => {
    const problems = [...report.problems, ...found.slice(0, MOST_FOUND)];
    const count = (which) => found.filter(({ severity }) => severity === which).length;
    const errors = report.errors + count("error");
    const omitted = report.omitted + Math.max(0, found.length - MOST_FOUND);
    return { path: name, ...report, ok: errors === 0, errors, warnings: report.warnings + count("warning"), omitted, problems };
  });
  const checks = [...checklist(checked, groups, submission), ...answered, ...namedFiles(checked, listing)];
  return { ready: checks.every(({ status }) => status !== "failed"), checks, files: reports, unchecked: uncheckedOf(own.map(([id]) => id)) };
}

const MOST_FOUND = 10_000;
const containerByName = (name) => /\.(json|jsonl|ndjson|csv)(?:\.gz)?$/i.exec(name)?.[1].toLowerCase().replace("ndjson", "jsonl") ?? null;

function checklist(checked, groups, submission) {
  const checks = checked.map(({ name, report: { contract, ok, records } }) => ({
    id: `valid:${name}`,
    title: `${name} is ${ok ? "" : "not "}valid`,
    status: ok ? "passed" : "failed",
    detail: [contract ?? "contract not recognized", records === null ? "" : plural(records, "record")].filter(Boolean).join(", "),
  }));
  for (const id of submission)
    checks.push({ id: `there:${id}`, title: `There is a file of ${id}`, status: groups.has(id) ? "passed" : "failed", detail: "" });
  const known = checked.filter(({ contract }) => contract);
  const rules = known.flatMap(({ contract }) => contract.rules.filter((rule) => rule.scope === "files" && otherOf(rule, groups)));
  if (rules.some((rule) => !isOfCoverage(rule))) {
    const others = checked.flatMap(({ found }) => found).filter((problem) => !isOfCoverage(problem));
    const errors = others.filter(({ severity }) => severity === "error").length;
    checks.push({ id: "between", title: "The files agree with each other", status: errors ? "failed" : "passed", detail: others.length ? plural(others.length, "problem") : "" });
  }
  return checks;
}

const isOfCoverage = ({ code }) => code === "MC302" || code === "MC303";

/** What is known of the answers of one kind: the files, their answers, the expected ids, and the runs that another file lists. */
function answersOf(pair, groups) {
  const files = groups.get(pair.submission) ?? [];
  const answers = new Answers(pair, contractOf(pair.submission));
  for (const file of files) if (!file.broken) answers.absorb(file.answers);
  const other = pair.truth && otherOf({ kind: "covers", other: pair.truth }, groups);
  const expected = other ? new Set(other.records.map((value) => JSON.stringify(pair.key.map((name) => value[name])))) : null;
  const rule = contractOf(pair.submission).rules.find(({ kind, field }) => kind === "reference" && pair.run !== null && field === pair.run);
  const runs = rule && otherOf(rule, groups);
  return { files, answers, expected, known: runs ? new Set(runs.records.map((value) => value[rule.field])) : null };
}

/** Checks of files that a document names. They are skipped where it is not known which files there are. */
function namedFiles(checked, listing) {
  return tracks.flatMap(({ named }) => named).flatMap(({ contract, field, title, size_mb: sizeField, required }) =>
    checked.filter(({ report, header }) => report.contract === contract && header).map(({ name, header }) => {
      const check = { id: `${field}:${name}`, title };
      const file = header[field] ?? null;
      if (file === null) return { ...check, status: required ? "failed" : "skipped", detail: `${name} has no '${field}'${required ? " (MC311)" : ""}` };
      const path = name.slice(0, name.lastIndexOf("/") + 1) + file.replace(/^(\.\/)+/, "");
      const size = listing?.sizes.get(path);
      if (size === undefined) {
        const isKnown = listing?.isWhole && !file.split("/").includes("..");
        return { ...check, status: isKnown ? "failed" : "skipped", detail: isKnown ? `${name} refers to ${file}, which does not exist (MC311)` : file };
      }
      const stated = sizeField ? (header[sizeField] ?? null) : null;
      const isRight = stated === null || Math.abs(size / 1e6 - stated) <= stated / 100;
      return { ...check, status: isRight ? "passed" : "failed", detail: isRight ? file : `the size of ${file} is ${Number((size / 1e6).toPrecision(4))} MB, not ${stated} MB (MC312)` };
    }),
  );
}

/** What is not checked of these contracts here, but by `medcontract preflight`. */
const uncheckedOf = (ids) => [...new Set(tracks.filter((track) => ids.some((id) => id.startsWith(`${track.id}/`))).flatMap(({ unchecked }) => unchecked))];

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
  covers(rule, mine, other, given) {
    const pair = pairOf(mine[0].contract.id);
    const fields = fieldsOf(rule);
    const isPaired = pair?.truth === rule.other && `${pair.key}` === `${fields}`;
    const expected = new Set(other.records.map((value) => keyOf(value, fields)));
    let missing;
    if (isPaired) {
      const { answers, known } = given(pair);
      missing = answers.missing(expected, known);
    } else {
      const there = new Set(mine.flatMap(recordsOf).map((value) => keyOf(value, fields)));
      missing = [...expected].filter((key) => !there.has(key));
    }
    for (const key of missing) add(rule, mine[0], { value: JSON.parse(key).join(", ") });
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
