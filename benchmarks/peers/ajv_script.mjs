// ajv with the published schema: all errors with pointers, no line numbers.
// node ajv_script.mjs SCHEMA FILE; ajv is loaded from tests/node/node_modules (.ci/run installs it there).

import { createReadStream, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(new URL("../../tests/node/", import.meta.url));
const Ajv = require("ajv/dist/2020.js").default;

const [schemaPath, path] = process.argv.slice(2);
const ajv = new Ajv({ allErrors: true, strict: false, validateFormats: false });
const validate = ajv.compile(JSON.parse(readFileSync(schemaPath, "utf8")));
let ok = true;
if (path.endsWith(".jsonl")) {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    ok = validate(JSON.parse(line)) && ok;
  }
} else {
  ok = validate(JSON.parse(readFileSync(path, "utf8")));
}
process.exitCode = ok ? 0 : 1;
