// SPDX-License-Identifier: Apache-2.0
//
// The parameters of PrioPlus, on Swift and on LEDBAT alike but for two.
#ifndef DELAYCC_TESTS_UNIT_PRIOPLUS_PARAMETERS_H_
#define DELAYCC_TESTS_UNIT_PRIOPLUS_PARAMETERS_H_

#include "core_contract.h"
#include "core_parameters.h"
#include "dcc_prioplus.h"

// `ai_ppm_default` is that of ai_ppm, `beta_kind` whether beta_ppm is of use (kRange) or not
// (kUnused). Some of the parameters are those of a class of levels, and a seed of 0 is 1.
// clang-format off
#define PRIOPLUS_PARAMETERS_OF(core, ai_ppm_default, beta_kind) \
PARAMETERS_OF(core, DCC_PRIOPLUS_PARAMS, \
  PARAMETER(levels, 1, 64, false, 8, {[](auto& p, auto&) { p.priority = 63; }}), \
  PARAMETER(channel_a_ns, 100, 10000000, true, 0, \
            {[](auto&, auto&) {}, [](auto&, auto& path) { path.wire_bytes = 64; }}), \
  PARAMETER(channel_b_ns, 0, 10000000, false, 800), \
  PARAMETER(unlimited_from, 1, 64, true, 0, \
            {[](auto&, auto&) {}, [](auto& p, auto&) { \
               p.levels = 64; p.priority = 63; p.paper = 1; p.channel_a_ns = 100; \
               p.channel_b_ns = 0; \
             }}), \
  PARAMETER(medium_from, 1, 65, true, 0, \
            {[](auto& p, auto&) { p.priority = 1; }, [](auto& p, auto&) { p.priority = 3; }}), \
  PARAMETER(high_from, 1, 65, true, 0, \
            {[](auto& p, auto&) { p.priority = 1; }, [](auto& p, auto&) { p.priority = 7; }}), \
  PARAMETER(ls_low_ppm, 1000, 1000000, false, 125000), \
  PARAMETER(ls_medium_ppm, 1000, 1000000, false, 250000, \
            {[](auto& p, auto&) { p.priority = 3; }}), \
  PARAMETER(ls_high_ppm, 1000, 1000000, false, 1000000, \
            {[](auto& p, auto&) { p.priority = 7; }}), \
  PARAMETER(tolerance_ns, 1, 10000000, true, 0, \
            {[](auto&, auto&) {}, [](auto& p, auto& path) { \
               p.levels = 64; p.priority = 63; p.channel_a_ns = 10000000; \
               p.ls_high_ppm = 1000; path.base_rtt_ns = 5000000; \
             }}), \
  PARAMETER(dual_rtt, 0, 1, false, 1), \
  PARAMETER(max_flows, 1, 65536, false, 2000, \
            {[](auto& p, auto& path) { \
               p.channel_a_ns = 3200; path.base_rtt_ns = 1000000; path.wire_bytes = 64; \
             }}), \
  PARAMETER(resume_milli, 10, 100000, false, 500, \
            {[](auto& p, auto&) { p.priority = 7; p.paper = 1; }}), \
  PARAMETER(ai_ppm, 1, 1000000, false, ai_ppm_default), \
  PARAMETER(beta_ppm, 0, 1000000, false, 800000, {}, beta_kind), \
  PARAMETER(max_mdf_ppm, 0, 1000000, false, 500000), \
  PARAMETER(paper, 0, 1, false, 0, {}, kRange, false), \
  PARAMETER(priority, 0, kMax32, false, 0, {}, kRange, false), \
  PARAMETER(seed, 1, kMax32, true, 1, {}, kRange, false))
// clang-format on

#endif  // DELAYCC_TESTS_UNIT_PRIOPLUS_PARAMETERS_H_
