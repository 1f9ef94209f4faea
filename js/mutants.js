// Changes every rule, keyword and column of the contracts in turn, and lists the changes that no case of the suite notices.
//
//   node mutants.js             prints counts by kind of change, and what was not noticed; exits with 1 if there is any

import { readFileSync } from "node:fs";

import contracts from "./src/contracts.js";
import { preflight, validate } from "./src/index.js";

const SUITE = new URL("../conformance/", import.meta.url);
const cases = (level) => readFileSync(new URL(`${level}.jsonl`, SUITE), "utf8").trimEnd().split("\n").map(JSON.parse);
const bytes = new Map();
const read = (input) => bytes.get(input) ?? bytes.set(input, new Uint8Array(readFileSync(new URL(input, SUITE)))).get(input);

const byContract = new Map(Object.keys(contracts).map((id) => [id, []]));
for (const level of ["syntax", "schema", "rules", "tables"]) for (const each of cases(level)) byContract.get(each.contract)?.push(each);
const sets = cases("files");
const show = (problems) => JSON.stringify(problems.map(({ code, severity, line, column, record, pointer }) => [code, severity, line, column, record, pointer]));

/** Whether a case has another answer than expected. */
async function isNoticed(id, isBetween) {
  if (!isBetween)
    for (const { contract, container, input, expect } of byContract.get(id))
      if (show((await validate(read(input), { contract, container })).problems) !== show(expect.problems)) return true;
  for (const { files, expect } of sets) {
    if (!files.some(({ contract }) => contract === id)) continue;
    const found = await preflight(files.map((file) => ({ ...file, source: read(file.input) })));
    const shown = found.files.flatMap(({ path, problems }) => problems.filter(({ code }) => code.startsWith("MC3")).map((p) => [path, p.code, p.severity, p.record, p.pointer].join(" ")));
    const expected = expect.problems.map((p) => [p.file, p.code, p.severity, p.record, p.pointer].join(" "));
    if (JSON.stringify(shown.sort()) !== JSON.stringify(expected.sort())) return true;
  }
  return false;
}

/** Changes that make no difference, and why: patterns of their descriptions. */
const EQUIVALENT = [
  [/: without type \(schema \)$/, "a file that is not an object is refused before its schema is used [S13]"],
  [/FailedPrediction( .*)?\)$|FailedPrediction\/error\)$|Prediction\/error\|[01]\)$/, "the content of `error` has already chosen the branch [S11]"],
  [/: without not \((record_)?schema \/(timestamp|evaluation_date|started_at)(\|0)?\)$/, "in this language `$` does not match before a line end"],
  [/(without maxLength|maxLength moved) \(record_schema \/run_id/, "the pattern allows one length; the bound is for languages where `$` matches before a line end"],
];
const isEquivalent = (mutant) => EQUIVALENT.some(([pattern]) => pattern.test(mutant));

const near = (number) => [number * (1 - 2 ** -52) || -Number.MIN_VALUE, number * (1 + 2 ** -52) || Number.MIN_VALUE];
const moved = (number) => (Number.isInteger(number) ? [number - 1, number + 1] : near(number));

function* ofRule(rule) {
  yield ["switched off", null];
  yield ["another code", { ...rule, code: "MC299" }];
  yield ["another severity", { ...rule, severity: rule.severity === "error" ? "warning" : "error" }];
  for (const bound of ["minimum", "maximum", "below", "above"])
    if (typeof rule[bound] === "number") for (const value of moved(rule[bound])) yield [`${bound} moved`, { ...rule, [bound]: value }];
  for (const list of ["fields", "texts", "present", "filled", "by", "defaults"])
    for (let at = 0; Array.isArray(rule[list]) && at < rule[list].length; at++)
      if (rule[list].length > 1 || list !== "fields") yield [`${list}: one less`, { ...rule, [list]: rule[list].filter((_, index) => index !== at) }];
  for (const field of ["with_field", "value", "default", "names"]) if (field in rule) yield [`without ${field}`, (({ [field]: _, ...rest }) => rest)(rule)];
  if (rule.at) yield ["at the other end", { ...rule, at: rule.at === "first" ? "last" : "first" }];
}

