// Figures for people: three digits, and the unit that fits.

export function three(value: number): string {
  const size = Math.abs(value);
  if (size < 0.005) return "0";
  if (size < 9.995) return value.toFixed(2);
  if (size < 99.95) return value.toFixed(1);
  return value.toFixed(0);
}

/** A time given in ms. */
export function time(ms: number): string {
  if (ms < 0.9995) return `${three(ms * 1e3)} µs`;
  if (ms < 999.5) return `${three(ms)} ms`;
  return `${three(ms / 1e3)} s`;
}

/** A round value for an axis: no digits that say nothing. */
export function tick(ms: number): string {
  const clean = (value: number) => String(Number(value.toPrecision(6)));
  if (ms === 0) return "0";
  if (ms < 1) return `${clean(ms * 1e3)} µs`;
  if (ms < 1000) return `${clean(ms)} ms`;
  return `${clean(ms / 1e3)} s`;
}

export function bytes(value: number): string {
  if (value < 1e3) return `${value} B`;
  if (value < 1e6) return `${three(value / 1e3)} KB`;
  return `${three(value / 1e6)} MB`;
}

/** Sizes in the units that a setting was written in: KiB and MiB where it was, else KB and MB. */
export interface Sizes {
  /** A size with its unit. */
  show: (value: number) => string;
  /** Steps of an axis with round labels, up to `most`. */
  steps: number[];
  /** Labels of an axis up to `most`, all in one unit. */
  label: (value: number) => string;
}

export function sizesAs(setting: string, most: number): Sizes {
  const [base, names] = setting.endsWith("iB") ? [1024, ["B", "KiB", "MiB", "GiB"]] : [1000, ["B", "KB", "MB", "GB"]];
  const power = (value: number) => Math.min(3, Math.max(0, Math.floor(Math.log(Math.max(value, 1)) / Math.log(base) + 1e-9)));
  const show = (value: number) => {
    const unit = power(value);
    const scaled = value / base ** unit;
    return `${Number.isInteger(scaled) ? scaled : three(scaled)} ${names[unit]}`;
  };
  const unit = power(most);
  const steps = [0, 1, 2, 3].flatMap((n) => [1, 2, 5, 10, 20, 50, 100, 200, 500].map((step) => step * base ** n));
  const label = (value: number) => (value === 0 ? "0" : `${Number((value / base ** unit).toPrecision(3))} ${names[unit]}`);
  return { show, steps, label };
}

/** A mean count. */
export function count(value: number): string {
  if (value === 0) return "0";
  if (value < 0.05) return "<0.1";
  if (value < 9.95) return String(Number(value.toFixed(1)));
  if (value < 1e4) return value.toFixed(0);
  if (value < 1e6) return `${three(value / 1e3)}k`;
  return `${three(value / 1e6)}M`;
}

/** A number of things. */
export function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export interface RateUnit {
  name: string;
  mbps: number;
}

/** The unit that suits a line rate. */
export function rateUnit(lineMbps: number): RateUnit {
  return lineMbps >= 100_000 ? { name: "Gbit/s", mbps: 1000 } : { name: "Mbit/s", mbps: 1 };
}

/** A text that begins with a capital letter. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
