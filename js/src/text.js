// Bytes as text: encodings, other kinds of files, lines and columns.

const HEAD = 4096;

/** A byte that is not part of valid UTF-8, as a lone surrogate, which no valid text contains. */
export const BAD_BYTE = /(?<![\uD800-\uDBFF])[\uDC80-\uDCFF]/;
const BLANK_LINE = /^[ \t]*$/;

/** The characters that count as blank: U+0009 to U+000D, U+0020, U+00A0. */
const BLANKS = /^[\x09-\x0d\x20\xa0]+|[\x09-\x0d\x20\xa0]+$/g;
export const stripBlanks = (text) => text.replace(BLANKS, "");
export const isBlankLine = (text) => BLANK_LINE.test(text);

/** Any source as pieces of bytes: a string, bytes, a Blob, or a stream of either. */
export async function* pieces(source) {
  if (typeof source === "string") yield new TextEncoder().encode(source);
  else if (source instanceof Uint8Array) yield source;
  else if (source instanceof ArrayBuffer) yield new Uint8Array(source);
  else {
    const stream = typeof source?.stream === "function" ? source.stream() : source;
    if (stream?.[Symbol.asyncIterator]) for await (const each of stream) yield typeof each === "string" ? new TextEncoder().encode(each) : each;
    else if (stream?.getReader) {
      const reader = stream.getReader();
      for (let step; !(step = await reader.read()).done; ) yield step.value;
    } else throw new TypeError("expected a string, bytes, a Blob or a stream");
  }
}

/** Decodes piece by piece; bytes that are not UTF-8 become lone surrogates, and a mark at the start is dropped. */
export class Decoder {
  #kept = new Uint8Array(0);
  #begun = false;
  hasBadBytes = false;

  decode(bytes, isLast) {
    if (this.#kept.length) bytes = joined([this.#kept, bytes]);
    if (!this.#begun) {
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
      this.#begun = true;
    }
    const end = isLast ? bytes.length : completeLength(bytes);
    this.#kept = bytes.slice(end);
    const whole = bytes.subarray(0, end);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole);
    } catch {
      this.hasBadBytes = true;
      return decodeWithBadBytes(whole);
    }
  }
}

export function joined(parts) {
  if (parts.length === 1) return parts[0];
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The length without a sequence at the end that the next piece may complete. */
function completeLength(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte < 0x80) break;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function decodeWithBadBytes(bytes) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const parts = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const size = sequence(bytes, at);
    if (size) at += size;
    else {
      parts.push(decoder.decode(bytes.subarray(from, at)), String.fromCharCode(0xdc00 + bytes[at]));
      from = at += 1;
    }
  }
  parts.push(decoder.decode(bytes.subarray(from)));
  return parts.join("");
}

/** The length of the valid sequence that starts here; 0 if there is none. */
function sequence(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return 1;
  const size = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  for (let next = 1; next < size; next++) if ((bytes[at + next] & 0xc0) !== 0x80) return 0;
  const second = bytes[at + 1];
  const overlong = (first === 0xe0 && second < 0xa0) || (first === 0xf0 && second < 0x90);
  const beyond = (first === 0xed && second > 0x9f) || (first === 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : size;
}

const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

const KINDS = [
  ["%PDF", "a PDF document"],
  ["\x89PNG", "an image"],
  ["\xff\xd8\xff", "an image"],
  ["SQLite format 3", "a database"],
  ["7z\xbc\xaf\x27\x1c", "a 7z archive"],
  ["Rar!\x1a\x07", "a rar archive"],
  ["\xfd7zXZ\x00", "an xz archive"],
  ["\x28\xb5\x2f\xfd", "a zstd archive"],
  ["\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office file, such as .xls"],
  ["{\\rtf", "an RTF document"],
  ["\x89HDF\r\n\x1a\n", "an HDF5 file"],
  ["\x93NUMPY", "a NumPy array"],
  ["ARROW1\x00\x00", "an Arrow or Feather file"],
  ["version https://git-lfs.github.com/", "a Git LFS pointer"],
  ["PK\x03\x04", "a zip archive"],
  ["\x1f\x8b", "a gzip archive"],
  ["PAR1", "a Parquet file"],
];
const KIND_PATTERNS = [
  [/^\x80[\x02-\x05](?:\x95|[}\]c(])/, "a Python pickle"],
  [/^BZh[1-9]1AY&SY/, "a bzip2 archive"],
];
const MARKUP = /^\s*<(!doctype\s+html|html|head|body|table|\?xml)\b/i;

/** What is wrong with a file of another kind or encoding, from its first bytes; null for text. */
export function otherKind(bytes) {
  const wide = wideEncoding(bytes);
  if (wide) return { code: "MC006", message: `the file is in ${wide}, not in UTF-8`, hint: "save it as UTF-8" };
  const head = latin(bytes.subarray(0, HEAD));
  const kind =
    KINDS.find(([magic]) => head.startsWith(magic)) ??
    (head.startsWith("ustar", 257) ? [null, "a tar archive"] : KIND_PATTERNS.find(([pattern]) => pattern.test(head)));
  if (kind) return { code: "MC005", message: `this is ${kind[1]}, not a text file`, hint: null };
  const markup = MARKUP.exec(head.startsWith("\xef\xbb\xbf") ? head.slice(3) : head);
  if (!markup) return null;
  const name = markup[1].toLowerCase().endsWith("xml") ? "an XML document" : "a web page (HTML)";
  const hint = "check whether a login or error page was saved instead of the file";
  return { code: "MC005", message: `this is ${name}, not a data file`, hint };
}

