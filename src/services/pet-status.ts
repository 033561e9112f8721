/** Converts a pet's status between protobuf's enum and the model's names. */
import { PetStatus as Proto } from '../../gen/petstore/v1/pets.ts';
import type { PetStatus } from '../model.ts';

const NAMES: Readonly<Record<Proto, PetStatus | undefined>> = {
  [Proto.PET_STATUS_UNSPECIFIED]: undefined,
  [Proto.available]: 'available',
  [Proto.pending]: 'pending',
  [Proto.sold]: 'sold',
};

/** Undefined for an absent status. Validation refuses the unspecified one. */
export function fromProtoStatus(status: Proto | undefined): PetStatus | undefined {
  return status === undefined ? undefined : NAMES[status];
}

export function toProtoStatus(status: PetStatus): Proto {
  return Proto[status];
}
