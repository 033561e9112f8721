import test from 'ava';
import { addressOf } from '../../../src/rpc/address.ts';

const addressFrom = (forwardedFor: string | undefined, peer = '10.0.0.9:40000') => addressOf(forwardedFor, peer);

test('Address - an IPv4-mapped address is the IPv4 address, in every notation', (t) => {
  for (const text of ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '0:0:0:0:0:FFFF:192.0.2.7']) {
    t.is(addressFrom(text), '192.0.2.7', text);
  }
  t.not(addressFrom('::ffff:192.0.2.8'), '192.0.2.7');
});

test('Address - an IPv6 /64 is one address, in every notation', (t) => {
  for (const text of ['2001:db8:0:2::1', '2001:DB8::2:3:4:5:6', '2001:0db8:0000:0002:ffff:ffff:ffff:ffff']) {
    t.is(addressFrom(text), '2001:db8:0:2::/64', text);
  }
  t.is(addressFrom('2001:db8:0:3::1'), '2001:db8:0:3::/64');
  for (const zone of ['eth0', 'eth0.100', 'br-lan', '']) t.is(addressFrom(`fe80::1%${zone}`), 'fe80::/64', zone);
});

test('Address - loopback and mapped addresses are distinct', (t) => {
  t.is(new Set(['::1', '::ffff:192.0.2.7', '::ffff:192.0.2.8', '127.0.0.1'].map((text) => addressFrom(text))).size, 4);
});

test('Address - without Envoy it is the address of the connection', (t) => {
  t.is(addressFrom(undefined, '192.0.2.7:40000'), '192.0.2.7');
  t.is(addressFrom(undefined, '::ffff:192.0.2.7:40000'), '192.0.2.7');
  t.is(addressFrom(undefined, '2001:db8:0:2::1:40000'), '2001:db8:0:2::/64');
});

test('Address - text that is not an address is used unchanged', (t) => {
  for (const text of ['unknown', '192.0.2.7:80', '::ffff:192.0.2.700', ':', 'a:b']) t.is(addressFrom(text), text);
});

test('Address - of several only the last counts, which Envoy has added', (t) => {
  t.is(addressFrom('1.2.3.4, 192.0.2.7'), '192.0.2.7');
  t.is(addressFrom('192.0.2.7,'), '10.0.0.9');
});
