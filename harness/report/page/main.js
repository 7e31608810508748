// SPDX-License-Identifier: Apache-2.0
// Fills the page.
import {readPalette} from './styles.js';
import {fillChips, rebuilders} from './choices.js';
import {fillCurves} from './curves.js';
import {fillDots} from './dots.js';
import {fillExpectations, fillFigures} from './tables.js';
import {fillSweep} from './sweep.js';
import {fillEvaluation} from './evaluation.js';
import {fillFlows} from './flows.js';
import {fillHeadline} from './headline.js';
import {fillHeader, fillParameters, fillRepeat} from './run.js';

function start() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 13;
  readPalette();
  fillHeader();
  fillHeadline();
  fillChips();
  fillEvaluation();
  fillCurves();
  fillFlows();
  fillDots();
  fillFigures();
  fillSweep();
  fillExpectations();
  fillRepeat();
  fillParameters();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    readPalette();
    for (const rebuild of rebuilders) rebuild();
  });
  document.documentElement.dataset.ready = 'yes';
}

start();
