/** Checks each request against the `buf.validate` rules of the proto files. Messages without rules cost nothing. */
import { invalidArgument } from '../errors.ts';
import { decodeRequest } from '../proto/operations.ts';
import type { ValidationRules } from '../proto/validation-rules.ts';
import type { Interceptor } from './chain.ts';

export function validation(rules: ValidationRules): Interceptor {
  return {
    name: 'validation',
    after: { errorMapping: 'so that a rule that can not be evaluated becomes an error of the table' },
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
