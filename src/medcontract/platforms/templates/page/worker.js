// Runs in the worker of the page, after the modules of `js/src` and the constant `settings`.

const DATA = /\.(json|jsonl|ndjson|csv)(\.gz)?$/i;
const MOST_SHOWN = 200;
const MOST_EXCERPTS = 100;
const EXCERPT = 160;
const MOST_PLACES = 50;

/**
 * The files to check, each {name, open}; other files, and archives that cannot be read, each {name, reason}; and the sizes of
 * all files by name, where they are in a folder or an archive.
 */
async function entriesOf(files) {
  const [found, skipped, broken, sizes] = [[], [], [], new Map()];
  let isWhole = false;
  for (const { name, file } of files) {
    let entries = [{ name, size: file.size, open: () => file.stream() }];
    if (/\.zip$/i.test(name))
      entries = await zipEntries(file, name).catch((error) => {
        broken.push({ name, reason: error.message });
        return [];
      });
    isWhole ||= /\.zip$/i.test(name) || name.includes("/");
    for (const entry of entries) {
      sizes.set(entry.name, entry.size);
      const base = entry.name.split("/").pop();
      if (base.startsWith(".") || entry.name.includes("__MACOSX/")) continue;
      if (!DATA.test(base)) skipped.push({ name: entry.name, reason: "not a .json, .jsonl or .csv" });
      else found.push(/\.gz$/i.test(base) ? { ...entry, open: async () => (await entry.open()).pipeThrough(new DecompressionStream("gzip")) } : entry);
    }
  }
  return [found, skipped, broken, { sizes, isWhole }];
}

