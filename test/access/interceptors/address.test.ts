import test from 'ava';
import { addressOf } from '../../../src/platform/rpc/address.ts';

for (const [title, same, expected] of [
  [
    'an IPv4-mapped address is the IPv4 address, in every notation',
    ['192.0.2.7', '::ffff:192.0.2.7', '::ffff:c000:207', '0:0:0:0:0:FFFF:192.0.2.7'],
    '192.0.2.7',
  ],
  [
    'an IPv6 /64 is one address, in every notation',
    ['2001:db8:0:2::1', '2001:DB8::2:3:4:5:6', '2001:0db8:0000:0002:ffff:ffff:ffff:ffff'],
    '2001:db8:0:2::/64',
  ],
  ['a zone is no part of it', ['eth0', 'eth0.100', 'br-lan', ''].map((zone) => `fe80::1%${zone}`), 'fe80::/64'],
  ['loopback addresses are distinct from mapped ones', ['::1'], '::/64'],
  ["of several only the last counts, Envoy's", ['1.2.3.4, 192.0.2.7', '1.2.3.4, 5.6.7.8,192.0.2.7'], '192.0.2.7'],
  ['without one from Envoy it is that of the connection', [undefined, '192.0.2.8,'], '10.0.0.9'],
  ...['unknown', '192.0.2.7:80', '::ffff:192.0.2.700', ':', 'a:b'].map(
    (text) => [`text that is not an address is used unchanged: ${text}`, [text], text] as const,
  ),
] as const) {
  test(`Address of a caller - ${title}`, (t) => {
    for (const text of same) t.is(addressOf(text, { peer: '10.0.0.9' }), expected, text);
  });
}

test('Address of a caller - may be that of a connection over IPv6', (t) => {
  t.is(addressOf(undefined, { peer: '::ffff:192.0.2.7' }), '192.0.2.7');
  t.is(addressOf(undefined, { peer: '2001:db8:0:2::1' }), '2001:db8:0:2::/64');
});
