import test from 'ava';
import { ConfigError } from '../../src/platform/config/config.ts';
import { loadOperations } from '../../src/platform/proto/operations.ts';
import { createGrpcServer } from '../../src/platform/rpc/server.ts';

test('Server - a method that nothing serves ends the start with one line that says what to do', (t) => {
  const operations = loadOperations();
  const unused = undefined as never; // it fails before
  const options = { methods: [], forUnknown: [], operations, originOf: unused, isEdge: unused, openCalls: unused };
  const message = /^nothing serves \/\S+: add its service to src\/shop\/services\.ts or src\/server\.ts$/;
  t.throws(() => createGrpcServer(options), { instanceOf: ConfigError, message });
});
