/**
 * Loaded before the program, which takes a second to load. Process 1, the first one of a container, ignores the signals
 * that nothing handles: it would go on with its start, and be killed in the end. The program's own handlers replace
 * these.
 */
if (process.pid === 1) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
