/** Converts a pet's status between protobuf's enum and the model's names. */
import { PetStatus as Proto } from '../../gen/petstore/v1/pets.ts';
import { PET_STATUSES, type PetStatus } from './model.ts';

/** Undefined for an absent status. Validation refuses the unspecified one. */
export function fromProtoStatus(status: Proto | undefined): PetStatus | undefined {
  return PET_STATUSES.find((name) => Proto[name] === status);
}

export function toProtoStatus(status: PetStatus): Proto {
  return Proto[status];
}
