import test from 'ava';
import { fillIn } from '../../src/launcher/template.ts';

test('Templates - texts and numbers are filled in, texts so that they may stand in double quotes', (t) => {
  t.is(fillIn(`{ a: "\${TEXT}", b: \${COUNT} }`, { TEXT: 'say "\\"', COUNT: 7 }), '{ a: "say \\"\\\\\\"", b: 7 }');
});

test('Templates - a list is filled in as YAML on one line, whatever its texts hold', (t) => {
  const list = [{ exact: 'it\'s "quoted": \\d, # no comment' }, { port: 80 }];
  t.is(fillIn(`matches: \${LIST}`, { LIST: list }), `matches: ${JSON.stringify(list)}`);
});

test('Templates - a place that nobody fills in stays', (t) => {
  t.is(fillIn(`\${OTHER}`, {}), `\${OTHER}`);
});

const TEMPLATE = `first
  #if A
  with A
    #if B
    with A and B
    #else
    with A alone
    #endif
  #else
  without A
  #endif
last # if A`;

test('Templates - a part is there when it is on, and what stands after #else when it is off', (t) => {
  const lines = (parts: { A: boolean; B: boolean }) => fillIn(TEMPLATE, {}, parts).replace(/ *\n */g, ', ');
  t.is(lines({ A: true, B: true }), 'first, with A, with A and B, last # if A');
  t.is(lines({ A: true, B: false }), 'first, with A, with A alone, last # if A');
  t.is(lines({ A: false, B: true }), 'first, without A, last # if A');
});

test('Templates - a part that nobody knows, or that does not begin or end, is an error', (t) => {
  t.throws(() => fillIn('#if A\n#endif', {}, {}), { message: 'the template has a part "A", which nobody knows' });
  t.throws(() => fillIn('#if A', {}, { A: true }), { message: 'the template has a part without an end' });
  t.throws(() => fillIn('a\n  #else', {}, {}), { message: 'the template has "#else" outside of a part' });
});
