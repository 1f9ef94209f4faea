// Answers the requests of `medcontract conformance run -- node serve.js`: JSON Lines over standard streams.

import { createInterface } from "node:readline";

import { preflight, validate } from "./src/index.js";

const bytesOf = ({ bytes }) => new Uint8Array(Buffer.from(bytes, "base64"));

async function answer({ id, level, contract, container, bytes, files }) {
  if (level === "files") {
    const given = files.map((file) => ({ ...file, source: bytesOf(file) }));
    const found = (await preflight(given)).files.flatMap(({ path, problems }) => problems.map((each) => ({ file: path, ...each })));
    const problems = found.filter(({ code }) => code.startsWith("MC3"));
    return { id, ok: problems.every(({ severity }) => severity !== "error"), problems };
  }
  if (bytes === undefined) return { id, skipped: `level ${level} is not implemented` };
  const { ok, problems } = await validate(bytesOf({ bytes }), { contract: contract ?? "reports/truth", container });
  return { id, ok, problems };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await answer(JSON.parse(line))));
