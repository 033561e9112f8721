import { nginx } from '../support/proxies.ts';
import { proxySuite } from '../support/proxy-suite.ts';

proxySuite(nginx);
