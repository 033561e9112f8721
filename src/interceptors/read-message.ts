/** Reads the request message. The interceptors before this one decide by the headers alone. */
import type { Interceptor } from './chain.ts';

export const readMessage: Interceptor = {
  name: 'readMessage',
  after: { errorMapping: 'so that a message that can not be read becomes an error of the table' },
  async intercept(call, next) {
    await call.receive();
    return next(call);
  },
};
