/** Reads the exposition at a server's METRICS_PORT, and Envoy's statistics. */
import { until } from '../until.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export async function scrape(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

/** Parses the samples of an exposition whose labels need no escapes. */
export function samplesOf(exposition: string): Sample[] {
  return exposition.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, text]) => [label, text]);
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}

/** Returns the sum of the samples of that name with at least these labels; undefined when there is none. */
export function sumOf(
  exposition: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samplesOf(exposition).filter(
    (sample) => sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Waits until the sum is right: the exposition may be a second old. */
export async function untilSum(
  port: number,
  name: string,
  labels: Readonly<Record<string, string>>,
  isRight: (sum: number) => boolean,
): Promise<void> {
  const look = async () => {
    const sum = sumOf(await scrape(port), name, labels);
    return sum !== undefined && isRight(sum);
  };
  await until(look, `${name} ${JSON.stringify(labels)} ${isRight}`);
}

/** The number of Envoy's statistics with this name. */
export async function statistic(adminPort: number, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/stats?filter=^${name}$`);
  return Number((await response.text()).split(': ')[1]);
}
