import { openPostgres } from '../../src/storage/postgres.ts';
import { connectPostgres, postgresMissing, type TestPostgres } from '../support/postgres.ts';
import { testUnless } from '../support/programs.ts';
import { runStorageSuite } from './suite/suite.ts';

/** Tests at a time: what a call may wait for a connection is bounded, and many together keep a small machine busy. */
const AT_A_TIME = 4;

const test = testUnless(postgresMissing);
let server: TestPostgres;
let running = 0;
const waiting: (() => void)[] = [];

/** Resolves when fewer than that are under way. */
async function turn(): Promise<void> {
  if (running === AT_A_TIME) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
}

/** Gives the turn to the next one. */
function done(): void {
  const next = waiting.shift();
  if (next === undefined) running -= 1;
  else next();
}

test.before(async () => {
  server = await connectPostgres();
});
test.after.always(() => server?.stop());

if (postgresMissing === undefined) {
  runStorageSuite(async () => {
    await turn();
    const url = await server.createDatabase();
    return {
      open: () => openPostgres(url),
      async remove() {
        await server.dropDatabase(url);
        done();
      },
    };
  });
}
