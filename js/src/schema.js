// Checks values against the published schemas. Only what these use is known; anything else is an error when loading.

import { HINTS, MESSAGES, NAMES, PATTERNS, expected, filled, gotten, isPlain, listed, nearest, plural } from "./messages.js";
import { stripBlanks } from "./text.js";

const NON_BLANK = "[^\\x09-\\x0d\\x20\\xa0]";
const KNOWN = new Set([
  "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "pattern",
  "not", "maxLength", "minLength", "minimum", "maximum", "exclusiveMinimum", "anyOf", "oneOf", "allOf", "$ref", "$defs",
  "if", "then", "else", "uniqueItems", "propertyNames",
]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const CHECKS = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};

/** A function that adds the findings about a value to a list: `check(value, path, findings)`. `noError`: a pattern of texts in `error` that mean that there was none. */
export function compile(schema, noError) {
  const made = new Map();
  const find = (name) => (value, path, findings) => {
    if (!made.has(name)) made.set(name, node(schema.$defs[name], find));
    return made.get(name)(value, path, findings);
  };
  find.noError = noError === undefined ? null : new RegExp(noError, "u");
  return node(schema, find);
}

const finding = (code, path, message, more) => ({ code, path: [...path], message, fromSchema: true, ...more });

function node(schema, find) {
  if (schema === true) return () => {};
  for (const key in schema) if (!KNOWN.has(key)) throw new Error(`the keyword '${key}' is not supported`);
  if (schema.$ref) return find(schema.$ref.replace("#/$defs/", ""));
  if (schema.oneOf && schema.oneOf.length === 2) return variants(schema.oneOf.map((each) => node(each, find)), find.noError);
  if (schema.anyOf) return anyOf(schema.anyOf, find);
  const steps = [...keywords(schema, find)];
  return (value, path, findings) => {
    for (const step of steps) if (step(value, path, findings) === STOP) return;
  };
}

const STOP = Symbol("stop");

/** A record with an `error`, neither null nor blank, is a failed one, whatever its other keys. With answers and an `error` that means none, that is what is wrong, and it is checked without. */
function variants([answered, failed], noError) {
  return (value, path, findings) => {
    const error = isObject(value) && Object.hasOwn(value, "error") ? value.error : null;
    const none = error === null || (typeof error === "string" && !stripBlanks(error));
    if (none) return answered(value, path, findings);
    const found = [];
    failed(value, path, found);
    if (typeof error === "string" && noError?.test(error.trim()) && found.some(({ code }) => code === "MC109")) {
      found.length = 0;
      answered({ ...value, error: null }, path, found);
      found.push(finding("MC109", [...path, "error"], "means that there was no error"));
    }
    findings.push(...found);
  };
}

function anyOf(schemas, find) {
  if (schemas.every((each) => each.type && Object.keys(each).length === 1)) return ofType(schemas.map(({ type }) => type));
  const others = schemas.filter((each) => each.type !== "null").map((each) => node(each, find));
  const nullable = others.length < schemas.length;
  return (value, path, findings) => {
    if (nullable && value === null) return;
    let first = null;
    for (const check of others) {
      const found = [];
      check(value, path, found);
      if (!found.length) return;
      first ??= found;
    }
    findings.push(...first);
  };
}

function* keywords(schema, find) {
  if (schema.type !== undefined) yield ofType(schema.type);
  if (schema.enum !== undefined) yield oneOf(schema.enum);
  if ("const" in schema) yield oneOf([schema.const]);
  if (schema.pattern !== undefined) yield pattern(schema.pattern);
  if (schema.not !== undefined) yield not(node(schema.not, find));
  if (schema.minLength !== undefined) yield size("minLength", schema.minLength, (length) => length >= schema.minLength);
  if (schema.maxLength !== undefined) yield size("maxLength", schema.maxLength, (length) => length <= schema.maxLength);
  if (schema.minimum !== undefined) yield bound("minimum", schema.minimum, (value) => value >= schema.minimum);
  if (schema.exclusiveMinimum !== undefined) yield bound("exclusiveMinimum", schema.exclusiveMinimum, (value) => value > schema.exclusiveMinimum);
  if (schema.maximum !== undefined) yield bound("maximum", schema.maximum, (value) => value <= schema.maximum);
  if (schema.items !== undefined) yield each(node(schema.items, find));
  if (schema.minItems !== undefined) yield items("minItems", schema.minItems, (length) => length >= schema.minItems);
  if (schema.maxItems !== undefined) yield items("maxItems", schema.maxItems, (length) => length <= schema.maxItems);
  if (schema.required || schema.properties || schema.additionalProperties !== undefined) yield members(schema, find);
  if (schema.allOf) yield* schema.allOf.map((part) => node(part, find));
  if (schema.if) yield conditional(...[schema.if, schema.then ?? true, schema.else ?? true].map((part) => node(part, find)));
}

