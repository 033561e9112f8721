/** Reads the request message, for whoever may have it read: the interceptors in front judge a call by its headers. */
import type { Interceptor } from './chain.ts';

export const readMessage: Interceptor = {
  name: 'readMessage',
  after: { errorMapping: 'so that a message that can not be read is answered as an error' },
  async intercept(call, next) {
    await call.receive();
    return next(call);
  },
};
