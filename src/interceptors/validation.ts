/** Holds each request to the `buf.validate` rules of the proto files. Messages without rules pass at no cost. */
import { invalidArgument } from '../errors.ts';
import { decodeRequest } from '../proto/operations.ts';
import type { ValidationRules } from '../proto/validation-rules.ts';
import type { Interceptor } from './chain.ts';

export function validation(rules: ValidationRules): Interceptor {
  return {
    name: 'validation',
    after: { errorMapping: 'so that a rule that can not be evaluated is answered as an error' },
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
