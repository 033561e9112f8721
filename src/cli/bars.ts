/** Horizontal bars of two sections, with a common scale. */
import { styleText } from 'node:util';

export interface Bar {
  /** Drawn solid. */
  readonly main: number;
  /** Drawn shaded, after `main`. */
  readonly extra: number;
}

const MAIN = '█';
const EXTRA = '░';

/** Draws the longest bar `width` columns wide. A section above zero is at least one column wide if there is room. */
export function drawBars(bars: readonly Bar[], width: number): string[] {
  const longest = Math.max(1, ...bars.map(({ main, extra }) => main + extra));
  return bars.map(({ main, extra }) => {
    const sections = Number(main > 0) + Number(extra > 0);
    const length = Math.min(width, Math.max(sections, Math.round(((main + extra) / longest) * width)));
    const proportional = Math.round((extra / Math.max(1, main + extra)) * length);
    const extraLength = extra > 0 ? Math.min(Math.max(1, proportional), main > 0 ? length - 1 : length) : 0;
    return paintMain(MAIN.repeat(length - extraLength)) + paintExtra(EXTRA.repeat(extraLength));
  });
}

/** Explains the sections. */
export function legend(main: string, extra: string): string {
  return `${paintMain(MAIN)} ${main}  ${paintExtra(EXTRA)} ${extra}`;
}

function paintMain(text: string): string {
  return styleText('green', text, { stream: process.stdout });
}

function paintExtra(text: string): string {
  return styleText('red', text, { stream: process.stdout });
}
