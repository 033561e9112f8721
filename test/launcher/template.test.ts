import test from 'ava';
import { fillIn } from '../../src/launcher/template.ts';

test('Templates - variables are replaced by texts, escaped for double quotes, and by numbers', (t) => {
  t.is(fillIn(`{ a: "\${TEXT}", b: \${COUNT} }`, { TEXT: 'say "\\"', COUNT: 7 }), '{ a: "say \\"\\\\\\"", b: 7 }');
});

test('Templates - a variable is replaced by a list as YAML on one line, whatever its texts contain', (t) => {
  const list = [{ exact: 'it\'s "quoted": \\d, # no comment' }, { port: 80 }];
  t.is(fillIn(`matches: \${LIST}`, { LIST: list }), `matches: ${JSON.stringify(list)}`);
});

test('Templates - an unknown variable stays', (t) => {
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

test('Templates - a section is kept if it is on, and its #else if it is off', (t) => {
  const lines = (sections: { A: boolean; B: boolean }) => fillIn(TEMPLATE, {}, sections).replace(/ *\n */g, ', ');
  t.is(lines({ A: true, B: true }), 'first, with A, with A and B, last # if A');
  t.is(lines({ A: true, B: false }), 'first, with A, with A alone, last # if A');
  t.is(lines({ A: false, B: true }), 'first, without A, last # if A');
});

test('Templates - an unknown section, or one without a beginning or an end, is an error', (t) => {
  t.throws(() => fillIn('#if A\n#endif', {}, {}), { message: 'the template has an unknown section "A"' });
  t.throws(() => fillIn('#if A', {}, { A: true }), { message: 'the template has a section without an end' });
  t.throws(() => fillIn('a\n  #else', {}, {}), { message: 'the template has "#else" outside of a section' });
});
