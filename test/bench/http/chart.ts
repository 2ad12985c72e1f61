// Figures -> a bar chart as SVG: for each workload a bar a target, as long as its rate is against the best. Pure.
export interface Bar {
  readonly label: string;
  /** Undefined: it can't. */
  readonly value: number | undefined;
  readonly color: string;
}

export interface Group {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const WIDTH = 900;
const LEFT = 150;
const RIGHT = 90;
const BAR = 14;
const GAP = 3;
const HEAD = 24;
const TOP = 34;

/** Lengths are by group: what is compared is who answers the same question how often. */
export function chartOf(title: string, groups: readonly Group[]): string {
  const parts: string[] = [text(10, 20, title, "font-weight='bold'")];
  let y = TOP;
  for (const { title: name, bars } of groups) {
    parts.push(text(10, y + 14, name, "font-weight='bold' font-size='12'"));
    y += HEAD;
    const most = Math.max(...bars.map(({ value }) => value ?? 0), Number.MIN_VALUE);
    for (const bar of bars) {
      parts.push(...barOf(bar, most, y));
      y += BAR + GAP;
    }
    y += 6;
  }
  const size = `width='${WIDTH}' height='${y}' viewBox='0 0 ${WIDTH} ${y}'`;
  const style = "font-family='system-ui, sans-serif' font-size='11'";
  const paper = `<rect width='${WIDTH}' height='${y}' fill='#ffffff'/>`;
  const name = `<title>${escaped(title)}</title>`;
  return `<svg xmlns='http://www.w3.org/2000/svg' ${size} ${style}>\n${[name, paper, ...parts].join("\n")}\n</svg>\n`;
}

function barOf({ label, value, color }: Bar, most: number, y: number): string[] {
  const base = y + BAR - 3;
  const name = text(LEFT - 6, base, label, "text-anchor='end'");
  if (value === undefined) return [name, text(LEFT + 4, base, "can't", "fill-opacity='0.6'")];
  const length = Math.max(1, Math.round((value / most) * (WIDTH - LEFT - RIGHT)));
  const rect = `<rect x='${LEFT}' y='${y}' width='${length}' height='${BAR}' fill='${color}'/>`;
  return [name, rect, text(LEFT + length + 5, base, `${rateText(value)}/s`)];
}

/** Three digits are more than a benchmark can promise. */
export function rateText(rate: number): string {
  return rate >= 100 ? Math.round(rate).toLocaleString("en") : rate.toPrecision(3);
}

function text(x: number, y: number, words: string, more = ""): string {
  return `<text x='${x}' y='${y}' fill='#1f2328' ${more}>${escaped(words)}</text>`;
}

function escaped(words: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return words.replaceAll(/[&<>]/g, (sign) => names[sign] ?? sign);
}
