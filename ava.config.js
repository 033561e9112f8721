export default {
  extensions: ['ts'],
  files: ['test/**/*.test.ts'],
  timeout: '2m',
};