function wideEncoding(b) {
  const zeros = (from, to) => b.subarray(from, to).filter((byte) => byte === 0).length;
  if (b[0] === 0xff && b[1] === 0xfe && b[2] === 0 && b[3] === 0 && b.length > 3) return "UTF-32";
  if (b[0] === 0 && b[1] === 0 && b[2] === 0xfe && b[3] === 0xff) return "UTF-32";
  if ((b[0] === 0xff && b[1] === 0xfe) || (b[0] === 0xfe && b[1] === 0xff)) return "UTF-16";
  if (zeros(0, 4) === 3 && zeros(4, 8) === 3) return "UTF-32";
  if (b.length >= 4 && (b[0] === 0 && b[2] === 0) !== (b[1] === 0 && b[3] === 0)) return "UTF-16";
  return null;
}

/** Line and column of places in a window of a text. `keep` moves the start of the window. */
export class Places {
  #kept;
  #now;

  constructor(text, line = 1, column = 1) {
    this.text = text;
    this.returns = text.includes("\r");
    this.#kept = { at: 0, line, column };
    this.#now = this.#kept;
  }

  find(at) {
    this.#now = this.#after(at < this.#now.at ? this.#kept : this.#now, at);
    return this.#now;
  }

  /** Places before `at` are not asked for any more. */
  mark(at) {
    this.#kept = this.find(at);
  }

  /** The window begins at `at` now, and has another text. */
  move(at, text) {
    const { line, column } = this.find(at);
    this.#now = this.#kept = { at: 0, line, column };
    this.text = text;
    this.returns = text.includes("\r");
  }

  #after({ at, line, column }, to) {
    const { text } = this;
    let start = at;
    for (;;) {
      const feed = text.indexOf("\n", start);
      const back = this.returns ? text.indexOf("\r", start) : -1;
      const isReturn = back >= 0 && (feed < 0 || back < feed);
      const end = isReturn ? (text[back + 1] === "\n" ? back + 1 : back) : feed;
      if (end < 0 || end >= to) break;
      line += 1;
      column = 1;
      start = end + 1;
    }
    for (let next = start; next < to; next++) {
      const low = text.charCodeAt(next) & 0xfc00;
      if (low !== 0xdc00 || (text.charCodeAt(next - 1) & 0xfc00) !== 0xd800) column += 1;
    }
    return { at: to, line, column };
  }
}

const BLOCK = 1 << 20;
const LONG = 255;
const PARTS = 64;

/** A set of strings that keeps their bytes only: a third of the memory of a Set for millions of ids. */
export class StringSet {
  #tables = Array.from({ length: PARTS }, () => ({ slots: new Uint32Array(16), count: 0 })); // places plus one, or 0
  #blocks = [new Uint8Array(1 << 12)];
  #at = 0;
  #long = new Set();
  #encoder = new TextEncoder();
  #seed = Math.floor(Math.random() * 2 ** 32);

  /** Whether the string was not in the set. */
  add(text) {
    const room = text.length * 3 + 1;
    if (room > LONG) return this.#long.size < this.#long.add(JSON.parse(JSON.stringify(text))).size;
    let block = this.#blocks[this.#blocks.length - 1];
    if (this.#at + room > block.length) {
      const isFull = block.length === BLOCK;
      const next = new Uint8Array(Math.min(BLOCK, block.length * 4));
      if (isFull) this.#at = this.#blocks.push(next) && 0;
      else {
        next.set(block);
        this.#blocks[this.#blocks.length - 1] = next;
      }
      block = next;
    }
    const start = this.#at;
    const written = this.#write(text, block, start + 1);
    block[start] = written;
    const hash = this.#hash(block, start);
    const table = this.#tables[hash % PARTS];
    const { slots } = table;
    let slot = slotOf(hash, slots);
    for (let place; (place = slots[slot]); slot = slot + 1 === slots.length ? 0 : slot + 1)
      if (this.#same(place - 1, block, start, written)) return false;
    slots[slot] = (this.#blocks.length - 1) * BLOCK + start + 1;
    this.#at = start + 1 + written;
    table.count += 1;
    if (table.count * 5 > slots.length * 4) this.#grow(table);
    return true;
  }

  /** Write a string as UTF-8. Returns how many bytes. */
  #write(text, block, start) {
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code > 127) return this.#encoder.encodeInto(text, block.subarray(start)).written;
      block[start + at] = code;
    }
    return text.length;
  }

  #hash(block, at) {
    let hash = this.#seed;
    for (let next = at + block[at]; next > at; next--) hash = Math.imul(hash ^ block[next], 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  #same(place, block, start, length) {
    const other = this.#blocks[Math.floor(place / BLOCK)];
    const at = place % BLOCK;
    for (let next = 0; next <= length; next++) if (other[at + next] !== block[start + next]) return false;
    return true;
  }

  #grow(table) {
    const old = table.slots;
    const slots = (table.slots = new Uint32Array(Math.ceil(old.length * 1.5)));
    for (const place of old) {
      if (!place) continue;
      let slot = slotOf(this.#hash(this.#blocks[Math.floor((place - 1) / BLOCK)], (place - 1) % BLOCK), slots);
      while (slots[slot]) slot = slot + 1 === slots.length ? 0 : slot + 1;
      slots[slot] = place;
    }
  }
}

const slotOf = (hash, slots) => Math.floor((Math.floor(hash / PARTS) / (2 ** 32 / PARTS)) * slots.length);
