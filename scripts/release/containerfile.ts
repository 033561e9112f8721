/**
 * Reads deploy/container/Containerfile, as far as it goes without a container engine. It stays the one place that says
 * what is in an image.
 */

/** What an image has beside its files, in the words of the OCI image specification. */
export interface ImageConfig {
  readonly User?: string;
  readonly ExposedPorts?: Record<string, object>;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly Labels?: Record<string, string>;
  readonly StopSignal?: string;
}

export interface Copy {
  /** The stage that has it; undefined for the repository. */
  readonly stage: string | undefined;
  readonly mode: string | undefined;
  readonly from: string;
  readonly to: string;
}

export interface Stage {
  readonly name: string;
  readonly base: string;
  readonly runs: readonly string[];
  readonly copies: readonly Copy[];
  readonly config: ImageConfig;
}

const words = (text: string) => [...text.matchAll(/(?:[^\s"]|"[^"]*")+/g)].map(([word]) => word.replaceAll('"', ''));
const pairs = (text: string) =>
  Object.fromEntries(words(text).map((pair) => [pair.split('=')[0] ?? '', pair.slice(pair.indexOf('=') + 1)]));

/** Throws for an instruction that it does not know. HEALTHCHECK is Docker's: an OCI image has none. */
export function readStages(text: string): ReadonlyMap<string, Stage> {
  const lines = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ');
  const stages = new Map<string, Stage>();
  for (const part of lines.split(/^FROM /m).slice(1)) {
    const [head = '', ...instructions] = part.trim().split('\n').filter(Boolean);
    const [base = '', , name = ''] = head.split(' ');
    const [runs, copies]: [string[], Copy[]] = [[], []];
    let config: ImageConfig = {};
    for (const line of instructions) {
      const [, kind = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
      const { Env = [], Labels = {}, ExposedPorts = {} } = config;
      if (kind === 'RUN') runs.push(rest);
      else if (kind === 'COPY') copies.push(...copiesOf(rest));
      else if (kind === 'WORKDIR') config = { ...config, WorkingDir: rest };
      else if (kind === 'USER') config = { ...config, User: rest };
      else if (kind === 'STOPSIGNAL') config = { ...config, StopSignal: rest };
      else if (kind === 'ENTRYPOINT') config = { ...config, Entrypoint: JSON.parse(rest) };
      else if (kind === 'CMD') config = { ...config, Cmd: JSON.parse(rest) };
      else if (kind === 'ENV') config = { ...config, Env: [...Env, ...words(rest)] };
      else if (kind === 'LABEL') config = { ...config, Labels: { ...Labels, ...pairs(rest) } };
      else if (kind === 'EXPOSE') config = { ...config, ExposedPorts: { ...ExposedPorts, [`${rest}/tcp`]: {} } };
      else if (kind !== 'HEALTHCHECK') throw new Error(`Containerfile: what is "${line}"?`);
    }
    stages.set(name, { name, base, runs, copies, config });
  }
  return stages;
}

function copiesOf(text: string): Copy[] {
  const all = text.split(' ');
  const flag = (name: string) => all.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  const paths = all.filter((word) => !word.startsWith('--'));
  const to = paths.at(-1) ?? '';
  return paths.slice(0, -1).map((from) => ({ stage: flag('from'), mode: flag('chmod'), from, to }));
}