function* ofSchema(schema, put, path = "") {
  if (typeof schema !== "object" || schema === null) return;
  const without = (key) => put((({ [key]: _, ...rest }) => rest)(schema));
  for (const name of schema.required ?? []) yield ["required: one less", put({ ...schema, required: schema.required.filter((each) => each !== name) }), `${path}/${name}`];
  for (const value of schema.enum ?? []) yield ["enum: one less", put({ ...schema, enum: schema.enum.filter((each) => each !== value) }), `${path}: ${value}`];
  for (const bound of ["minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "minLength", "maxLength"])
    if (bound in schema) {
      yield [`without ${bound}`, without(bound), path];
      const values = /Items|Length/.test(bound) || schema.type === "integer" ? moved(schema[bound]) : near(schema[bound]);
      for (const value of values) yield [`${bound} moved`, put({ ...schema, [bound]: value }), `${path}: ${value}`];
    }
  for (const key of ["pattern", "const", "not", "type"]) if (key in schema) yield [`without ${key}`, without(key), path];
  if (schema.additionalProperties === false) yield ["other keys allowed", without("additionalProperties"), path];
  if (schema.anyOf?.length > 1)
    for (const each of schema.anyOf) if (each.type === "null" || schema.anyOf.length > 2) yield ["anyOf: one less", put({ ...schema, anyOf: schema.anyOf.filter((other) => other !== each) }), `${path}: ${each.type}`];
  for (const key of ["properties", "$defs"])
    for (const [name, each] of Object.entries(schema[key] ?? {})) yield* ofSchema(each, (changed) => put({ ...schema, [key]: { ...schema[key], [name]: changed } }), `${path}/${name}`);
  for (const key of ["items", "additionalProperties"]) if (typeof schema[key] === "object") yield* ofSchema(schema[key], (changed) => put({ ...schema, [key]: changed }), `${path}/*`);
  for (const key of ["anyOf", "oneOf", "allOf"])
    for (let at = 0; at < (schema[key]?.length ?? 0); at++) yield* ofSchema(schema[key][at], (changed) => put({ ...schema, [key]: schema[key].with(at, changed) }), `${path}|${at}`);
}

/** The schema of a file without what is only about its records, which their own schema says. */
function headerOf({ schema, list_key }) {
  if (!list_key) return schema;
  const { $defs: _, ...rest } = schema;
  const { [list_key]: list, ...properties } = schema.properties;
  return { ...rest, properties: { ...properties, [list_key]: { type: list.type ?? "array" } } };
}

function* mutants(contract) {
  for (const list of ["rules", "record_rules"])
    for (const [at, rule] of contract[list].entries()) {
      if (list === "rules" && rule.scope === "object" && rule.within) continue; // record_rules has it, too
      for (const [what, changed] of ofRule(rule))
        yield { what: `rule: ${what}`, about: `${rule.kind} ${rule.code}`, isBetween: rule.scope === "files", contract: { ...contract, [list]: changed ? contract[list].with(at, changed) : contract[list].toSpliced(at, 1) } };
    }
  const schemas = contract.record_schema ? ["schema", "record_schema"] : ["schema"];
  for (const key of schemas)
    for (const [what, schema, path] of ofSchema(key === "schema" ? headerOf(contract) : contract[key], (changed) => changed))
      yield { what: `schema: ${what}`, about: `${key} ${path}`, contract: { ...contract, [key]: schema } };
  for (const [at, column] of (contract.columns ?? []).entries()) {
    yield { what: "column: nullable", about: column.column, contract: { ...contract, columns: contract.columns.with(at, { ...column, nullable: !column.nullable }) } };
    for (const type of ["text", "number", "boolean"])
      if (type !== column.type) yield { what: `column: ${type}`, about: column.column, contract: { ...contract, columns: contract.columns.with(at, { ...column, type }) } };
  }
}

const counts = new Map();
const unnoticed = [];
for (const [id, contract] of Object.entries(contracts)) {
  if (!byContract.get(id).length || id.startsWith("medcontract/")) continue;
  for (const mutant of mutants(contract)) {
    contracts[id] = mutant.contract;
    const noticed = await isNoticed(id, mutant.isBetween).catch(() => true); // a rule that meets a wrong type
    const name = `${id}: ${mutant.what} (${mutant.about})`;
    const outcome = noticed ? "noticed" : isEquivalent(name) ? "equivalent" : "missed";
    if (outcome === "missed") unnoticed.push(name);
    const count = counts.get(mutant.what) ?? { noticed: 0, equivalent: 0, missed: 0 };
    count[outcome] += 1;
    counts.set(mutant.what, count);
  }
  contracts[id] = contract;
}
const shown = (what, count) => `${what.padEnd(36)}${Object.entries(count).map(([outcome, number]) => `${String(number).padStart(6)} ${outcome}`).join("")}`;
for (const [what, count] of [...counts].sort()) console.log(shown(what, count));
const sum = (outcome) => [...counts.values()].reduce((total, count) => total + count[outcome], 0);
console.log(shown("all", { noticed: sum("noticed"), equivalent: sum("equivalent"), missed: sum("missed") }));
if (unnoticed.length) console.log(`\n${unnoticed.join("\n")}`);
process.exitCode = unnoticed.length ? 1 : 0;
