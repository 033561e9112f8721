/**
 * The buf plugin that generates the OpenAPI document. Run by `npm run generate`, as buf.gen.yaml says: buf writes a
 * CodeGeneratorRequest to its standard input and gets the files back from its standard output.
 */
import { createRegistry } from '@bufbuild/protobuf';
import { createEcmaScriptPlugin, runNodeJs, type Schema } from '@bufbuild/protoplugin';
import { stringify } from 'yaml';
import { describe } from './document.ts';

/** No aliases and folded lines, which are hard to read; quotes where YAML 1.1 would read a string as a timestamp. */
const YAML = { aliasDuplicateObjects: false, lineWidth: 0, schema: 'yaml-1.1' } as const;

/** Writes the document as JSON and YAML, unless the input has no REST service. */
function generate(schema: Schema): void {
  const services = schema.files.flatMap((file) => file.services);
  const document = describe(services, createRegistry(...schema.allFiles));
  if (Object.keys(document.paths ?? {}).length === 0) return;
  schema.generateFile('openapi.json').print(JSON.stringify(document, undefined, 2));
  schema.generateFile('openapi.yaml').print(stringify(document, YAML).trimEnd());
}

runNodeJs(createEcmaScriptPlugin({ name: 'protoc-gen-petstore-openapi', version: 'v1', generateTs: generate }));
