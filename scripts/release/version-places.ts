/**
 * The files that have the version of the software beside package.json and its lockfile: `npm run release` writes it
 * there, and `npm run check` compares. The first group of a pattern is the version.
 */
export const VERSION_PLACES: readonly (readonly [files: string, place: RegExp])[] = [
  ['deploy/**/*.yaml', /registry\.example\/\w+-(?:server|edge)(?::|, newTag: )([^\s}]+)/g],
  ['deploy/container/Containerfile', /image\.version="(.+)"/g],
];
