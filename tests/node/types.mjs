// Types generated from schemas: node types.mjs FILE
// FILE: {"schemas": {name: schema, ...}, "languages": [language of quicktype, or "typescript", ...]}
// Prints, for each language and name, the source. TypeScript comes from json-schema-to-typescript, the rest from quicktype.

import { readFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { InputData, JSONSchemaInput, quicktype } from "quicktype-core";

const OPTIONS = { go: { "omit-empty": "true", package: "types" } }; // with functions, which read and write unions

async function generate(schema, language) {
  if (language === "typescript") return compile(structuredClone(schema), schema.title, { bannerComment: "", format: false });
  const source = new JSONSchemaInput(undefined);
  await source.addSource({ name: schema.title, schema: JSON.stringify(schema) });
  const inputData = new InputData();
  inputData.addInput(source);
  const { lines } = await quicktype({ inputData, lang: language, rendererOptions: OPTIONS[language] ?? { "just-types": "true" } });
  return lines.join("\n");
}

const { schemas, languages } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const sources = {};
for (const language of languages) {
  sources[language] = {};
  for (const [name, schema] of Object.entries(schemas)) sources[language][name] = await generate(schema, language);
}
process.stdout.write(JSON.stringify(sources));
