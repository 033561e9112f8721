/** SIGUSR2 requests a rolling restart. With one server, or during the start, it changes nothing. */
import { RestClient } from '../support/rest-client.ts';
import { launch, test } from './launch.ts';

test('SIGUSR2 - with one server changes nothing and says what a rolling restart needs', async (t) => {
  const launcher = launch(t);
  const { url, key } = await launcher.opened();
  const before = await launcher.children();
  launcher.process.kill('SIGUSR2');
  await launcher.says(/A rolling restart needs INSTANCES of 2 or more: nothing was changed\.\n/);
  t.deepEqual(await launcher.children(), before);
  t.is((await new RestClient(url, key).get('/categories')).status, 200);
});

test('SIGUSR2 - during the start changes nothing', async (t) => {
  const launcher = launch(t);
  await launcher.says(/Starting/);
  launcher.process.kill('SIGUSR2');
  const { url } = await launcher.opened();
  t.is((await fetch(`${url}/healthz`)).status, 200);
});
