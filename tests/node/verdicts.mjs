// What ajv, in strict mode, says of values: node verdicts.mjs FILE
// FILE: {"schemas": [path, ...], "cases": [{"schema": $id, "values": [...]}, ...]}
// Prints, for each case, one boolean a value.

import { readFileSync } from "node:fs";
import Ajv2020 from "ajv/dist/2020.js";

const read = (path) => JSON.parse(readFileSync(path, "utf8"));

const ajv = new Ajv2020({ strict: true });
ajv.addKeyword({ keyword: "x-medcontract-rules", schemaType: "array" });

const { schemas, cases } = read(process.argv[2]);
for (const path of schemas) ajv.compile(read(path));

const verdicts = cases.map(({ schema, values }) => {
  const validate = ajv.getSchema(schema);
  return values.map((value) => validate(value));
});
process.stdout.write(JSON.stringify(verdicts));
