/** The descriptors for Envoy's transcoder: methods have the routes that the server knows, with HEAD, and its name. */
import { create, setExtension, toBinary } from '@bufbuild/protobuf';
import { type FileDescriptorSet, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { Operations } from '../src/platform/proto/operations.ts';

export function transcoderSet(descriptors: FileDescriptorSet, { registry, byPath }: Operations): Uint8Array {
  const rule = registry.getExtension('google.api.http');
  if (rule?.fieldKind !== 'message') throw new Error('google.api.http is missing');
  for (const { package: name, service: services } of descriptors.file) {
    for (const service of services) {
      for (const method of service.method) {
        const { routes, bodyField: body = '' } = byPath.get(`/${name}.${service.name}/${method.name}`) ?? {};
        const bindings = (routes ?? []).map(({ method: kind, template: path }) => {
          return { body, pattern: { case: 'custom', value: { kind, path } } } as const;
        });
        if (bindings.length === 0 || method.options === undefined) continue;
        const [first, ...additionalBindings] = bindings;
        setExtension(method.options, rule, create(rule.message, { ...first, additionalBindings }));
      }
    }
  }
  return toBinary(FileDescriptorSetSchema, descriptors);
}
