/** `usage`: the usage of an account per day. */
import type { Command } from 'commander';
import { adminAction } from './admin.ts';
import { toCount, toId } from './arguments.ts';
import { table } from './output.ts';

export function usageCommand(usage: Command): void {
  usage
    .description('Shows how many requests of an account were admitted and refused, day by day (UTC).')
    .requiredOption('--account <id>', 'the number of the account', toId)
    .option('--days <count>', 'how many days back, today included, at most 400', toCount, 30)
    .action(
      adminAction(async (admin, { account: accountId, days }: { account: bigint; days: number }) => {
        const used = (await admin.getUsage({ accountId, days })).days;
        if (used.length === 0) return { json: [], text: `Account ${accountId} made no request in that time.` };
        const rows = used.map(({ day, requests, refused }) => toRow(day, requests, refused));
        const sum = (name: 'requests' | 'refused') => used.reduce((total, each) => total + each[name], 0n);
        return { json: used, text: table([...rows, toRow('TOTAL', sum('requests'), sum('refused'))]) };
      }),
    );
}

function toRow(day: string, requests: bigint, refused: bigint) {
  return { day, requests: Number(requests), refused: Number(refused) };
}
