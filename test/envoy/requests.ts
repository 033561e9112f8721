/** Requests of each kind of the table of envoy/config/kinds.ts, for the walk over the table and the price list. */
export const TEXT = 'application/grpc-web-text';
const GRPC_TYPES = ['application/grpc', 'application/grpc-web+proto', TEXT];

export interface KindOfRequest {
  readonly row: string;
  readonly request: `${string} ${string}`;
  readonly headers?: Readonly<Record<string, string>>;
  /** The status with a key and without a fault. */
  readonly status: number;
  /** The status without a key; undefined if it needs one. */
  readonly open?: number;
  /** Envoy responds by the headers, whatever else is sent. */
  readonly byHeaders?: true;
  /** No method answers to it, which is found out before the body is read. */
  readonly hasNoRoute?: true;
  /** The status of `{}`, where it is another. */
  readonly empty?: number;
  readonly isGrpc?: true;
}

export const REQUESTS: readonly KindOfRequest[] = [
  { row: 'REST', request: 'GET /pets', status: 200 },
  { row: 'REST', request: 'HEAD /events/stream', status: 200 },
  { row: 'REST', request: 'DELETE /categories/999999', status: 404 },
  { row: 'REST', request: 'POST /store/orders', status: 201 },
  { row: 'REST', request: 'PUT /categories/999999', status: 400 },
  { row: 'REST', request: 'GET /nope', status: 404, hasNoRoute: true },
  { row: 'REST', request: 'POST /docs', status: 405, hasNoRoute: true },
  { row: 'redirect', request: 'GET /docs/', status: 302, open: 302, byHeaders: true },
  { row: 'redirect', request: 'GET /', headers: { accept: 'text/html' }, status: 302, open: 302, byHeaders: true },
  { row: 'file', request: 'GET /docs', status: 200, open: 200 },
  { row: '/healthz', request: 'GET /healthz', status: 200, open: 200 },
  { row: '/healthz', request: 'POST /healthz', status: 200, open: 200 },
  {
    row: 'Connect',
    request: 'POST /petstore.v1.PetService/ListPets',
    headers: { 'content-type': 'application/proto' },
    status: 200,
    empty: 400,
  },
  { row: 'Connect', request: 'PUT /petstore.v1.PetService/ListPets', status: 405, hasNoRoute: true },
  ...GRPC_TYPES.flatMap((type): KindOfRequest[] => {
    const headers = { 'content-type': type };
    const isOpen = { status: 200, open: 200, isGrpc: true } as const;
    const row = type === TEXT ? 'gRPC-Web in text' : 'gRPC';
    return [
      { row, request: 'POST /petstore.v1.PetService/ListPets', headers, status: 200, isGrpc: true },
      { row, request: 'POST /petstore.v1.PetService/Nope', headers, status: 404, isGrpc: true },
      { row: 'gRPC health and reflection', request: 'POST /grpc.health.v1.Health/Check', headers, ...isOpen },
    ];
  }),
];
