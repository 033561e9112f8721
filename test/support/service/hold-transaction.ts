/** Opens a transaction, which blocks other writes on SQLite. Resolves with a function that commits it. */
export async function holdTransaction(database: {
  transaction(work: () => Promise<void>): Promise<void>;
}): Promise<() => Promise<void>> {
  const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.transaction(async () => {
    begun.resolve();
    await end.promise;
  });
  await begun.promise;
  return () => {
    end.resolve();
    return transaction;
  };
}
