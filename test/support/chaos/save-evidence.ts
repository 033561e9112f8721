/** Saves the evidence of a run with violations. */
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Deployment } from './deployment.ts';
import type { Report } from './run.ts';
import { formatViolations } from './summary.ts';

/** Resolves with the folder, which has the violations, all calls, and the logs of the service. */
export async function keep({ dataDir }: Deployment, report: Report): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `petstore-chaos-${report.seed}-${report.deployment}-`));
  const lines = report.evidence.calls.map((call) => `${JSON.stringify(call)}\n`);
  await writeFile(join(folder, 'violations.txt'), formatViolations(report));
  await writeFile(join(folder, 'calls.jsonl'), lines.join(''));
  const { feed, followed } = report.evidence;
  await writeFile(join(folder, 'feed.json'), JSON.stringify({ feed, followed }));
  await cp(join(dataDir, 'logs'), join(folder, 'logs'), { recursive: true });
  return folder;
}
