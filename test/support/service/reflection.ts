/** Server reflection, as buf uses it. */
import { sh } from '../machine/find-program.ts';

/** The methods that reflection lists, such as `petstore.v1.PetService/GetPet`. buf reads every file for them. */
export async function reflectedMethods(address: string, version: 'v1' | 'v1alpha'): Promise<string[]> {
  const options = ['--protocol', 'grpc', '--reflect-protocol', `grpc-${version}`, '--list-methods'];
  const { stdout } = await sh('node_modules/.bin/buf', ['curl', `http://${address}`, ...options]);
  return stdout.trim().split('\n');
}
