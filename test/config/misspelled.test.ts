import test from 'ava';
import { describeMisspelled } from '../../src/config/misspelled.ts';
import { SETTINGS } from '../../src/config/settings.ts';

const TYPOS = {
  'a missing letter': ['DATABSE_URL', 'DATABASE_URL'],
  'an extra letter': ['INSTANCESS', 'INSTANCES'],
  'a wrong letter': ['REDIS_URI', 'REDIS_URL'],
  'two letters swapped': ['DAAT_DIR', 'DATA_DIR'],
  'a missing underscore': ['LOGLEVEL', 'LOG_LEVEL'],
  "a typo in the name of a secret's file": ['OPERATOR_KEY_FIEL', 'OPERATOR_KEY_FILE'],
} as const;

for (const [what, [name, meant]] of Object.entries(TYPOS)) {
  test(`Misspelled settings - ${what}: ${name} is pointed out, without its value`, (t) => {
    const line = `the environment has ${name}, which is no setting: did you mean ${meant}?`;
    t.deepEqual(describeMisspelled({ [name]: 'a-secret-value', PATH: '/usr/bin' }), [line]);
  });
}

test('Misspelled settings - one that is empty is as good as none', (t) => {
  t.deepEqual(describeMisspelled({ DATABSE_URL: '' }), []);
});

test('Misspelled settings - short names and names that are further away belong to other programs', (t) => {
  const env = { PORTS: '1', HOSTS: 'a', LOG: 'b', DATBSE_URL: 'c', DATABASE: 'd', SHELL: 'e', TERM: 'f', LOGNAME: 'g' };
  t.deepEqual(describeMisspelled(env), []);
});

test('Misspelled settings - no setting is taken for a misspelled one', (t) => {
  const secrets = ['DATABASE_URL_FILE', 'REDIS_URL_FILE', 'OPERATOR_KEY_FILE'];
  const env = Object.fromEntries([...Object.keys(SETTINGS), ...secrets].map((name) => [name, 'set']));
  t.deepEqual(describeMisspelled(env), []);
});