/** The files in a .zip, from its directory at the end. */
async function zipEntries(file, name) {
  const view = async (from, to) => new DataView(await file.slice(from, to).arrayBuffer());
  const tail = await view(Math.max(0, file.size - 65_557), file.size);
  let end = tail.byteLength - 22;
  while (end >= 0 && tail.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new Error("it is not a .zip, or it is truncated");
  const [count, size, start] = [tail.getUint16(end + 10, true), tail.getUint32(end + 12, true), tail.getUint32(end + 16, true)];
  if (start === 0xffffffff || count === 0xffff) throw new Error("it is larger than 4 GB: unpack it first");
  const directory = await view(start, start + size);
  const entries = [];
  for (let at = 0, index = 0; index < count && at + 46 <= directory.byteLength; index++) {
    if (directory.getUint32(at, true) !== 0x02014b50) throw new Error("it is damaged");
    const [flags, method, packed] = [directory.getUint16(at + 8, true), directory.getUint16(at + 10, true), directory.getUint32(at + 20, true)];
    const unpacked = directory.getUint32(at + 24, true);
    const [nameLength, extra, comment, header] = [28, 30, 32].map((place) => directory.getUint16(at + place, true)).concat(directory.getUint32(at + 42, true));
    const path = new TextDecoder().decode(new Uint8Array(directory.buffer, at + 46, nameLength));
    at += 46 + nameLength + extra + comment;
    if (path.endsWith("/")) continue;
    const open = async () => {
      if (flags & 1) throw new Error(`${path} is encrypted`);
      if (method !== 0 && method !== 8) throw new Error(`${path} is packed in a way that browsers cannot read`);
      const local = await view(header, header + 30);
      const from = header + 30 + local.getUint16(26, true) + local.getUint16(28, true);
      const stream = file.slice(from, from + packed).stream();
      return method === 0 ? stream : stream.pipeThrough(new DecompressionStream("deflate-raw"));
    };
    entries.push({ name: path, size: unpacked, open });
  }
  return entries;
}

/** The text of some lines, shortened around the column: pairs of a line's number and {text, caret}. */
async function excerpts(stream, wanted) {
  const found = new Map();
  const last = Math.max(...wanted.keys());
  const decoder = new TextDecoder();
  let [line, kept] = [1, ""];
  const take = (text) => {
    if (wanted.has(line)) {
      const characters = [...text.slice(0, 1 << 20)];
      const column = wanted.get(line) ?? 1;
      const from = Math.max(0, column - EXCERPT / 2);
      const shown = characters.slice(from, from + EXCERPT).join("");
      found.set(line, { text: (from ? "…" : "") + shown + (from + EXCERPT < characters.length ? "…" : ""), caret: wanted.get(line) ? column - from + (from ? 1 : 0) : 0 });
    }
    line += 1;
  };
  for await (const bytes of pieces(stream)) {
    const lines = (kept + decoder.decode(bytes, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    kept = lines.pop();
    for (const text of lines) take(text);
    if (!wanted.has(line)) kept = kept.slice(-1); // a long line that is not shown
    if (line > last) break;
  }
  take(kept);
  return found;
}

const SUBJECT = /^(?:column |an item of )?'([^']+)' /;
const NUMBERS = /\d[\d.,]*/g;

/** Problems that differ only in the field and the place, each {first, count, names, lines, values}: the first is shown as a whole. */
function grouped(problems) {
  const groups = new Map();
  for (const problem of problems) {
    const { code, severity, message, hint, field, pointer, line, value } = problem;
    const [start, name] = SUBJECT.exec(message) ?? ["", null];
    const where = name === null ? (field ?? pointer.replace(/\/\d+/g, "/*")) : "";
    const key = JSON.stringify([code, severity, message.slice(start.length).replace(NUMBERS, "#"), (hint ?? "").replace(NUMBERS, "#"), where]);
    if (!groups.has(key)) groups.set(key, { first: { ...problem, name, value }, count: 0, names: new Set(), lines: new Set(), values: new Set() });
    const group = groups.get(key);
    group.count += 1;
    if (name !== null && name !== group.first.name) group.names.add(name);
    if (value !== undefined && group.count > 1) group.values.add(value);
    else if (line !== null && line !== group.first.line) group.lines.add(line);
  }
  const first = (set) => [...set].slice(0, MOST_PLACES);
  return [...groups.values()].map(({ names, lines, values, ...group }) => ({ ...group, names: [...names], lines: first(lines), values: first(values), isMore: lines.size + values.size > MOST_PLACES }));
}

async function check({ files, contract }) {
  const [entries, skipped, broken, listing] = await entriesOf(files);
  const total = entries.reduce((sum, { size }) => sum + size, 0);
  let [before, current, reported] = [0, null, 0];
  const progress = (name, read) => {
    if (current && name !== current.name) before += current.read;
    current = { name, read };
    if (before + read - reported < 1 << 20) return;
    reported = before + read;
    postMessage({ progress: Math.min(1, reported / Math.max(1, total)), name });
  };
  const only = contract ? [contract] : settings.contracts;
  async function* bytesOf({ open }) {
    yield* pieces(await open());
  }
  const given = entries.map((entry) => ({ name: entry.name, source: bytesOf(entry), contract: contract || null }));
  const result = await preflight(given, { cases: settings.cases, submission: settings.submission, only, listing, progress });
  for (const [index, report] of result.files.entries()) {
    const groups = grouped(report.problems);
    report.groups = groups.slice(0, MOST_SHOWN);
    report.more = groups.slice(MOST_SHOWN).reduce((sum, { count }) => sum + count, report.omitted);
    delete report.problems;
    const first = report.groups.map((group) => group.first);
    const wanted = new Map(first.slice(0, MOST_EXCERPTS).filter(({ line }) => line).map(({ line, column }) => [line, column]));
    if (!wanted.size) continue;
    const shown = await excerpts(await entries[index].open(), wanted);
    for (const problem of first) if (shown.has(problem.line)) problem.excerpt = shown.get(problem.line);
  }
  for (const { name, reason } of broken) result.checks.push({ status: "failed", title: `${name} can be read`, detail: reason });
  return { ...result, ready: result.ready && !broken.length, skipped, none: entries.length + broken.length === 0 };
}

onmessage = async ({ data }) => {
  try {
    postMessage({ result: await check(data) });
  } catch (error) {
    postMessage({ failed: error instanceof TypeError && !(error.message ?? "").startsWith("unknown") ? "a file could not be read: it may be damaged" : String(error.message ?? error) });
  }
};
