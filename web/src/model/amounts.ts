/** Amounts as people read them: times, durations, money, tokens. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * "850 ms", "3.2 s", "12 s", "4 min 5 s", "2 h 10 min", "3 d 4 h".
 *
 * The amount is rounded to the smallest unit that is shown, and only then split: 59.9 s is "1 min".
 */
export function duration(ms: number): string {
  const exact = Math.max(0, ms);
  if (Math.round(exact) < SECOND) return `${Math.round(exact)} ms`;
  if (Math.round(exact / 100) < 100) return `${(exact / SECOND).toFixed(1)} s`;
  const seconds = rounded(exact, SECOND);
  if (seconds < MINUTE) return `${seconds / SECOND} s`;
  if (seconds < HOUR) return two(seconds, MINUTE, "min", SECOND, "s");
  const minutes = rounded(exact, MINUTE);
  if (minutes < DAY) return two(minutes, HOUR, "h", MINUTE, "min");
  return two(rounded(exact, HOUR), DAY, "d", HOUR, "h");
}

function rounded(ms: number, unit: number): number {
  return Math.round(ms / unit) * unit;
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = (ms % large) / small;
  const first = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? first : `${first} ${rest} ${smallName}`;
}

/** Dollars, with as many digits as a small sum needs to be seen. */
export function money(usd: number): string {
  if (usd === 0) return "$0";
  if (Math.abs(usd) < 0.000_1) return "< $0.0001";
  return `$${usd.toFixed(Math.abs(usd) < 1 ? 4 : 2)}`;
}

export function count(value: number): string {
  return value.toLocaleString("en");
}

/** "12 B", "3.4 KiB", "5.6 MiB". */
export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  return size < 1_048_576 ? `${(size / 1_024).toFixed(1)} KiB` : `${count(Math.round(size / 104_857.6) / 10)} MiB`;
}

/** "5 min ago", "in 2 h"; `now` in milliseconds. */
export function relative(at: string, now: number): string {
  const away = Date.parse(at) - now;
  const span = Math.abs(away);
  if (span < 5 * SECOND) return "just now";
  const text = largest(span);
  return away < 0 ? `${text} ago` : `in ${text}`;
}

/** How long until a time, counting down; "" once it is over. */
export function countdown(until: string, now: number): string {
  const left = Date.parse(until) - now;
  if (left <= 0) return "";
  return left < 10 * SECOND ? `${Math.ceil(left / SECOND)} s` : duration(left);
}

function largest(span: number): string {
  if (span < MINUTE) return `${Math.floor(span / SECOND)} s`;
  if (span < HOUR) return `${Math.floor(span / MINUTE)} min`;
  if (span < DAY) return `${Math.floor(span / HOUR)} h`;
  return `${Math.floor(span / DAY)} d`;
}

/** Date and time of day in the reader's zone, with seconds. */
export function moment(at: string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** Time of day with milliseconds, for logs. */
export function clock(at: string): string {
  const date = new Date(at);
  const pad = (value: number, digits = 2) => String(value).padStart(digits, "0");
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
}
