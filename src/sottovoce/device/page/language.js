// Everything that depends on the language: the texts, and how numbers and dates are written and read. There is one file of
// texts per language, and only the chosen one is loaded; the browser supplies the rest (Intl).

let [spoken, locale, texts] = ["en", "en", {}];
let plurals, signs;

/** Use a language from now on. `own` are the browser's languages: de-CH has its own way to write numbers. */
export function speak(tag, content, own = []) {
  [spoken, texts] = [tag, content];
  locale = own.find((one) => one.split("-")[0] === tag.split("-")[0]) ?? tag;
  plurals = new Intl.PluralRules(locale);
  const parts = new Intl.NumberFormat(locale, { numberingSystem: "latn" }).formatToParts(12345678.5);
  signs = Object.fromEntries(parts.map(({ type, value }) => [type, value]));
}

/** The page's current language. */
export const spokenTag = () => spoken;

export const knows = (key) => Object.hasOwn(texts, key);

/** A text in the page's language, with its placeholders filled in. If it has plural forms, `count` chooses one. */
export function say(key, gaps = {}) {
  const found = texts[key] ?? key;
  const text = found.other ? found[plurals.select(gaps.count)] ?? found.other : found;
  return text.replace(/\{(\w+)\}/g, (_, name) => (typeof gaps[name] === "number" ? number(gaps[name]) : gaps[name]));
}

const format = (options) => new Intl.NumberFormat(locale, { numberingSystem: "latn", ...options });
const withMinus = (text) => text.replace("-", "−");

export const number = (value) => withMinus(format({ maximumFractionDigits: 2 }).format(value));

/** A decimal text, such as "-1234.50", with the separators of the language and all its digits. */
export function decimal(text) {
  const [, sign, whole, part] = /^([-−]?)(\d+)\.?(\d*)$/.exec(text) ?? [];
  if (whole === undefined) return withMinus(text.replace(".", signs.decimal)); // it has an exponent
  return (sign && "−") + format().format(BigInt(whole)) + (part && signs.decimal + part);
}

/** A figure with three digits, as people write it. */
export function figure(value) {
  const short = Number(value.toPrecision(3));
  return decimal(short && short < 1e-3 ? short.toExponential() : String(short));
}

/** A moment on this device's clock; with the time zone if others have to agree on it, as on a deadline. */
export const moment = (text, withZone = false) =>
  new Date(text).toLocaleString(locale, withZone ? { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" } : { dateStyle: "medium", timeStyle: "short" });
/** A time in words: "1 minute", "10 seconds". */
export function duration(seconds) {
  const [count, unit] = seconds % 60 ? [seconds, "second"] : [seconds / 60, "minute"];
  return format({ style: "unit", unit, unitDisplay: "long" }).format(count);
}

export const withUnit = (text, unit) => (unit ? `${text}\u00a0${unit}` : String(text));

/** A number in a field: with the decimal sign of the language, without groups. */
export const editable = (text) => text.replace(".", signs.decimal);

const GROUPS = { ".": /^[+-]?[1-9]\d{0,2}(\.\d{3})+$/, ",": /^[+-]?[1-9]\d{0,2}(,\d{3})+$/ };

/** What somebody typed, as plain decimal text with a point; where it can mean two numbers, both. Either decimal sign is
 * read, since a keypad follows the phone's language and not the page's. */
export function typedNumber(typed) {
  const text = typed.normalize("NFKC").trim().replace(/^[−–]/, "-").replaceAll("。", ".").replace(/(\d)['’ ](?=\d{3}(\D|$))/g, "$1");
  const [first, ...more] = text.match(/[.,]/g) ?? [];
  if (!first) return { reading: text };
  const last = more.at(-1) ?? first;
  const end = text.lastIndexOf(last);
  const [whole, part] = [text.slice(0, end), text.slice(end + 1)];
  if (!more.length) {
    const reading = `${whole}.${part}`;
    return first !== signs.decimal && GROUPS[first].test(text) ? { whole: whole + part, part: reading } : { reading };
  }
  if (last === first) return { reading: GROUPS[first].test(text) ? text.replaceAll(first, "") : text };
  return { reading: GROUPS[first].test(whole) ? `${whole.replaceAll(first, "")}.${part}` : text };
}
