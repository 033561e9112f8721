/** HTTPS requests with a private authority, and with the server's certificate in the result, unlike `fetch`. */
import type { OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';

export interface HttpsResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The server's certificate. */
  readonly certificate: DetailedPeerCertificate;
}

export interface HttpsRequest {
  readonly ca: string | Buffer;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
}

/** Sends one request over HTTP/1.1 on a new connection. */
export function https(url: string, { ca, method = 'GET', headers = {}, body }: HttpsRequest): Promise<HttpsResponse> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca, method, headers, agent: false, servername: 'localhost' }, async (response) => {
      const certificate = (response.socket as TLSSocket).getPeerCertificate(true);
      const lines = Object.entries(response.headersDistinct).flatMap(([name, values = []]) =>
        values.map((value): [string, string] => [name, value]),
      );
      const { statusCode: status = 0 } = response;
      resolve({ status, headers: new Headers(lines), text: await text(response), certificate });
    });
    sent.on('error', reject).end(body);
  });
}
