// SPDX-License-Identifier: Apache-2.0
// For the report page's scripts; `make setup` installs ESLint beside this file.
const js = require('@eslint/js');
const globals = require('globals');

module.exports = [
  js.configs.recommended,
  {
    files: ['**/*.js'],
    // Chart: Chart.js, which the page carries.
    languageOptions: {sourceType: 'module', globals: {...globals.browser, Chart: 'readonly'}},
    linterOptions: {reportUnusedDisableDirectives: 'error'},
    rules: {
      eqeqeq: 'error',
      'no-shadow': 'error',
      'no-use-before-define': ['error', {functions: false, variables: false}],
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
];
