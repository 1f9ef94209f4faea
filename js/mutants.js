// Changes every rule, keyword and column of the contracts in turn, and lists the changes that no case of the suite notices.
//
//   node mutants.js             prints counts by kind of change, and what was not noticed

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

function* ofSchema(schema, put) {
  if (typeof schema !== "object" || schema === null) return;
  const without = (key) => put((({ [key]: _, ...rest }) => rest)(schema));
  for (const name of schema.required ?? []) yield ["required: one less", put({ ...schema, required: schema.required.filter((each) => each !== name) })];
  for (const value of schema.enum ?? []) yield ["enum: one less", put({ ...schema, enum: schema.enum.filter((each) => each !== value) })];
  for (const bound of ["minimum", "maximum", "exclusiveMinimum", "minItems", "maxItems", "minLength", "maxLength"])
    if (bound in schema) {
      yield [`without ${bound}`, without(bound)];
      const values = bound.startsWith("m") && /Items|Length/.test(bound) ? moved(schema[bound]) : near(schema[bound]);
      for (const value of values) yield [`${bound} moved`, put({ ...schema, [bound]: value })];
    }
  for (const key of ["pattern", "const", "not", "type"]) if (key in schema) yield [`without ${key}`, without(key)];
  if (schema.additionalProperties === false) yield ["other keys allowed", without("additionalProperties")];
  if (schema.anyOf) for (const each of schema.anyOf.length > 1 ? schema.anyOf : []) if (each.type === "null" || schema.anyOf.length > 2) yield ["anyOf: one less", put({ ...schema, anyOf: schema.anyOf.filter((other) => other !== each) })];
  for (const [name, each] of Object.entries(schema.properties ?? {})) yield* ofSchema(each, (changed) => put({ ...schema, properties: { ...schema.properties, [name]: changed } }));
  for (const [name, each] of Object.entries(schema.$defs ?? {})) yield* ofSchema(each, (changed) => put({ ...schema, $defs: { ...schema.$defs, [name]: changed } }));
  for (const key of ["items", "additionalProperties"]) if (typeof schema[key] === "object") yield* ofSchema(schema[key], (changed) => put({ ...schema, [key]: changed }));
  for (const key of ["anyOf", "oneOf", "allOf"])
    for (let at = 0; at < (schema[key]?.length ?? 0); at++) yield* ofSchema(schema[key][at], (changed) => put({ ...schema, [key]: schema[key].with(at, changed) }));
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
    for (const [what, schema] of ofSchema(key === "schema" ? headerOf(contract) : contract[key], (changed) => changed)) yield { what: `schema: ${what}`, about: key, contract: { ...contract, [key]: schema } };
  for (const [at, column] of (contract.columns ?? []).entries()) {
    yield { what: "column: nullable", about: column.column, contract: { ...contract, columns: contract.columns.with(at, { ...column, nullable: !column.nullable }) } };
    for (const type of ["text", "number", "boolean"])
      if (type !== column.type) yield { what: `column: ${type}`, about: column.column, contract: { ...contract, columns: contract.columns.with(at, { ...column, type }) } };
  }
}

const counts = new Map();
const missed = [];
for (const [id, contract] of Object.entries(contracts)) {
  if (!byContract.get(id).length || id.startsWith("medcontract/")) continue;
  for (const mutant of mutants(contract)) {
    contracts[id] = mutant.contract;
    const noticed = await isNoticed(id, mutant.isBetween).catch(() => true); // a rule that meets a wrong type
    const count = counts.get(mutant.what) ?? { noticed: 0, missed: 0 };
    count[noticed ? "noticed" : "missed"] += 1;
    counts.set(mutant.what, count);
    if (!noticed) missed.push(`${id}: ${mutant.what} (${mutant.about})`);
  }
  contracts[id] = contract;
}
for (const [what, { noticed, missed: not }] of [...counts].sort()) console.log(`${what.padEnd(36)} ${String(noticed).padStart(5)} noticed ${String(not).padStart(5)} not`);
const sum = (key) => [...counts.values()].reduce((total, count) => total + count[key], 0);
console.log(`${"all".padEnd(36)} ${String(sum("noticed")).padStart(5)} noticed ${String(sum("missed")).padStart(5)} not\n`);
console.log(missed.join("\n"));
