/** What the tests of every operation, and their callers, know of the shop. */
import type { Resource } from '../support/contract/resources.ts';

const [START, END] = ['2027-01-01T12:00:00Z', '2027-01-01T14:00:00Z'];

let notes = 0;
/** No two are alike. */
const anInspection = () => ({
  finding: { severity: 'minor', note: `The rope is worn: ${++notes}.` },
  estimate: { amount: 12_900, currency: 'EUR' },
});

/** The resources, by service of the public package. */
export const RESOURCES: Readonly<Record<string, Resource>> = {
  BoatService: {
    pages: 1,
    whole: async () => ({ name: 'Nordwind', seats: 6, equipment: ['oars'] }),
    part: { seats: 8, equipment: ['anchor'] },
  },
  // A boat of its own: rentals of one boat may not overlap.
  RentalService: { pages: 2, whole: async (rest) => ({ boatId: await rest.boat(), start: START, end: END }) },
  // Newest first, within a boat, and with a bulk and a verb, which have bodies of their own.
  InspectionService: {
    pages: {
      ListInspections: { pages: 3, by: 'time', isDescending: true, range: { from: 'from', to: 'to' } },
    },
    whole: async () => anInspection(),
    bodies: {
      BatchCreateInspections: async () => ({ inspections: [anInspection(), anInspection()] }),
      CloseInspection: async () => ({ cost: { amount: 9_007_199_254_740_991, currency: 'EUR' } }),
    },
  },
  EventService: {},
};

/** What a caller of the REST side makes of the shop. */
export abstract class RestMakers {
  /** Sends a POST, which has to be carried out: it creates something, or is a verb. */
  // biome-ignore lint/suspicious/noExplicitAny: the body of the response
  abstract created(path: string, json: unknown): Promise<any>;

  /** Creates a boat and returns its id. */
  async boat(): Promise<number> {
    return (await this.created('/boats', { name: 'Nordwind', seats: 6 })).id;
  }
}

/** What a caller of gRPC makes of the shop. */
export abstract class GrpcMakers {}
