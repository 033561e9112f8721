/** Checks each request against the `buf.validate` rules of the proto files. Messages without rules cost nothing. */
import { invalidArgument } from '../errors.ts';
import { decodeRequest } from '../proto/operations.ts';
import type { ValidationRules } from '../proto/validation-rules.ts';
import type { StreamInterceptor } from './chain.ts';

export function validation(rules: ValidationRules): StreamInterceptor {
  return {
    name: 'validation',
    after: { readMessage: 'it checks the message' },
    forStreams: true,
    async intercept(call, next) {
      const { operation } = call;
      if (rules.has(operation)) {
        const violations = rules.violations(operation, decodeRequest(operation, call.requestBytes));
        if (violations.length > 0) throw invalidArgument(violations);
      }
      return next(call);
    },
  };
}
