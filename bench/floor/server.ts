/** The least that a grpc-js server can do: no keys, limits or validation, and a map instead of a database. */
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import {
  type CreatePetRequest,
  type GetPetRequest,
  type ListPetsRequest,
  type ListPetsResponse,
  Pet,
  PetServiceService,
  PetStatus,
} from '../../gen/petstore/v1/pets.ts';

const PAGE = 20;
const pets = new Map<bigint, Pet>();
let lastId = 0n;

function insert(name: string, categoryId: bigint): Pet {
  lastId += 1n;
  const pet = Pet.fromPartial({ id: lastId, name, categoryId, status: PetStatus.available });
  pets.set(lastId, pet);
  return pet;
}

for (let count = Number(process.argv[2]); count > 0; count -= 1) insert('Pet', 1n);
const firstPage = { pets: [...pets.values()].slice(0, PAGE), nextPageToken: 'more' };

const server = new Server();
server.addService(
  {
    getPet: PetServiceService.getPet,
    listPets: PetServiceService.listPets,
    createPet: PetServiceService.createPet,
  },
  {
    getPet: ({ request }: ServerUnaryCall<GetPetRequest, Pet>, respond: sendUnaryData<Pet>) =>
      respond(null, pets.get(request.petId)),
    listPets: (_call: ServerUnaryCall<ListPetsRequest, ListPetsResponse>, respond: sendUnaryData<ListPetsResponse>) =>
      respond(null, firstPage),
    createPet: ({ request: { pet } }: ServerUnaryCall<CreatePetRequest, Pet>, respond: sendUnaryData<Pet>) =>
      respond(null, insert(pet?.name ?? '', pet?.categoryId ?? 0n)),
  },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  process.send?.({ port });
});
process.once('disconnect', () => process.exit()); // the benchmark has ended
