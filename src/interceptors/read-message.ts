/** Reads the request message. The interceptors before this one decide by the headers alone. */
import type { StreamInterceptor } from './chain.ts';

export const readMessage: StreamInterceptor = {
  name: 'readMessage',
  after: {},
  forStreams: true,
  async intercept(call, next) {
    await call.receive();
    return next(call);
  },
};
