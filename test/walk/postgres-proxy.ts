/**
 * A proxy in front of PostgreSQL that speaks its protocol, and lets one step of what is done through it fail. A step is
 * a message of a client: the start of a connection, a simple query, or a parse, bind or execute. An error is the
 * server's own, raised in the place of the step, so that the session has the state that a real one leaves.
 */
import { openProxy } from '../support/machine/tcp-proxy.ts';
import type { Scope } from '../support/scope.ts';
import { newSteps } from './steps.ts';

const ERRORS = ['57014', '53100', '40001', '25006', 'XX000'];
const ENDS = ['57P01', 'closes before', 'closes after', 'holds before', 'holds after'];

/** How a step fails. Held, nothing is said until the client gives up: before the step is done, or after it. */
export const WAYS: readonly string[] = [...ERRORS, ...ENDS];

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
  const steps = newSteps();
  const failing = (type: string, bytes: Buffer): string | undefined =>
    kinds.includes(type)
      ? steps.next(`${type} ${bytes.toString('latin1', 5, 60).replaceAll(/[^ -~]+/g, ' ')}`)
      : undefined;
  const proxy = await openProxy(t, targetPort, (near, far, close) => {
    /** Up to the next ReadyForQuery, in both directions: its number, and how many parses and binds there were. */
    const sent = { group: 0, P: 0, B: 0 };
    const got = { group: 0, 1: 0, 2: 0 };
    /** Where the responses to the parse and the bind of `raisingSteps` come, which the client must not see. */
    let injected: typeof sent | undefined;
    /** What becomes of this group's responses and all later ones. */
    let after: { readonly group: number; readonly way: string } | undefined;
    let isHeld = false;
    const [cutNear, cutFar] = [cutter(false), cutter(true)];
    near.on('data', (chunk: Buffer) => {
      for (const { type, bytes } of cutNear(chunk)) {
        const way = failing(type, bytes);
        const isError = way !== undefined && ERRORS.includes(way);
        if (way === 'holds before') isHeld = true;
        if (isHeld) return;
        if (way === 'closes before') return void close();
        if (way === '57P01' || (type === '' && isError)) return void near.end(fatal(way), close);
        if (way === 'closes after' || way === 'holds after') after = { group: sent.group, way };
        if (!isError) far.write(bytes);
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
    return () => isHeld || after?.way === 'holds after'; // the server's end is not heard either
  });
  return { ...proxy, ...steps };
}
