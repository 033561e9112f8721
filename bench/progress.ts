/** Progress on stderr: a single line that is overwritten on a terminal, plain lines elsewhere. */

export interface Progress {
  update(text: string): void;
  /** Writes a line that stays. */
  note(text: string): void;
  clear(): void;
}

const CLEAR_LINE = '\r\u001b[K';

export function createProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  let last = '';
  const clear = () => {
    if (stream.isTTY) stream.write(CLEAR_LINE);
  };
  return {
    update(text) {
      if (stream.isTTY) stream.write(`${CLEAR_LINE}${text.slice(0, (stream.columns || text.length + 1) - 1)}`);
      else if (text !== last) stream.write(`${text}\n`);
      last = text;
    },
    note(text) {
      clear();
      stream.write(`${text}\n`);
    },
    clear,
  };
}
