/** DATABASE_URL, REDIS_URL and OPERATOR_KEY: their formats, and secrets in files. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readConfig } from '../../src/config/config.ts';
import { configError } from '../support/config-error.ts';

const SHARED = { DATABASE_URL: 'postgres://db/petstore', REDIS_URL: 'redis://cache' };

test('Config - a database address is one of PostgreSQL, and a bad one is not repeated', (t) => {
  for (const url of [
    'postgres://petstore:s3cret@db.example:5433/petstore?sslmode=verify-full',
    'postgresql://db/petstore',
  ]) {
    t.is(readConfig({ DATABASE_URL: url }).databaseUrl, url);
  }
  for (const text of [
    'petstore:s3cret@db',
    'mysql://petstore:s3cret@db/petstore',
    'postgres://',
    's3cret',
    'postgres://db/100%',
  ]) {
    const line = configError({ DATABASE_URL: text });
    t.is(line, 'DATABASE_URL must look like postgres://user:password@host:5432/name');
  }
});

test('Config - a Redis address is of one server, or of the nodes of a cluster', (t) => {
  const redis = (url: string) => readConfig({ REDIS_URL: url }).redis;
  t.deepEqual(redis('redis://cache'), { urls: ['redis://cache'], isCluster: false });
  t.deepEqual(redis('rediss://me:s3cret@cache:6380/2'), {
    urls: ['rediss://me:s3cret@cache:6380/2'],
    isCluster: false,
  });
  t.deepEqual(redis('redis://:100%25@cache'), { urls: ['redis://:100%25@cache'], isCluster: false });
  t.deepEqual(redis('redis://cache:7000?cluster=true'), { urls: ['redis://cache:7000'], isCluster: true });
  t.deepEqual(redis('rediss://me:s3cret@a:7000,b:7001,rediss://c:7002'), {
    urls: ['rediss://me:s3cret@a:7000', 'rediss://me:s3cret@b:7001', 'rediss://c:7002'],
    isCluster: true,
  });
});

test('Config - a bad Redis address is not repeated', (t) => {
  for (const text of [
    'cache:6379',
    'http://:s3cret@cache',
    'redis://',
    'redis://a:1,',
    'redis://a:1,http://:s3cret@b',
    'redis://:100%s3cret@cache',
    'redis://me%4:1s3cret@cache', // only together they are percent-encoding
    'redis://cache/s3cret',
  ]) {
    const line = configError({ REDIS_URL: text });
    t.is(line, 'REDIS_URL must look like redis://user:password@host:6379, with more nodes after commas');
  }
});

test('Config - a secret in a file is checked and kept secret like any other', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-config-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'secret');
  const inFile = (text: string) => {
    writeFileSync(file, text);
    return file;
  };
  t.is(readConfig({ OPERATOR_KEY_FILE: inFile('a-key-of-the-operator\n') }).operatorKey, 'a-key-of-the-operator');
  t.is(readConfig({ DATABASE_URL_FILE: inFile(SHARED.DATABASE_URL) }).databaseUrl, SHARED.DATABASE_URL);
  t.false(readConfig({ DATABASE_URL_FILE: file }).demoAccount);
  t.deepEqual(readConfig({ REDIS_URL_FILE: inFile(SHARED.REDIS_URL) }).redis?.urls, [SHARED.REDIS_URL]);
  const line = 'the content of OPERATOR_KEY_FILE must be at least 16 visible ASCII characters';
  t.is(configError({ OPERATOR_KEY_FILE: inFile('s3cret') }), line);
  t.is(configError({ OPERATOR_KEY_FILE: inFile('\n') }), line);
});

test('Config - a secret in a file that can not be read, or that is set twice, is refused', (t) => {
  t.regex(configError({ OPERATOR_KEY_FILE: '/nowhere/key' }), /^OPERATOR_KEY_FILE can't be read: ENOENT/);
  const both = { REDIS_URL: 'redis://cache', REDIS_URL_FILE: '/nowhere/url' };
  t.is(configError(both), 'REDIS_URL and REDIS_URL_FILE are both set: unset one of them');
  t.is(readConfig({ PORT_FILE: '/nowhere/port' }).port, 8080);
});
