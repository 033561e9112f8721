/** Reading the metadata of a call. */
import type { Metadata } from '@grpc/grpc-js';

/** The value of a header; the first value when the header occurs several times. Undefined when it is absent. */
export function headerOf({ metadata }: { readonly metadata: Metadata }, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}
