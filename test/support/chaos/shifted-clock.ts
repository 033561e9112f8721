/**
 * Loaded into each server by `--import`: shifts its clock by the milliseconds in a file, if there is one. Timers are
 * not affected, as when a machine's clock is set.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const LOOK_MS = 50;

const { CHAOS_CLOCKS: folder, GRPC_PORT: port } = process.env;
const isServer = process.argv[1]?.endsWith(join('src', 'main.ts')) && !process.argv[1].includes('launcher');

if (folder !== undefined && port !== undefined && isServer) {
  const TrueDate = Date;
  const file = join(folder, port);
  let offsetMs = 0;
  const look = () => {
    try {
      offsetMs = Number(readFileSync(file, 'utf8'));
    } catch {
      offsetMs = 0;
    }
  };
  look();
  setInterval(look, LOOK_MS).unref();
  class ShiftedDate extends TrueDate {
    constructor(...parts: [] | ConstructorParameters<typeof Date>) {
      if (parts.length === 0) super(TrueDate.now() + offsetMs);
      else super(...(parts as ConstructorParameters<typeof Date>));
    }

    static override now(): number {
      return TrueDate.now() + offsetMs;
    }
  }
  globalThis.Date = ShiftedDate as DateConstructor;
}
