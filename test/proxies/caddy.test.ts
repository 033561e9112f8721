import { caddy } from '../support/proxies.ts';
import { proxySuite } from '../support/proxy-suite.ts';

proxySuite(caddy);
