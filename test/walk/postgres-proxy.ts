/**
 * A proxy in front of PostgreSQL that speaks its protocol, and lets one step of what is done through it fail. A step is
 * a message of a client: the start of a connection, a simple query, or a parse, bind or execute. An error is the
 * server's own, raised in the place of the step, so that the session has the state that a real one leaves.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Scope } from '../support/scope.ts';

const ERRORS = ['57014', '53100', '40001', '25006', 'XX000'] as const;
const ENDS = ['57P01', 'closes before', 'closes after', 'holds before', 'holds after'] as const;

/** How a step fails. Held, nothing is said until the client gives up: before the step is done, or after it. */
export const WAYS = [...ERRORS, ...ENDS];
export type Way = (typeof WAYS)[number];

const isError = (way: Way): way is (typeof ERRORS)[number] => ERRORS.some((code) => code === way);

const message = (type: string, ...parts: (string | number[])[]) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(typeof part === 'string' ? `${part}\0` : part)));
  const head = Buffer.from([...Buffer.from(type), 0, 0, 0, 0]);
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
};

const raising = (code: string) => `DO $$ BEGIN RAISE EXCEPTION 'the step fails' USING ERRCODE = '${code}'; END $$`;
/** An unnamed statement that raises the error, as messages of the extended protocol. */
const raisingSteps = (code: string) =>
  Buffer.concat([
    message('P', '', raising(code), [0, 0]),
    message('B', '', '', [0, 0, 0, 0, 0, 0]),
    message('E', '', [0, 0, 0, 0]),
  ]);
const fatal = (code: string) => message('E', 'SFATAL', 'VFATAL', `C${code}`, 'Mthe step fails', [0]);

/** Cuts bytes into messages. The first one of a client has no type. */
function cutter(isTyped: boolean) {
  let [rest, typeLength] = [Buffer.alloc(0), isTyped ? 1 : 0];
  return function* cut(chunk: Buffer): Generator<{ readonly type: string; readonly bytes: Buffer }> {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= typeLength + 4) {
      const length = typeLength + rest.readInt32BE(typeLength);
      if (rest.length < length) return;
      yield { type: rest.toString('latin1', 0, typeLength), bytes: rest.subarray(0, length) };
      rest = rest.subarray(length);
      typeLength = 1;
    }
  };
}

/** The types of messages that are steps: the start of a connection, a query, a parse, a bind, an execute. */
const STEPS = ['', 'Q', 'P', 'B', 'E'];

/** Forwards a free port of the loopback to PostgreSQL's, until the end of the test. */
export async function openPostgresProxy(t: Scope, targetPort: number, kinds: readonly string[] = STEPS) {
  const sockets = new Set<Socket>();
  /** The step that fails next: how many come before it. */
  let armed: { before: number; readonly way: Way } | undefined;
  let steps: string[] = [];

  /** The way in which a step fails; undefined if it does not. */
  const failing = (type: string, bytes: Buffer): Way | undefined => {
    if (!kinds.includes(type)) return undefined;
    if (armed !== undefined) steps.push(`${type} ${bytes.toString('latin1', 5, 60).replaceAll(/[^ -~]+/g, ' ')}`);
    if (armed === undefined || armed.before-- > 0) return undefined;
    const { way } = armed;
    armed = undefined;
    return way;
  };

  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1');
    const close = () => [near, far].map((socket) => socket.destroy());
    /** Up to the next ReadyForQuery, in both directions: its number, and how many parses and binds there were. */
    const sent = { group: 0, P: 0, B: 0 };
    const got = { group: 0, 1: 0, 2: 0 };
    /** Where the responses to the parse and the bind of `raisingSteps` come, which the client must not see. */
    let injected: typeof sent | undefined;
    /** What becomes of this group's responses and all later ones. */
    let after: { readonly group: number; readonly way: Way } | undefined;
    let isHeld = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        const isSilent = isHeld || after?.way === 'holds after'; // the server's end is not heard either
        if (socket === near || !isSilent) close();
      });
    }

    const [cutNear, cutFar] = [cutter(false), cutter(true)];
    near.on('data', (chunk: Buffer) => {
      for (const { type, bytes } of cutNear(chunk)) {
        const way = failing(type, bytes);
        if (way === 'holds before') isHeld = true;
        if (isHeld) return;
        if (way === 'closes before') return void close();
        if (way === '57P01' || (way !== undefined && type === '' && isError(way)))
          return void near.end(fatal(way), close);
        if (way === 'closes after' || way === 'holds after') after = { group: sent.group, way };
        if (way === undefined || !isError(way)) far.write(bytes);
        else if (type === 'Q') far.write(message('Q', raising(way)));
        else {
          injected = { ...sent };
          far.write(raisingSteps(way));
        }
        if (type === 'P' || type === 'B') sent[type] += 1;
        if (['', 'Q', 'S'].includes(type)) Object.assign(sent, { group: sent.group + 1, P: 0, B: 0 });
      }
    });
    far.on('data', (chunk: Buffer) => {
      for (const { type, bytes } of cutFar(chunk)) {
        const isIn = got.group === injected?.group;
        const isHidden = isIn && ((type === '1' && got[1] === injected?.P) || (type === '2' && got[2] === injected?.B));
        if (type === '1' || type === '2') got[type] += 1;
        const isUnheard = after !== undefined && got.group >= after.group;
        if (type === 'Z') Object.assign(got, { group: got.group + 1, 1: 0, 2: 0 });
        if (type === 'Z' && isUnheard && after?.way === 'closes after') return void close();
        if (!isHidden && !isUnheard) near.write(bytes);
      }
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return {
    port: typeof address === 'object' ? Number(address?.port) : 0,
    /** Lets the step after `before` others fail, once. */
    fail(before: number, way: string) {
      [armed, steps] = [{ before, way: way as Way }, []];
    },
    /** Lets nothing fail from now on. Returns whether a step has failed, and which ones there were. */
    heal() {
      const hasFailed = armed === undefined;
      armed = undefined;
      return { hasFailed, steps };
    },
  };
}
