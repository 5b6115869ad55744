// Numbers and texts formatted for people.
const grouped = new Intl.NumberFormat("en-US");
const count = (number) => grouped.format(number);
const plural = (number, one, many) => count(number) + " " + (number === 1 ? one : many || one + "s");

// 1500 -> "1.5 k": three significant digits and a unit.
function scaled(number, units) {
  let unit = 0;
  while (number >= 1000 && unit + 1 < units.length) {
    number /= 1000;
    ++unit;
  }
  const digits = unit === 0 || number >= 100 ? 0 : number >= 10 ? 1 : 2;
  return number.toFixed(digits) + "\u00a0" + units[unit];
}
const bytesText = (bytes) => scaled(bytes, ["B", "kB", "MB", "GB", "TB"]);
const macsText = (macs) => (macs === 0 ? "\u2013" : scaled(macs, ["", "k", "M", "G", "T"]).trim());
const percent = (share) => (share >= 99.95 && share < 100 ? "99.9" : share.toFixed(share === 100 || share === 0 ? 0 : 1)) + "\u00a0%";
const millis = (time) => (time < 10 ? time.toFixed(1) : time.toFixed(0)) + "\u00a0ms";
const shortFile = (file) => file.split("/").slice(-2).join("/");
const placeText = (source) => (source.file ? shortFile(source.file) + ":" + source.line : "");

// "dtype: i64 (allowed: f32, f16)"
function reasonText({ rule, seen, allowed }) {
  let all = rule;
  if (seen) all += ": " + seen;
  return allowed ? all + " (allowed: " + allowed + ")" : all;
}
