// Measures a check of 100 MB of JSON Lines, relative to `JSON.parse` on each line, and its memory:
//
//   node measure.js [MEGABYTES]

import { createReadStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";

import { validate } from "./src/index.js";

const record = { run_id: "1", specialty: "Cardiology", urgency: "Emergency", follow_up: true, processing_time_sec: 0.84 };
const line = (number) => `${JSON.stringify({ report_id: `RX-${String(number).padStart(8, "0")}`, ...record })}\n`;
const count = Math.round((Number(process.argv[2] ?? 100) * 1e6) / line(0).length);
const folder = mkdtempSync(join(tmpdir(), "medcontract-"));
const file = join(folder, "predictions.jsonl");
for (let at = 0; at < count; at += 10_000)
  writeFileSync(file, Array.from({ length: Math.min(10_000, count - at) }, (_, index) => line(at + index)).join(""), { flag: "a" });

let start = performance.now();
const { ok, records } = await validate(Readable.toWeb(createReadStream(file)), { contract: "reports/predictions", container: "jsonl" });
const seconds = (performance.now() - start) / 1000;
const memory = process.resourceUsage().maxRSS / 1000; // before the lines are read at once
start = performance.now();
for (const each of readFileSync(file, "utf8").trimEnd().split("\n")) JSON.parse(each);
const parsing = (performance.now() - start) / 1000;
rmSync(folder, { recursive: true });
console.log(`${records.toLocaleString("en")} records, ${ok ? "valid" : "not valid"}: ${seconds.toFixed(1)} s, ${(seconds / parsing).toFixed(1)} x JSON.parse, ${memory.toFixed(0)} MB`);
