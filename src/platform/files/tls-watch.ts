/** Watches certificates: hands on renewed ones, and warns of bad files and of certificates that end soon, once each. */
import type { Reading } from './tls-files.ts';

/** How long before the end of a certificate a warning is given: 14 days. */
const WARN_MS = 14 * 86_400_000;

interface Watch<R extends Reading> {
  /** Throws ConfigError for a bad file: it may be in the middle of a renewal. */
  read(): Promise<R>;
  /** Called with the first reading, and with each that differs from the one before. */
  use(reading: R, isRenewal: boolean): void | Promise<void>;
  warn(line: string): void;
}

/** Returns a function that reads the files once. Call it regularly. */
export function watchCertificates<R extends Reading>({ read, use, warn }: Watch<R>): () => Promise<void> {
  let current: R | undefined;
  const [warnOfFiles, warnOfEnds] = [whenChanged(warn), whenChanged(warn)];
  return async () => {
    let problem = '';
    try {
      const found = await read();
      if (current === undefined || !found.content.equals(current.content)) {
        await use(found, current !== undefined);
        current = found;
      }
    } catch (error) {
      problem = `${(error as Error).message}. The certificate from before stays in use.`;
    }
    warnOfFiles(problem);
    warnOfEnds(
      Object.entries(current?.ends ?? {})
        .flatMap(endWarning)
        .join(' '),
    );
  };
}

/** An expired certificate is warned of too: it may be in use all the same. */
function endWarning([setting, end]: readonly [string, Date]): string[] {
  return end.getTime() < Date.now() + WARN_MS ? [`${setting} is valid until ${end.toUTCString()} only: renew it.`] : [];
}

/** Passes on a line unless it is empty or the last one again. */
function whenChanged(pass: (line: string) => void): (line: string) => void {
  let last = '';
  return (line) => {
    if (line !== last && line !== '') pass(line);
    last = line;
  };
}
