// Writes src/contracts.js: what the checks need of the published schemas, without descriptions and examples.

import { readFileSync, writeFileSync } from "node:fs";

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

const contracts = {};
for (const entry of read("index.json").schemas) {
  const { id, kind, containers, list_key, reference_list, stands_in_for, columns } = entry;
  const whole = read(entry.path);
  const record = entry.record_path ? read(entry.record_path) : null;
  contracts[id] = {
    id, kind, containers, list_key, reference_list, stands_in_for, columns,
    schema: bare(whole),
    rules: whole["x-medcontract-rules"] ?? [],
    record_schema: record && bare(record),
    record_rules: record?.["x-medcontract-rules"] ?? [],
  };
}

const text = `// Written by build.js from schemas/: do not edit.\nexport default ${JSON.stringify(contracts, null, 1)};\n`;
writeFileSync(new URL("src/contracts.js", import.meta.url), text);
