/** Namespaces and mounts, which need root; a container may forbid them even then. */
import { spawnSync } from 'node:child_process';

const ALL = ['--mount', '--pid', '--fork', '--kill-child', '--uts', '--ipc', '--net', '--cgroup'];
const { status } = spawnSync('unshare', [...ALL, 'mount', '--make-rprivate', '/']);

/** What is missing, for `testUnless`. */
export const noNamespaces =
  status === 0 ? undefined : 'NAMESPACES ARE NOT PERMITTED, so what needs them is not tested: it needs root';
