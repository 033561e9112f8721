// k6: REST, and gRPC by reflection.
import { check } from 'k6';
import http from 'k6/http';
import grpc from 'k6/net/grpc';

const API = __ENV.API;
const headers = { Authorization: `Bearer ${__ENV.API_KEY}`, 'Content-Type': 'application/json' };
const categories = new grpc.Client();

export default function () {
  const cats = http.post(`${API}/categories`, JSON.stringify({ name: 'Cats' }), { headers }).json();
  http.post(`${API}/categories`, JSON.stringify({ name: 'Dogs' }), { headers });
  const first = http.get(`${API}/categories?limit=1`, { headers });
  const next = first.headers.Link.split('<')[1].split('>')[0];
  const second = http.get(API + next, { headers }).json();
  const refused = http.post(`${API}/categories`, JSON.stringify({ name: '' }), { headers }).json();
  const events = http.get(`${API}/events?types=category.created&limit=1`, { headers }).json();
  console.log([cats.name, first.json()[0].id < second[0].id, refused.code, events[0].type].join(' '));
  categories.connect(API.replace('http://', ''), { plaintext: true, reflect: true });
  const listed = categories.invoke(
    'petstore.v1.CategoryService/ListCategories',
    {},
    { metadata: { authorization: headers.Authorization } },
  );
  check(listed, { 'gRPC lists': ({ status, message }) => status === grpc.StatusOK && message.categories.length > 0 });
}
