/**
 * The terminal that the launcher was started from, if any. Its end is told with the same signal that asks for a rolling
 * restart, SIGHUP; but then it can't be opened any more.
 */
import { closeSync, constants, openSync } from 'node:fs';

const POLL_MS = 1_000;

export class Terminal {
  #isThere = canBeOpened();

  constructor() {
    if (this.#isThere) this.#lookOften();
  }

  /** Whether the SIGHUP that has just come says that the terminal is gone. */
  hasHungUp(): boolean {
    return this.#isThere && !canBeOpened();
  }

  /** One that went without a SIGHUP (`disown` in a shell) is gone for good: a later signal says something else. */
  #lookOften(): void {
    let wasThere = true;
    const timer = setInterval(() => {
      const isThere = canBeOpened();
      if (!isThere && !wasThere) {
        this.#isThere = false;
        clearInterval(timer);
      }
      wasThere = isThere;
    }, POLL_MS);
    timer.unref();
  }
}

function canBeOpened(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY));
    return true;
  } catch {
    return false; // ENXIO: there is none
  }
}
