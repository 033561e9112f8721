import { createTestDatabase } from '../support/database.ts';
import { runStorageSuite } from './suite/suite.ts';

runStorageSuite(createTestDatabase);