function ofType(type) {
  const types = [].concat(type);
  return (value, path, findings) => {
    if (types.some((name) => CHECKS[name](value))) return;
    if (type === "null") findings.push(finding("MC109", path, MESSAGES["not here"], { hint: HINTS["not here"] }));
    else {
      const template = path.length ? MESSAGES.type : MESSAGES["type of the whole"];
      findings.push(finding("MC103", path, filled(template, { expected: expected(types.filter((name) => name !== "null")), got: gotten(value) })));
    }
    return STOP;
  };
}

function oneOf(values) {
  const message = filled(MESSAGES[values.length > 1 ? "one of" : "constant"], { choices: listed(values) });
  return (value, path, findings) => {
    if (values.includes(value)) return;
    let hint = null;
    if (typeof value === "string") hint = values.includes(value.trim()) ? HINTS["white space"] : nearest(value, values, "did you mean");
    findings.push(finding("MC104", path, message, { hint }));
  };
}

function pattern(source) {
  const compiled = new RegExp(source, "u");
  const wanted = PATTERNS[source] ?? filled(MESSAGES["other pattern"], { pattern: source.replace(/^\^\(\?:(.*)\)\$$/s, "$1").replace(/^\^|\$$/g, "") });
  const [code, message] = source === NON_BLANK ? ["MC106", MESSAGES.blank] : ["MC107", filled(MESSAGES.pattern, { wanted })];
  return (value, path, findings) => {
    if (typeof value !== "string" || compiled.test(value)) return;
    findings.push(finding(code, path, message, { hint: code === "MC107" ? formatHint(value) : null }));
    return STOP;
  };
}

function formatHint(value) {
  if (/^(?:[A-Za-z]:|\/)/.test(value)) return HINTS.relative;
  if (value.includes("\\")) return HINTS.slashes;
  if (/^\s*[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}/.test(value)) return HINTS["year first"];
  return value !== value.trim() ? HINTS["white space"] : null;
}

function not(check) {
  return (value, path, findings) => {
    const found = [];
    check(value, path, found);
    if (!found.length) findings.push(finding("MC107", path, "has the wrong format"));
  };
}

function size(name, limit, check) {
  return (value, path, findings) => {
    if (typeof value !== "string") return;
    const length = [...value].length;
    if (!check(length)) findings.push(finding("MC107", path, filled(MESSAGES[name], { count: plural(limit, "character"), got: length })));
  };
}

function bound(name, limit, check) {
  const message = filled(MESSAGES[name], { bound: limit });
  return (value, path, findings) => {
    if (typeof value !== "number" || check(value)) return;
    findings.push(finding("MC105", path, message));
  };
}

function items(name, limit, check) {
  return (value, path, findings) => {
    if (!Array.isArray(value) || check(value.length)) return;
    if (name === "maxItems") {
      const isInside = ({ path: other }) => path.every((token, place) => other[place] === token);
      const bad = new Set(findings.filter(isInside).map(({ path: other }) => other[path.length]));
      if (value.length - bad.size <= limit) return;
      findings.splice(0, Infinity, ...findings.filter((each) => !isInside(each)));
    }
    findings.push(finding("MC108", path, filled(MESSAGES[name], { count: plural(limit, "item"), got: value.length })));
  };
}

/** Check a member or an item; the path is one list that grows and shrinks. */
function inside(check, value, path, token, findings) {
  path.push(token);
  check(value, path, findings);
  path.pop();
}

function each(check) {
  return (value, path, findings) => {
    if (!Array.isArray(value)) return;
    for (let index = 0; index < value.length; index++) inside(check, value[index], path, index, findings);
  };
}

function members(schema, find) {
  const known = new Map(Object.entries(schema.properties ?? {}).map(([name, each]) => [name, node(each, find)]));
  const open = schema.additionalProperties === undefined || schema.additionalProperties === true;
  const other = typeof schema.additionalProperties === "object" ? node(schema.additionalProperties, find) : null;
  const required = schema.required ?? [];
  return (value, path, findings) => {
    if (!isObject(value)) return;
    for (const name of required)
      if (!Object.hasOwn(value, name)) findings.push(finding("MC101", path, `${filled(NAMES.key, { name })} ${MESSAGES.missing}`, { field: name, fromSchema: false }));
    for (const name in value) {
      const check = known.get(name) ?? other;
      if (check) inside(check, value[name], path, name, findings);
      else if (!open) findings.push(unknownKey(path, name, [...known.keys()].filter((each) => !Object.hasOwn(value, each))));
    }
  };
}

function unknownKey(path, name, missing) {
  const message = isPlain(name) ? `${filled(NAMES.key, { name })} ${MESSAGES.unknown}` : MESSAGES["unknown, may be data"];
  return finding("MC102", [...path, name], message, { atKey: true, fromSchema: false, hint: nearest(name, missing, "rename") });
}

function conditional(test, then, otherwise) {
  return (value, path, findings) => {
    const found = [];
    test(value, path, found);
    (found.length ? otherwise : then)(value, path, findings);
  };
}
