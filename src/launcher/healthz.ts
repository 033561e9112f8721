/** Whether the public port answers, as the launcher sees it from this machine. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const TIMEOUT_MS = 1_000;

/** Whether `GET /healthz` is 200. Whom the certificate is for matters to callers, and not here. */
export function isHealthy(url: string): Promise<boolean> {
  const options = { signal: AbortSignal.timeout(TIMEOUT_MS), agent: false, rejectUnauthorized: false };
  const request = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    request(`${url}/healthz`, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    })
      .on('error', () => resolve(false)) // not listening yet
      .end();
  });
}
