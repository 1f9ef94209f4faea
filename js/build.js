// Writes src/contracts.js: what the checks need of the published schemas, without descriptions and examples.
// With --with-suite, for a package, it also copies the conformance suite.

import { cpSync, readFileSync, writeFileSync } from "node:fs";

const schemas = new URL("../schemas/", import.meta.url);
const read = (path) => JSON.parse(readFileSync(new URL(path, schemas), "utf8"));

const ANNOTATIONS = new Set(["$schema", "$id", "title", "description", "default", "examples", "x-medcontract-rules"]);

function bare(schema) {
  if (Array.isArray(schema)) return schema.map(bare);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties" || key === "$defs") {
      kept[key] = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, bare(each)]));
    } else if (key === "enum" || key === "const" || key === "required") kept[key] = value;
    else if (!ANNOTATIONS.has(key)) kept[key] = bare(value);
  }
  return kept;
}

const compiled = new Map(JSON.parse(readFileSync(new URL("../src/medcontract/contracts/compiled.json", import.meta.url), "utf8")).map((entry) => [entry.id, entry]));
const messages = JSON.parse(readFileSync(new URL("../conformance/messages.json", import.meta.url), "utf8"));
const { tracks } = JSON.parse(readFileSync(new URL("../conformance/tracks.json", import.meta.url), "utf8"));
const contracts = {};
for (const entry of read("index.json").schemas) {
  const { id, kind, containers, list_key, reference_list, stands_in_for, columns } = entry;
  const whole = read(entry.path);
  const record = entry.record_path ? read(entry.record_path) : null;
  const { header, header_required, forms, column_forms, record: fields, open } = compiled.get(id);
  contracts[id] = {
    id, kind, containers, list_key, reference_list, stands_in_for, columns,
    schema: bare(whole),
    rules: whole["x-medcontract-rules"] ?? [],
    record_schema: record && bare(record),
    record_rules: record?.["x-medcontract-rules"] ?? [],
    header, header_required, forms, column_forms, record: fields, open,
  };
}

const text = `// Written by build.js from schemas/: do not edit.\nexport const messages = ${JSON.stringify(messages)};\nexport const tracks = ${JSON.stringify(tracks)};\nexport default ${JSON.stringify(contracts)};\n`;
writeFileSync(new URL("src/contracts.js", import.meta.url), text);

if (process.argv.includes("--with-suite"))
  cpSync(new URL("../conformance", import.meta.url), new URL("conformance", import.meta.url), { recursive: true });
