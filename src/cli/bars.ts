/** Horizontal bars of two parts, drawn to one scale. */
import { styleText } from 'node:util';

export interface Bar {
  /** Drawn solid. */
  readonly main: number;
  /** Drawn shaded, behind it. */
  readonly extra: number;
}

const MAIN = '█';
const EXTRA = '░';

/** The longest bar takes `width` columns. A part that is not zero is seen, however short, if there is room for both. */
export function drawBars(bars: readonly Bar[], width: number): string[] {
  const longest = Math.max(1, ...bars.map(({ main, extra }) => main + extra));
  return bars.map(({ main, extra }) => {
    const parts = Number(main > 0) + Number(extra > 0);
    const length = Math.min(width, Math.max(parts, Math.round(((main + extra) / longest) * width)));
    const wanted = Math.round((extra / Math.max(1, main + extra)) * length);
    const extraLength = extra > 0 ? Math.min(Math.max(1, wanted), main > 0 ? length - 1 : length) : 0;
    return paintMain(MAIN.repeat(length - extraLength)) + paintExtra(EXTRA.repeat(extraLength));
  });
}

/** What the parts mean. */
export function legend(main: string, extra: string): string {
  return `${paintMain(MAIN)} ${main}  ${paintExtra(EXTRA)} ${extra}`;
}

function paintMain(text: string): string {
  return styleText('green', text, { stream: process.stdout });
}

function paintExtra(text: string): string {
  return styleText('red', text, { stream: process.stdout });
}
