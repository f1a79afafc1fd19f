/** Amounts as people read them: times, durations, money, tokens. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** "850 ms", "3.2 s", "4 min 5 s", "2 h 10 min", "3 d 4 h". */
export function duration(ms: number): string {
  const whole = Math.max(0, ms);
  if (whole < SECOND) return `${Math.round(whole)} ms`;
  if (whole < 10 * SECOND) return `${(whole / SECOND).toFixed(1)} s`;
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} s`;
  if (whole < HOUR) return two(whole, MINUTE, "min", SECOND, "s");
  if (whole < DAY) return two(whole, HOUR, "h", MINUTE, "min");
  return two(whole, DAY, "d", HOUR, "h");
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
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
